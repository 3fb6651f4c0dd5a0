#include "timing.h"

#include <stdio.h>
#include <string.h>

#include "capture/replay.h"
#include "debug/check/check.h"
#include "debug/memory/allocate.h"
#include "debug/memory/tensors.h"
#include "debug/files/json.h"
#include "debug/step/step.h"

void bg__timing_free(bg__timing *timing)
{
    free(timing->cpu);
    free(timing->gpu);
    free(timing->nodes);
    *timing = (bg__timing){0};
}

static double now_us(void)
{
    return bg__now_ms() * 1e3;
}

/* ---- steps ---- */

/* One event where the replay begins, and two for each step. */
typedef struct step_events {
    cudaEvent_t *events;
    int count;
} step_events;

static bg_status create_step_events(step_events *m, const bg_graph *graph)
{
    int wanted = 2 * bg__graph_step_count(graph) + 1;
    bg_status status;

    BG__TRY(BG__ALLOCATE(m->events, wanted, "events"));
    for (; m->count < wanted; m->count++)
        BG__TRY_CUDA(cudaEventCreate(&m->events[m->count]));
done:
    return status;
}

static void destroy_step_events(step_events *m)
{
    while (m->count > 0)
        BG__RELEASE(cudaEventDestroy(m->events[--m->count]));
    free(m->events);
}

static bg_status replay_steps(bg_graph *graph, cudaStream_t stream, const step_events *m, bg__timing *timing,
                              double *begun)
{
    double began = now_us();
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaEventRecord(m->events[0], stream));
    *begun = (now_us() - began) / 2;
    for (int i = 0; i < bg__graph_step_count(graph); i++) {
        BG__TRY_CUDA(cudaEventRecord(m->events[2 * i + 1], stream));
        timing->cpu[i].begin = now_us() - began;
        BG__TRY(bg__replay_step(graph, i, stream));
        timing->cpu[i].end = now_us() - began;
        bg__foreign_error_note(); /* the body may have left an error */
        BG__TRY_CUDA(cudaEventRecord(m->events[2 * i + 2], stream));
    }
done:
    return status;
}

static bg_status read_event_time(const step_events *m, int event, double begun, double *us)
{
    float milliseconds = 0;
    bg_status status = BG_OK;
    BG__TRY_CUDA(cudaEventElapsedTime(&milliseconds, m->events[0], m->events[event]));
    *us = begun + (double)milliseconds * 1e3;
done:
    return status;
}

static bg_status read_event_times(const bg_graph *graph, const step_events *m, double begun, bg__timing *timing)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg_status status;

    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    for (int i = 0; i < bg__graph_step_count(graph); i++) {
        BG__TRY(read_event_time(m, 2 * i + 1, begun, &timing->gpu[i].begin));
        BG__TRY(read_event_time(m, 2 * i + 2, begun, &timing->gpu[i].end));
    }
done:
    bg__relaxed_mode_end(relaxed);
    return status;
}

bg_status bg__timing_measure_steps(bg_graph *graph, cudaStream_t stream, bg__timing *timing)
{
    double begun = 0;
    step_events m = {NULL, 0};
    bg_status status;

    BG__TRY(BG__ALLOCATE(timing->cpu, bg__graph_step_count(graph), "times of steps"));
    BG__TRY(BG__ALLOCATE(timing->gpu, bg__graph_step_count(graph), "times of steps"));
    BG__TRY(create_step_events(&m, graph));
    status = bg__wait_for_stream(stream); /* else the first step's time includes work queued before */
    if (status != BG_OK) {
        bg__error_add_location("the work on the stream before the replay");
        goto done;
    }
    BG__TRY(replay_steps(graph, stream, &m, timing, &begun));
    BG__TRY(bg__wait_for_stream(stream));
    BG__TRY(read_event_times(graph, &m, begun, timing));
done:
    destroy_step_events(&m);
    return status;
}

bg_status bg__timing_measure_replay(bg_graph *graph, cudaStream_t stream, bg__timing *timing)
{
    bg_status status, left;

    BG__TRY(bg__replay_enter(graph, stream));
    if (bg__graph_get_facts(graph).watched)
        status = bg__check_replay(graph);
    if (status == BG_OK)
        status = bg__timing_measure_steps(graph, stream, timing);
    left = bg__replay_leave(graph, stream, status);
    if (status == BG_OK)
        status = left;
done:
    return status;
}

/* ---- nodes ---- */

typedef struct node_timing {
    bg__timing *timing;
    bg__timer timer;
} node_timing;

bg_status bg__timing_add_node(bg__timing *timing, const bg__step_node *ran, const bg__call *call, double us)
{
    bg__step_kernel kernel;
    bg__node_creation_time *node;
    bg_status status;

    BG__TRY(BG__ARRAY_GROW(timing->nodes, timing->count, timing->capacity, "times of nodes"));
    bg__step_kernel_read(ran->node, &kernel);
    node = &timing->nodes[timing->count];
    *node = (bg__node_creation_time){.segment = ran->node->segment,
                                     .outer = ran->outer,
                                     .order = timing->count++,
                                     .kind = ran->node->writeback ? "write-back" : bg__node_kind(ran->node),
                                     .call = call,
                                     .us = us};
    memcpy(node->place, ran->place, sizeof node->place);
    snprintf(node->kernel, sizeof node->kernel, "%s", kernel.name);
    memcpy(node->grid, kernel.grid, sizeof node->grid);
    memcpy(node->block, kernel.block, sizeof node->block);
done:
    return status;
}

static bg_status add_timed_node(void *user, const bg__step_node *ran, const bg__call *call)
{
    const node_timing *t = user;
    return bg__timing_add_node(t->timing, ran, call, t->timer.us);
}

