#include "cuts.h"

#include <stdlib.h>
#include <string.h>

#include "chosen_places.h"
#include "debug/attach/nodes/node_calls.h"
#include "debug/attach/report/listing.h"
#include "debug/files/json.h"
#include "debug/report/process_report.h"
#include "stages.h"

/* ---- parts ------------------------------------------------------------------------------------------------------ */

static bg_status add_cut(bg__cuts *cuts, cudaGraphExec_t part, const bg__node *node)
{
    bg_status status;
    BG__TRY(BG__GROW(cuts->list, cuts->count, cuts->capacity, "parts of a graph"));
    cuts->list[cuts->count++] = (struct bg__cut){part, node};
done:
    return status;
}

enum { NONE = -1 }; /* no stage */

static bg_status destroy_others(cudaGraph_t copy, const bg__layout *layout, const bg__stages *stages, size_t stage)
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
static bg_status add_part(bg__cuts *cuts, cudaGraph_t source, const bg__layout *layout, const bg__stages *stages,
                          size_t stage)
{
    cudaGraph_t copy = NULL;
    cudaGraphExec_t exec = NULL;
    bg_status status;

    BG__TRY_CUDA(cudaGraphClone(&copy, source));
    BG__TRY(destroy_others(copy, layout, stages, stage));
    BG__TRY_CUDA(cudaGraphInstantiateWithFlags(&exec, copy, 0));
    BG__TRY(add_cut(cuts, exec, NULL));
    exec = NULL;
done:
    if (exec != NULL)
        BG__RELEASE(cudaGraphExecDestroy(exec));
    if (copy != NULL)
        BG__RELEASE(cudaGraphDestroy(copy));
    return status;
}

static bg_status add_nodes(bg__cuts *cuts, const bg__stages *stages, size_t stage, bool ahead)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < cuts->flat.count; i++) {
        const bg__step_node *node = &cuts->flat.nodes[i];
        if (stages->stage[node->outer] != stage || stages->ahead[node->outer] != ahead ||
            node->node->type == cudaGraphNodeTypeEmpty)
            continue;
        BG__TRY(add_cut(cuts, NULL, node->node));
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

static bg_status add_stages(bg__cuts *cuts, cudaGraph_t source, const bg__layout *layout, const bg__stages *stages)
{
    bg_status status = BG_OK;
    for (size_t stage = 0; stage <= stages->last; stage++) {
        if (stage % 2 != 0) {
            BG__TRY(add_nodes(cuts, stages, stage, true));
            BG__TRY(add_nodes(cuts, stages, stage, false));
        } else if (has_stage(stages, stage)) {
            BG__TRY(add_part(cuts, source, layout, stages, stage));
        }
    }
    if (cuts->count > 0 && cuts->list[cuts->count - 1].part == NULL) /* keeps user objects of the nodes alive */
        BG__TRY(add_part(cuts, source, layout, stages, NONE));
done:
    return status;
}

/* ---- a graph ---------------------------------------------------------------------------------------------------- */

static bg_status split(bg__cuts *cuts, const bg__attached *a, bg__layout *layout, const bg__places *places,
                       bg_report *report)
{
    bg__stages stages = {.order = NULL};
    bool possible = true;
    bg_status status = BG_OK;

    if (places->chosen > 0 && a->own) {
        bg__places_note_whole(places, report, "CUDA cannot copy a graph with memory nodes or conditional nodes");
        return BG_OK;
    }
    if (places->count == 0)
        return BG_OK;
    BG__TRY(bg__stages_find(&stages, layout, places->outside, places->first, &places->ties, &possible));
    if (possible)
        BG__TRY(add_stages(cuts, a->source, layout, &stages));
    else
        bg__places_note_whole(places, report,
                              "kernels of NCCL that may wait for each other would be before and behind one of them");
done:
    bg__stages_free(&stages);
    return status;
}

static bool add_outside(cJSON *list, const bg__node *node)
{
    const bg__stack *stack = bg__node_maker(node->handle);
    cJSON *item = bg__json_add_object(list);
    return item != NULL && cJSON_AddNumberToObject(item, "node", (double)node->place) != NULL &&
           bg__listing_add_lines(item, "stack", stack != NULL ? bg__stack_text(stack) : "");
}

/* The list shows bisect that some nodes run outside, and for a few nodes also the calls that made them. */
enum { LISTED = 16 };
static bg_status list_outside(const bg__cuts *cuts, bg_report *report)
{
    cJSON *list = cuts->outside > 0 ? bg__report_part(report, "outside") : NULL;
    bool added = list != NULL || cuts->outside == 0;

    for (size_t i = 0; i < cuts->count && cuts->outside <= LISTED && added; i++) {
        const bg__node *node = cuts->list[i].node;
        if (node != NULL && node->parent < 0)
            added = add_outside(list, node);
    }
    return added ? BG_OK : bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the list of nodes");
}

static void tell(const bg__cuts *cuts, bg_report *report)
{
    if (bg_report_count(report) > 0)
        bg__report_print(report, stderr);
    if (bg_report_count(report) > 0 || cuts->outside > 0)
        bg__process_report_add(report);
}

bg_status bg__cuts_make(bg__cuts *cuts, const bg__attached *a)
{
    bg_report *report = NULL;
    bg__layout layout = {0};
    bg__places places = {.outside = NULL};
    bg__relaxed relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg_status status;

    BG__TRY(bg__relax_begin(&relaxed));
    BG__TRY(bg__nodes_take(a->graph, &cuts->nodes));
    BG__TRY(bg__layout_read(&layout, a->source));
    BG__TRY(bg__step_list_create(&cuts->flat, a->source, &cuts->nodes, 0));
    BG__TRY(bg__report_create(&report, "break", bg__graph_name(a->graph)));
    BG__TRY(bg__places_choose(&places, a, &cuts->nodes, &layout, report));
    BG__TRY(split(cuts, a, &layout, &places, report));
    BG__TRY(list_outside(cuts, report));
    tell(cuts, report);
done:
    bg_report_destroy(report);
    bg__places_free(&places);
    bg__layout_free(&layout);
    bg__relax_end(relaxed);
    return status;
}

void bg__cuts_free(bg__cuts *cuts)
{
    bg__relaxed relaxed = bg__relax_to_release();

    for (size_t i = 0; i < cuts->count; i++)
        if (cuts->list[i].part != NULL)
            BG__RELEASE(cudaGraphExecDestroy(cuts->list[i].part));
    bg__relax_end(relaxed);
    free(cuts->list);
    bg__step_list_free(&cuts->flat);
    bg__nodes_free(&cuts->nodes);
    *cuts = (bg__cuts){.count = 0};
}
