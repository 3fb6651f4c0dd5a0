/* Captures a pass twice. What differs between the captures is frozen in a graph. This file makes the captures, and
 * lists the calls, nodes and blocks of each capture. */
#include "recapture.h"

#include "leaks.h"
#include "debug/graph/node_values.h"
#include "debug/graph/tool_state.h"
#include "debug/memory/allocate.h"
#include "debug/memory/footprint.h"

#include <breakgraph/check.h>
#include <stdio.h>
#include <string.h>

/* ---- capture ---- */

/* Padding of structs keeps the earlier contents of the stack. Clearing the stack makes the padding equal in both
 * passes. */
__attribute__((noinline)) static void clear_stack(void)
{
    volatile char room[1 << 15];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
}

static bg_status run_forward(bg_forward forward, void *user, cudaStream_t stream)
{
    char hidden = bg__error_set_aside();
    bg_status status;

    clear_stack();
    status = forward(user, stream);
    bg__foreign_error_note(); /* forward may have left a CUDA error */
    if (status != BG_OK && bg_last_error()[0] == '\0')
        bg__fail(status, "the forward pass returned %s (%s)", bg_status_name(status), bg_status_text(status));
    bg__error_restore(hidden);
    return status;
}

static bg_status capture_pass(bg_graph **graph, const char *name, const bg__recapture_pass *pass)
{
    bg_capture_options options = pass->options;
    bg_capture *capture = NULL;
    char text[1024];
    bg_status status;

    options.name = name;
    options.launch_segments = false;
    options.debug = BG_DEBUG_OFF; /* eager calls have no nodes to compare */
    options.check = BG_REPLAY_CHECK_OFF;
    if (pass->around != NULL)
        BG__TRY(pass->around->open(pass->around->user));
    status = bg_capture_begin(&capture, pass->stream, &options);
    if (status != BG_OK)
        goto done;
    status = run_forward(pass->forward, pass->user, pass->stream);
    if (status == BG_OK) {
        status = bg_capture_end(capture, graph);
        goto done;
    }
    snprintf(text, sizeof text, "%s", bg_last_error());
    bg_capture_abort(capture);
    bg__error_set_text(text);
done:
    if (pass->around != NULL)
        pass->around->close(pass->around->user);
    return status;
}

/* ---- one side ---- */

/* In the list, a call directly follows its parent, or follows an earlier sibling and the calls inside that sibling. */
static size_t find_parent(const bg__recapture_side *side, const bg__call *call)
{
    size_t at = side->call_count - 1;
    while (at > 0 && side->calls[at].call != call->parent)
        at = side->calls[at].parent;
    return at;
}

static int compare_call_places(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct bg__call_place *)a)->call,
              y = (uintptr_t)((const struct bg__call_place *)b)->call;
    return (x > y) - (x < y);
}

/* Adds the runs that rules have put in place of calls. Each run is listed in the same body as the calls that it
 * replaces. */
static void list_runs(bg__recapture_side *side)
{
    size_t tree = side->call_count;

    for (const bg__call *run = bg__graph_root(side->graph)->runs; run != NULL; run = run->last_run) {
        size_t at = side->call_count++, parent = 0;
        while (parent + 1 < tree && side->calls[parent].call != run->parent)
            parent++;
        if (side->calls[parent].call != run->parent)
            parent = 0; /* the pass itself */
        side->calls[at] = (bg__recapture_call){.call = run, .args = run->kept, .parent = parent, .pair = -1};
        side->by_call[at] = (struct bg__call_place){run, at};
    }
}

static bg_status list_calls(bg__recapture_side *side)
{
    size_t count = 1;
    bg_status status;

    for (const bg__call *call = bg__call_next(bg__graph_root(side->graph)); call != NULL; call = bg__call_next(call))
        count++;
    for (const bg__call *run = bg__graph_root(side->graph)->runs; run != NULL; run = run->last_run)
        count++;
    BG__TRY(BG__ALLOCATE(side->calls, count, "calls"));
    side->calls[side->call_count++].pair = 0;
    BG__TRY(BG__ALLOCATE(side->by_call, count, "calls"));
    for (const bg__call *call = bg__call_next(bg__graph_root(side->graph)); call != NULL; call = bg__call_next(call)) {
        size_t at = side->call_count;
        size_t parent = find_parent(side, call);
        side->calls[at] = (bg__recapture_call){
            .call = call, .args = bg__graph_call_args(side->graph, call), .parent = parent, .pair = -1};
        side->by_call[at] = (struct bg__call_place){call, at};
        side->call_count++;
    }
    list_runs(side);
    qsort(side->by_call, side->call_count, sizeof *side->by_call, compare_call_places);
done:
    return status;
}

/* Returns 0 if the call is not in the list. */
static size_t find_side_call(const bg__recapture_side *side, const bg__call *call)
{
    const struct bg__call_place wanted = {call, 0};
    const struct bg__call_place *found =
        bsearch(&wanted, side->by_call, side->call_count, sizeof wanted, compare_call_places);
    return found != NULL ? found->at : 0;
}