static int compare_node_times(const void *a, const void *b)
{
    const bg__node_creation_time *x = a, *y = b;
    if (x->segment != y->segment)
        return x->segment < y->segment ? -1 : 1;
    if (x->outer != y->outer)
        return x->outer < y->outer ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

void bg__timing_sort_nodes(bg__timing *timing)
{
    if (timing->count > 0)
        qsort(timing->nodes, timing->count, sizeof *timing->nodes, compare_node_times);
}

bg_status bg__timer_create(bg__timer *timer)
{
    bg_status status = BG_OK;
    BG__TRY_CUDA(cudaEventCreate(&timer->begin));
    BG__TRY_CUDA(cudaEventCreate(&timer->end));
done:
    return status;
}

void bg__timer_destroy(bg__timer *timer)
{
    if (timer->begin != NULL)
        BG__RELEASE(cudaEventDestroy(timer->begin));
    if (timer->end != NULL)
        BG__RELEASE(cudaEventDestroy(timer->end));
}

static bg_status walk_timed(bg_graph *graph, cudaStream_t stream, node_timing *t, bg_report *report)
{
    const bg__walk_options options = {.timed = add_timed_node, .timer = &t->timer, .user = t};
    bg__walk_end end = {.early = false};
    bg_status status = BG_OK;

    BG__TRY(bg__timer_create(&t->timer));
    BG__TRY(bg__walk(graph, stream, &options, report, &end));
    if (end.what != BG_OK) {
        status = bg__fail(end.what, "%s", end.text);
        bg__error_set_located();
    }
done:
    bg__timer_destroy(&t->timer);
    return status;
}

bg_status bg__timing_measure_nodes(bg_graph *graph, cudaStream_t stream, bg__timing *timing, bg_report *report)
{
    node_timing t = {.timing = timing};
    bg_status status;

    BG__TRY(bg__replay_enter(graph, stream));
    status = walk_timed(graph, stream, &t, report);
    BG__TRY(bg__replay_leave(graph, stream, status));
    bg__timing_sort_nodes(timing);
done:
    return status;
}

/* ---- a report's timings ---- */

const char *bg__timing_step_name(bg__step_view step, char *text, size_t bytes)
{
    switch (step.kind) {
    case BG__STEP_LAUNCH: snprintf(text, bytes, "segment %d", step.place); break;
    case BG__STEP_CALL: snprintf(text, bytes, "call %s", step.call->name); break;
    case BG__STEP_COPY: snprintf(text, bytes, "copy %s", step.call->name); break;
    case BG__STEP_FORWARD: return "forward";
    case BG__STEP_WAIT: return "wait";
    case BG__STEP_RECORD: return "record";
    case BG__STEP_SYNC: return "sync";
    }
    return text;
}

/* Returns an array with a time for each node of the segment, in microseconds, rounded to a tenth of a nanosecond: null
 * for a node that was not timed, the sum for the nodes of a child graph. *next: where the segment's times begin; moved
 * behind them. */
static cJSON *take_node_times(const bg__timing *nodes, size_t *next, int segment)
{
    cJSON *list = cJSON_CreateArray();
    long place = 0;
    double us;

    while (*next < nodes->count && nodes->nodes[*next].segment < segment)
        ++*next;
    while (list != NULL && *next < nodes->count && nodes->nodes[*next].segment == segment) {
        long outer = nodes->nodes[*next].outer;
        for (; place < outer; place++)
            cJSON_AddItemToArray(list, cJSON_CreateNull());
        for (us = 0;
             *next < nodes->count && nodes->nodes[*next].segment == segment && nodes->nodes[*next].outer == outer;
             ++*next)
            us += nodes->nodes[*next].us;
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)(int64_t)(us * 1e4 + 0.5) / 1e4));
        place++;
    }
    return list;
}

static bool add_timing(cJSON *list, const char *what, const bg__interval *cpu, const bg__interval *gpu, cJSON *nodes)
{
    cJSON *item = bg__json_add_object(list);
    bool good = item != NULL && cJSON_AddStringToObject(item, "what", what) &&
                cJSON_AddNumberToObject(item, "cpu_us", cpu->end - cpu->begin) &&
                cJSON_AddNumberToObject(item, "gpu_us", gpu->end - gpu->begin);

    if (good && nodes != NULL && nodes->child != NULL)
        return cJSON_AddItemToObject(item, "node_us", nodes);
    cJSON_Delete(nodes);
    return good;
}

bg_status bg__timings_measure(bg_graph *graph, cudaStream_t stream, const bg__timing *nodes, cJSON *list)
{
    bg__timing timing = {0};
    char what[512];
    size_t next = 0;
    bg_status status;

    if (bg__graph_get_facts(graph).replaying) /* the caller is inside a replay */
        BG__TRY(bg__timing_measure_steps(graph, stream, &timing));
    else
        BG__TRY(bg__timing_measure_replay(graph, stream, &timing));
    for (int i = 0; i < bg__graph_step_count(graph); i++) {
        bg__step_view step = bg__graph_step(graph, i);
        if (step.kind == BG__STEP_WAIT || step.kind == BG__STEP_RECORD || step.kind == BG__STEP_SYNC)
            continue;
        cJSON *of_nodes =
            nodes != NULL && step.kind == BG__STEP_LAUNCH ? take_node_times(nodes, &next, step.place) : NULL;
        if (!add_timing(list, bg__timing_step_name(step, what, sizeof what), &timing.cpu[i], &timing.gpu[i],
                        of_nodes)) {
            status =
                bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the timings of %s", bg__graph_name(graph));
            goto done;
        }
    }
done:
    bg__timing_free(&timing);
    return status;
}
