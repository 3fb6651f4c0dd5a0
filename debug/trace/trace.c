#include "trace.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "debug/files/files.h"
#include "debug/files/json.h"
#include "debug/step/step_calls.h"
#include "timing.h"

/* ---- tracks ---- */

typedef struct track {
    int process, number;
    const char *name;
} track;

enum { HOST_PROCESS = 1, DEVICE_PROCESS = 2 };
static const track cpu_track = {HOST_PROCESS, 11, "CPU: the host issues segments, eager calls and copies"};
static const track gpu_track = {DEVICE_PROCESS, 21,
                                "GPU: time of each step between an event before it and one after it; includes waits "
                                "for the host"};
static const track calls_track = {DEVICE_PROCESS, 22,
                                  "op calls in segments: sum of the GPU times of their nodes, each run alone"};
static const track nodes_track = {DEVICE_PROCESS, 23,
                                  "nodes: GPU time of each, run alone; begin times are not measured"};

static cJSON *add_event(cJSON *events, const char *phase, const char *name, int process, int number)
{
    cJSON *event = bg__json_add_object(events);
    return event != NULL && cJSON_AddStringToObject(event, "ph", phase) &&
                   cJSON_AddStringToObject(event, "name", name) && cJSON_AddNumberToObject(event, "pid", process) &&
                   (number == 0 || cJSON_AddNumberToObject(event, "tid", number))
               ? event
               : NULL;
}

/* Adds an event that describes a process or a track. Returns its arguments; NULL: out of host memory. */
static cJSON *add_metadata(cJSON *events, const char *what, int process, int number)
{
    cJSON *event = add_event(events, "M", what, process, number);
    return event != NULL ? cJSON_AddObjectToObject(event, "args") : NULL;
}

static bool name_process(cJSON *events, int process, const char *name)
{
    cJSON *args = add_metadata(events, "process_name", process, 0);
    return args != NULL && cJSON_AddStringToObject(args, "name", name);
}

static bool name_track(cJSON *events, const track *t)
{
    cJSON *name = add_metadata(events, "thread_name", t->process, t->number);
    cJSON *order = add_metadata(events, "thread_sort_index", t->process, t->number);
    return name != NULL && order != NULL && cJSON_AddStringToObject(name, "name", t->name) &&
           cJSON_AddNumberToObject(order, "sort_index", t->number);
}

/* ---- slices ---- */

/* Rounds to nanoseconds, so that adjacent slices are adjacent in the file, too. */
static double round_to_ns(double us)
{
    return (double)(int64_t)(us * 1e3 + 0.5) / 1e3;
}

/* Returns the slice's arguments; NULL: out of host memory. */
static cJSON *add_slice(cJSON *events, const track *t, const char *name, const char *category, bg__interval span)
{
    double begin = round_to_ns(span.begin), end = round_to_ns(span.end);
    cJSON *event = add_event(events, "X", name, t->process, t->number);
    return event != NULL && cJSON_AddStringToObject(event, "cat", category) &&
                   cJSON_AddNumberToObject(event, "ts", begin) &&
                   cJSON_AddNumberToObject(event, "dur", round_to_ns(end > begin ? end - begin : 0))
               ? cJSON_AddObjectToObject(event, "args")
               : NULL;
}

static bool add_call_site(cJSON *args, const bg__call *call)
{
    return cJSON_AddStringToObject(args, "call", call->name) &&
           cJSON_AddStringToObject(args, "file", call->site.file != NULL ? call->site.file : "") &&
           cJSON_AddNumberToObject(args, "line", call->site.line);
}

static const char *step_category(bg__step_view step)
{
    switch (step.kind) {
    case BG__STEP_LAUNCH: return "segment";
    case BG__STEP_CALL:
    case BG__STEP_FORWARD: return "eager";
    case BG__STEP_COPY: return "copy";
    case BG__STEP_WAIT:
    case BG__STEP_RECORD: return "event";
    case BG__STEP_SYNC: return "sync";
    }
    return "";
}

static bool add_step_event(cJSON *events, const track *t, const bg_graph *graph, bg__step_view step, bg__interval span)
{
    char what[512];
    cJSON *args = add_slice(events, t, bg__timing_step_name(step, what, sizeof what), step_category(step), span);
    if (args == NULL)
        return false;
    switch (step.kind) {
    case BG__STEP_LAUNCH:
        return cJSON_AddNumberToObject(args, "nodes", (double)bg__graph_segment(graph, step.place)->nodes) != NULL;
    case BG__STEP_CALL: return add_call_site(args, step.call);
    case BG__STEP_COPY: return add_call_site(args, step.call);
    default: return true;
    }
}

