#include "split_graph.h"

#include <stdlib.h>
#include <string.h>

#include "chosen_places.h"
#include "debug/attach/nodes/node_calls.h"
#include "debug/attach/report/graph_rows.h"
#include "debug/files/json.h"
#include "debug/report/process_report.h"
#include "stages.h"

/* ---- parts ------------------------------------------------------------------------------------------------------ */

static bg_status add_split_item(bg__split_graph *cuts, cudaGraphExec_t part, const bg__node *node)
{
    bg_status status;
    BG__TRY(BG__ARRAY_GROW(cuts->list, cuts->count, cuts->capacity, "parts of a graph"));
    cuts->list[cuts->count++] = (struct bg__split_item){part, node};
done:
    return status;
}

enum { NO_STAGE = -1 }; /* no stage */

static bg_status destroy_other_nodes(cudaGraph_t copy, const bg__layout *layout, const bg__stages *stages, size_t stage)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < layout->count; i++) {
        cudaGraphNode_t twin;
        if (stages->stage[i] == stage)
            continue;
        BG__TRY_CUDA(cudaGraphNodeFindInClone(&twin, layout->nodes[i], copy));
        BG__TRY_CUDA(cudaGraphDestroyNode(twin));
    }
done:
    return status;
}

/* The part keeps the edges between its nodes; they are complete, since no path between two of its nodes leaves the
 * part. NONE: the part has no nodes, but owns the graph's user objects: its launch keeps them alive until the nodes
 * have run, even if the program destroys the graph. */
static bg_status add_graph_part(bg__split_graph *cuts, cudaGraph_t source, const bg__layout *layout,
                                const bg__stages *stages, size_t stage)
{
    cudaGraph_t copy = NULL;
    cudaGraphExec_t exec = NULL;
    bg_status status;

    BG__TRY_CUDA(cudaGraphClone(&copy, source));
    BG__TRY(destroy_other_nodes(copy, layout, stages, stage));
    BG__TRY_CUDA(cudaGraphInstantiateWithFlags(&exec, copy, 0));
    BG__TRY(add_split_item(cuts, exec, NULL));
    exec = NULL;
done:
    if (exec != NULL)
        BG__RELEASE(cudaGraphExecDestroy(exec));
    if (copy != NULL)
        BG__RELEASE(cudaGraphDestroy(copy));
    return status;
}

static bg_status add_outside_nodes(bg__split_graph *cuts, const bg__stages *stages, size_t stage, bool ahead)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < cuts->flat.count; i++) {
        const bg__step_node *node = &cuts->flat.nodes[i];
        if (stages->stage[node->outer] != stage || stages->ahead[node->outer] != ahead ||
            node->node->type == cudaGraphNodeTypeEmpty)
            continue;
        BG__TRY(add_split_item(cuts, NULL, node->node));
        cuts->outside++;
    }
done:
    return status;
}

static bool has_stage(const bg__stages *stages, size_t stage)
{
    for (size_t i = 0; i < stages->count; i++)
        if (stages->stage[i] == stage)
            return true;
    return false;
}

static bg_status add_all_stages(bg__split_graph *cuts, cudaGraph_t source, const bg__layout *layout,
                                const bg__stages *stages)
{
    bg_status status = BG_OK;
    for (size_t stage = 0; stage <= stages->last; stage++) {
        if (stage % 2 != 0) {
            BG__TRY(add_outside_nodes(cuts, stages, stage, true));
            BG__TRY(add_outside_nodes(cuts, stages, stage, false));
        } else if (has_stage(stages, stage)) {
            BG__TRY(add_graph_part(cuts, source, layout, stages, stage));
        }
    }
    if (cuts->count > 0 && cuts->list[cuts->count - 1].part == NULL) /* keeps user objects of the nodes alive */
        BG__TRY(add_graph_part(cuts, source, layout, stages, NO_STAGE));
done:
    return status;
}