static bg_status list_nodes(bg__recapture_side *side)
{
    size_t *owner, *next;
    bg_status status;

    BG__TRY(BG__ALLOCATE(side->room, 2 * side->nodes.count, "nodes"));
    owner = side->room + side->nodes.count;
    for (size_t i = 0; i < side->nodes.count; i++) {
        owner[i] = find_side_call(side, side->nodes.node[i].call);
        side->calls[owner[i]].count += !side->nodes.node[i].writeback;
    }
    next = side->room;
    for (size_t i = 0; i < side->call_count; i++) {
        side->calls[i].nodes = next;
        next += side->calls[i].count;
        side->calls[i].count = 0;
    }
    for (size_t i = 0; i < side->nodes.count; i++) {
        bg__recapture_call *of = &side->calls[owner[i]];
        if (!side->nodes.node[i].writeback) /* whether a write-back becomes a node depends on the calls after it */
            of->nodes[of->count++] = i;
    }
done:
    return status;
}

static bg_status list_blocks(bg__recapture_side *side)
{
    size_t count = 0;
    bg_status status;

    for (size_t i = 1; i < side->call_count; i++)
        count += side->calls[i].call->own.count;
    BG__TRY(BG__ALLOCATE(side->blocks, count, "blocks"));
    for (size_t i = 1; i < side->call_count; i++) {
        const bg__block_list *memory = &side->calls[i].call->own;
        for (size_t b = 0; b < memory->count; b++)
            side->blocks[side->block_count++] =
                (bg__recapture_block){.where = {(uintptr_t)memory->blocks[b].ptr, memory->blocks[b].bytes, 0},
                                      .call = i,
                                      .kind = memory->blocks[b].kind,
                                      .slot = memory->blocks[b].slot};
    }
done:
    return status;
}

static bg_status read_side(bg__recapture_side *side, bg_graph *graph)
{
    bg_status status;

    side->graph = graph;
    BG__TRY(bg__recorded_allocations_update(graph)); /* before anything is freed */
    BG__TRY(bg__recorded_allocations_get(graph, &side->notes));
    BG__TRY(bg__nodes_read(graph, &side->nodes));
    BG__TRY(bg__nodes_list_allocations(&side->nodes, &side->own));
    BG__TRY(list_calls(side));
    BG__TRY(list_nodes(side));
    BG__TRY(list_blocks(side));
    BG__TRY(bg__recapture_index_blocks(side));
done:
    return status;
}

static bg_status capture_side(bg__recapture_side *side, bg_graph **graph, const char *name,
                              const bg__recapture_pass *pass)
{
    bool in_tool = bg__tool_enter();
    bg_status status = capture_pass(graph, name, pass);

    bg__tool_leave(in_tool);
    return status != BG_OK ? status : read_side(side, *graph);
}

static void free_side(bg__recapture_side *side)
{
    free(side->calls);
    free(side->by_call);
    free(side->blocks);
    free(side->places);
    free(side->room);
    bg__allocations_free(&side->own);
    bg__nodes_free(&side->nodes);
}

/* ---- findings ---- */

/* Whether call `i` is in the body of call `outer`. */
static bool is_inside_call(const bg__recapture_side *side, size_t i, size_t outer)
{
    while (i > outer)
        i = side->calls[i].parent;
    return i == outer;
}

/* Reports the calls without a pair in the body of call `outer` (0: in the whole pass). Calls inside a reported call
 * also have no pair, and are not reported. */
static void report_unpaired_calls(bg__recapture *recapture, int which, size_t outer)
{
    const bg__recapture_side *side = &recapture->side[which];
    for (size_t i = outer + 1; i < side->call_count; i++) {
        const bg__recapture_call *call = &side->calls[i];
        if (call->pair >= 0 || side->calls[call->parent].pair < 0 || !is_inside_call(side, i, outer))
            continue;
        recapture->flow_differs = true;
        bg__report_add(recapture->report, "frozen-control-flow", BG_FAULT, call->call, NULL, BG__FLOW_ADVICE,
                       "%s is called only in %s; a replay repeats the calls of its capture%s", call->call->name,
                       recapture->words->capture[which], bg__recapture_count_fault(recapture));
    }
}

static void report_differing_breaks(bg__recapture *recapture)
{
    int segments[2], breaks[2];

    for (int i = 0; i < 2; i++) {
        segments[i] = bg__graph_segment_count(recapture->side[i].graph);
        breaks[i] = bg__graph_get_facts(recapture->side[i].graph).breaks;
    }
    if (recapture->flow_differs || (segments[0] == segments[1] && breaks[0] == breaks[1]))
        return;
    recapture->flow_differs = true;
    bg__report_add(recapture->report, "frozen-control-flow", BG_FAULT, NULL, NULL,
                   "break in the same places in each pass, or capture one graph for each case",
                   "the breaks differ: %d segment%s and %d break%s in the first capture, %d and %d in the second",
                   segments[0], segments[0] == 1 ? "" : "s", breaks[0], breaks[0] == 1 ? "" : "s", segments[1],
                   breaks[1]);
}

/* NCCL may connect its nodes differently in each capture. */
static bool has_collectives(const bg__nodes *nodes, int segment)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->node[i].segment == segment && bg__node_is_collective(&nodes->node[i]))
            return true;
    return false;
}