static bool add_step_events(cJSON *events, const bg_graph *graph, const bg__timing *timing)
{
    for (int i = 0; i < bg__graph_step_count(graph); i++)
        if (!add_step_event(events, &cpu_track, graph, bg__graph_step(graph, i), timing->cpu[i]) ||
            !add_step_event(events, &gpu_track, graph, bg__graph_step(graph, i), timing->gpu[i]))
            return false;
    return true;
}

/* ---- nodes and calls of segments ---- */

/* The nodes of a segment, drawn one after the other from the begin of the segment. */
typedef struct segment_row {
    const bg__node_creation_time *nodes;
    size_t count;
    double begin;
} segment_row;

static bool add_node_event(cJSON *events, const bg__node_creation_time *node, bg__interval span)
{
    char text[64];
    cJSON *args = add_slice(events, &nodes_track, node->kernel[0] != '\0' ? node->kernel : node->kind, "node", span);

    if (args == NULL || !cJSON_AddNumberToObject(args, "segment", node->segment) ||
        !cJSON_AddStringToObject(args, "node", node->place) || !cJSON_AddStringToObject(args, "kind", node->kind) ||
        (node->call != NULL && !add_call_site(args, node->call)))
        return false;
    if (node->grid[0] == 0)
        return true;
    snprintf(text, sizeof text, "%u x %u x %u", node->grid[0], node->grid[1], node->grid[2]);
    if (!cJSON_AddStringToObject(args, "grid", text))
        return false;
    snprintf(text, sizeof text, "%u x %u x %u", node->block[0], node->block[1], node->block[2]);
    return cJSON_AddStringToObject(args, "block", text) != NULL;
}

static bool add_node_events(cJSON *events, const segment_row *r)
{
    bg__interval span = {r->begin, r->begin};
    for (size_t i = 0; i < r->count; i++) {
        span.begin = span.end;
        span.end += round_to_ns(r->nodes[i].us);
        if (!add_node_event(events, &r->nodes[i], span))
            return false;
    }
    return true;
}

static bool call_has_node(const bg__step_calls *calls, const bg__step_call *call, long node)
{
    const bg__step_call *c = bg__step_calls_find_by_node(calls, node);
    while (c != NULL && c != call)
        c = c->outer;
    return c != NULL;
}

/* Returns false if no node of the call was timed. */
static bool find_call_span(const segment_row *r, const bg__step_calls *calls, const bg__step_call *call,
                           bg__interval *span)
{
    double at = r->begin;
    bool found = false;
    for (size_t i = 0; i < r->count; at += round_to_ns(r->nodes[i++].us)) {
        if (!call_has_node(calls, call, r->nodes[i].outer))
            continue;
        if (!found)
            span->begin = at;
        span->end = at + round_to_ns(r->nodes[i].us);
        found = true;
    }
    return found;
}

static bool add_call_events(cJSON *events, const segment_row *r, const bg__step_calls *calls)
{
    bg__interval span = {0, 0};
    for (size_t i = 0; i < calls->count; i++) {
        cJSON *args;
        if (!find_call_span(r, calls, &calls->calls[i], &span))
            continue;
        args = add_slice(events, &calls_track, calls->calls[i].call->name, "op", span);
        if (args == NULL || !add_call_site(args, calls->calls[i].call))
            return false;
    }
    return true;
}

static segment_row find_segment_row(const bg__timing *timing, int segment)
{
    segment_row r = {.count = 0};
    for (size_t i = 0; i < timing->count; i++) {
        if (timing->nodes[i].segment != segment)
            continue;
        if (r.count++ == 0)
            r.nodes = &timing->nodes[i];
    }
    return r;
}

static bg_status trace_out_of_memory(const bg_graph *graph)
{
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a timeline of %s", bg__graph_name(graph));
}

/* Nodes that run alone may take longer than the whole segment, so each segment's nodes begin after the end of the
 * previous segment's nodes. */