/* ---- a graph ---------------------------------------------------------------------------------------------------- */

static bg_status split_at_places(bg__split_graph *cuts, const bg__tracked_graph *a, bg__layout *layout,
                                 const bg__chosen_places *places, bg_report *report)
{
    bg__stages stages = {.order = NULL};
    bool possible = true;
    bg_status status = BG_OK;

    if (places->chosen > 0 && a->own) {
        bg__chosen_places_report_whole(places, report,
                                       "CUDA cannot copy a graph with memory nodes or conditional nodes");
        return BG_OK;
    }
    if (places->count == 0)
        return BG_OK;
    BG__TRY(bg__stages_assign(&stages, layout, places->outside, places->first, &places->ties, &possible));
    if (possible)
        BG__TRY(add_all_stages(cuts, a->source, layout, &stages));
    else
        bg__chosen_places_report_whole(places, report,
                                       "a chosen node would separate NCCL kernels that may wait for each other");
done:
    bg__stages_free(&stages);
    return status;
}

static bool add_outside_row(cJSON *list, const bg__node *node)
{
    const bg__stack *stack = bg__node_maker(node->handle);
    cJSON *item = bg__json_add_object(list);
    return item != NULL && cJSON_AddNumberToObject(item, "node", (double)node->place) != NULL &&
           bg__graph_row_add_lines(item, "stack", stack != NULL ? bg__stack_text(stack) : "");
}

/* The list shows bisect that some nodes run outside, and for a few nodes also the calls that made them. */
enum { LISTED_MAX = 16 };
static bg_status list_outside_nodes(const bg__split_graph *cuts, bg_report *report)
{
    cJSON *list = cuts->outside > 0 ? bg__report_part(report, "outside") : NULL;
    bool added = list != NULL || cuts->outside == 0;

    for (size_t i = 0; i < cuts->count && cuts->outside <= LISTED_MAX && added; i++) {
        const bg__node *node = cuts->list[i].node;
        if (node != NULL && node->parent < 0)
            added = add_outside_row(list, node);
    }
    return added ? BG_OK : bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the list of nodes");
}

static void publish_report(const bg__split_graph *cuts, bg_report *report)
{
    if (bg_report_count(report) > 0)
        bg__report_print(report, stderr);
    if (bg_report_count(report) > 0 || cuts->outside > 0)
        bg__process_report_add(report);
}

bg_status bg__split_graph_create(bg__split_graph *cuts, const bg__tracked_graph *a)
{
    bg_report *report = NULL;
    bg__layout layout = {0};
    bg__chosen_places places = {.outside = NULL};
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg_status status;

    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY(bg__nodes_read(a->graph, &cuts->nodes));
    BG__TRY(bg__layout_read(&layout, a->source));
    BG__TRY(bg__step_list_create(&cuts->flat, a->source, &cuts->nodes, 0));
    BG__TRY(bg__report_create(&report, "break", bg__graph_name(a->graph)));
    BG__TRY(bg__chosen_places_find(&places, a, &cuts->nodes, &layout, report));
    BG__TRY(split_at_places(cuts, a, &layout, &places, report));
    BG__TRY(list_outside_nodes(cuts, report));
    publish_report(cuts, report);
done:
    bg_report_destroy(report);
    bg__chosen_places_free(&places);
    bg__layout_free(&layout);
    bg__relaxed_mode_end(relaxed);
    return status;
}

void bg__split_graph_free(bg__split_graph *cuts)
{
    bg__relaxed_mode relaxed = bg__relaxed_mode_try_begin();

    for (size_t i = 0; i < cuts->count; i++)
        if (cuts->list[i].part != NULL)
            BG__RELEASE(cudaGraphExecDestroy(cuts->list[i].part));
    bg__relaxed_mode_end(relaxed);
    free(cuts->list);
    bg__step_list_free(&cuts->flat);
    bg__nodes_free(&cuts->nodes);
    *cuts = (bg__split_graph){.count = 0};
}