/* Reports segments whose nodes are the same, but whose nodes wait for different nodes. */
static bg_status report_differing_edges(bg__recapture *recapture)
{
    bg_status status = BG_OK;

    for (int i = 0; !recapture->flow_differs && i < bg__graph_segment_count(recapture->side[0].graph); i++) {
        bg__edge_hashes hashes[2] = {{0, 0}, {0, 0}};
        if (has_collectives(&recapture->side[0].nodes, i))
            continue;
        for (int k = 0; k < 2; k++)
            BG__TRY(bg__edge_hashes_add(&hashes[k], &recapture->side[k].nodes,
                                        bg__graph_segment(recapture->side[k].graph, i)->graph, i));
        if (memcmp(&hashes[0], &hashes[1], sizeof hashes[0]) != 0)
            bg__report_add(recapture->report, "frozen-control-flow", BG_FAULT, NULL, NULL, BG__FLOW_ADVICE,
                           "the nodes of segment %d are the same in %s, but wait for one another in another way%s", i,
                           recapture->words->both, bg__recapture_count_fault(recapture));
    }
done:
    return status;
}

/* ---- two graphs ---- */

bg_status bg__recapture_read_graphs(bg__recapture *recapture, bg_graph *first, bg_graph *second)
{
    bg_status status;

    BG__TRY(read_side(&recapture->side[0], first));
    BG__TRY(read_side(&recapture->side[1], second));
    BG__TRY(bg__recapture_pair_calls(recapture));
done:
    return status;
}

void bg__recapture_free(bg__recapture *recapture)
{
    free_side(&recapture->side[0]);
    free_side(&recapture->side[1]);
}

bg_status bg__recapture_report_call(bg__recapture *recapture, const bg__call *call)
{
    const bg__recapture_side *side = &recapture->side[0];
    const bg__call *with_nodes = call->run != NULL ? call->run : call; /* a rule has put a run in its place */
    size_t at = find_side_call(side, with_nodes);
    bg_status status = BG_OK;

    if (side->calls[at].call != with_nodes || side->calls[at].pair < 0)
        return BG_OK;
    report_unpaired_calls(recapture, 0, at);
    report_unpaired_calls(recapture, 1, (size_t)side->calls[at].pair);
    for (size_t i = at; i < side->call_count; i++)
        if (side->calls[i].pair >= 0 && is_inside_call(side, i, at))
            BG__TRY(bg__recapture_compare_pair(recapture, i, (size_t)side->calls[i].pair));
done:
    return status;
}

/* ---- the check ---- */

bg_status bg__check_recapture(const bg__recapture_pass *pass, void (*change)(void *user), bg_report **report)
{
    static const bg__recapture_labels words = {
        "two captures", {"the first", "the second"}, {"the first capture", "the second capture"}};
    bg__recapture recapture = {.words = &words};
    bg_graph *graphs[2] = {NULL, NULL};
    bg__leaks *leaks = NULL;
    char text[1024];
    bg_status status, ended;

    BG__TRY(bg__report_create(&recapture.report, "recapture",
                              pass->options.name != NULL ? pass->options.name : "the forward pass"));
    BG__TRY(capture_side(&recapture.side[0], &graphs[0], "the first capture", pass));
    if (change != NULL)
        change(pass->user);
    BG__TRY(bg__leaks_begin(&leaks, graphs[0], pass->stream));
    status = capture_side(&recapture.side[1], &graphs[1], "the second capture", pass);
    snprintf(text, sizeof text, "%s", bg_last_error());
    ended = bg__leaks_end(leaks, status == BG_OK ? recapture.report : NULL);
    if (status != BG_OK) {
        if (ended != BG_OK)
            bg__warn("cleaning up after a failed capture: %s", bg_last_error());
        bg__error_set_text(text);
        goto done;
    }
    BG__TRY(ended);
    BG__TRY(bg__recapture_pair_calls(&recapture));
    report_unpaired_calls(&recapture, 0, 0);
    report_unpaired_calls(&recapture, 1, 0);
    report_differing_breaks(&recapture);
    for (size_t i = 0; i < recapture.side[0].call_count; i++)
        if (recapture.side[0].calls[i].pair >= 0)
            BG__TRY(bg__recapture_compare_pair(&recapture, i, (size_t)recapture.side[0].calls[i].pair));
    BG__TRY(report_differing_edges(&recapture));
    *report = recapture.report;
    recapture.report = NULL;
done:
    bg__recapture_free(&recapture);
    bg_graph_destroy(graphs[0]);
    bg_graph_destroy(graphs[1]);
    bg_report_destroy(recapture.report);
    return status;
}

bg_status bg_check_recapture(bg_forward forward, void *user, void (*change)(void *user), cudaStream_t stream,
                             bg_report **report)
{
    const bg__recapture_pass pass = {forward, user, stream, BG_CAPTURE_OPTIONS_INIT, NULL};

    BG__NEED(report);
    *report = NULL;
    BG__NEED(forward);
    bg__foreign_error_note();
    return bg__check_recapture(&pass, change, report);
}