static bg_status add_segment_events(cJSON *events, const bg_graph *graph, const bg__timing *timing)
{
    double end = 0;
    bg__step_calls *calls = NULL; /* of each segment */
    bg_status status;

    BG__TRY(bg__step_calls_create(&calls, graph));
    for (int i = 0; i < bg__graph_step_count(graph); i++) {
        segment_row r;
        if (bg__graph_step(graph, i).kind != BG__STEP_LAUNCH)
            continue;
        r = find_segment_row(timing, bg__graph_step(graph, i).place);
        r.begin = round_to_ns(end > timing->gpu[i].begin ? end : timing->gpu[i].begin);
        if (!add_call_events(events, &r, &calls[bg__graph_step(graph, i).place]) || !add_node_events(events, &r)) {
            status = trace_out_of_memory(graph);
            goto done;
        }
        end = r.begin;
        for (size_t n = 0; n < r.count; n++)
            end += round_to_ns(r.nodes[n].us);
    }
done:
    bg__step_calls_free(calls, graph);
    return status;
}

/* ---- the file ---- */

/* Adds the findings of the walk, such as segments that ran as a whole. */
static bool add_notes(cJSON *about, const bg_report *report)
{
    cJSON *notes = cJSON_AddArrayToObject(about, "notes");
    for (int i = 0; notes != NULL && i < bg_report_count(report); i++) {
        bg_finding finding = BG_FINDING_INIT;
        if (bg_report_get(report, i, &finding) != BG_OK ||
            !cJSON_AddItemToArray(notes, cJSON_CreateString(finding.message)))
            return false;
    }
    return notes != NULL;
}

static bool add_header(cJSON *root, const bg_graph *graph, const char *device, const bg_report *report)
{
    cJSON *about = cJSON_AddObjectToObject(root, "otherData");
    return about != NULL && cJSON_AddStringToObject(root, "displayTimeUnit", "ns") &&
           cJSON_AddStringToObject(about, "breakgraph", bg_version()) &&
           cJSON_AddStringToObject(about, "graph", bg__graph_name(graph)) &&
           cJSON_AddStringToObject(about, "device", device) && (report == NULL || add_notes(about, report));
}

static bool add_tracks(cJSON *events, const char *device, bool nodes)
{
    return name_process(events, HOST_PROCESS, "host") && name_process(events, DEVICE_PROCESS, device) &&
           name_track(events, &cpu_track) && name_track(events, &gpu_track) &&
           (!nodes || (name_track(events, &calls_track) && name_track(events, &nodes_track)));
}

/* report: of the walk that timed the nodes; NULL: there was none. */
static bg_status fill_trace(cJSON *root, const bg_graph *graph, const bg__timing *timing, const bg_report *report)
{
    cJSON *events = cJSON_AddArrayToObject(root, "traceEvents");
    struct cudaDeviceProp device;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaGetDeviceProperties(&device, bg__graph_get_facts(graph).device));
    if (events == NULL || !add_header(root, graph, device.name, report) ||
        !add_tracks(events, device.name, report != NULL) || !add_step_events(events, graph, timing)) {
        status = trace_out_of_memory(graph);
        goto done;
    }
    if (report != NULL)
        BG__TRY(add_segment_events(events, graph, timing));
done:
    return status;
}

static bg_status write_trace(const bg_graph *graph, const bg__timing *timing, const bg_report *report, const char *path)
{
    cJSON *root = cJSON_CreateObject();
    char *text = NULL;
    bg_status status;

    BG__TRY(fill_trace(root, graph, timing, report));
    text = bg__json_text(root, false);
    if (text == NULL)
        status = trace_out_of_memory(graph);
    else
        status = bg__file_write_bytes(path, BG__FILE_FROM_USER, text, strlen(text), "\n", 1);
done:
    cJSON_free(text);
    cJSON_Delete(root);
    return status;
}

bg_status bg__trace_replay(bg_graph *graph, cudaStream_t stream, const char *path)
{
    bg__timing timing = {0};
    bg_status status;

    BG__TRY(bg__timing_measure_steps(graph, stream, &timing));
    BG__TRY(write_trace(graph, &timing, NULL, path));
done:
    bg__timing_free(&timing);
    return status;
}

bg_status bg_trace(bg_graph *graph, cudaStream_t stream, const char *path)
{
    bg__timing timing = {0};
    bg_report *report = NULL;
    bg_status status;

    BG__NEED(graph);
    BG__NEED(path);
    bg__foreign_error_note();
    BG__TRY(bg__report_create(&report, "trace", bg__graph_name(graph)));
    BG__TRY(bg__timing_measure_replay(graph, stream, &timing));
    BG__TRY(bg__timing_measure_nodes(graph, stream, &timing, report));
    status = write_trace(graph, &timing, report, path);
    if (status != BG_OK)
        bg__error_add_location("bg_trace");
done:
    bg_report_destroy(report);
    bg__timing_free(&timing);
    return status;
}
