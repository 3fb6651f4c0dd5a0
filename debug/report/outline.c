#include "outline.h"

#include <breakgraph/compile.h>
#include <stdio.h>

#include "debug/files/json.h"
#include "debug/graph/lanes.h"
#include "debug/graph/nodes.h"

/* ---- steps and calls ---- */

static const char *step_kind(bg__step_view step)
{
    switch (step.kind) {
    case BG__STEP_LAUNCH: return "launch";
    case BG__STEP_CALL: return "call";
    case BG__STEP_FORWARD: return "forward";
    case BG__STEP_COPY: return "copy";
    case BG__STEP_WAIT: return "wait";
    case BG__STEP_RECORD: return "record";
    case BG__STEP_SYNC: return "sync";
    }
    return "";
}

static bool add_step_to_outline(cJSON *list, bg__step_view step)
{
    cJSON *item = bg__json_add_object(list);
    if (item == NULL || !cJSON_AddStringToObject(item, "kind", step_kind(step)))
        return false;
    switch (step.kind) {
    case BG__STEP_LAUNCH: return cJSON_AddNumberToObject(item, "segment", step.place) != NULL;
    case BG__STEP_CALL: return cJSON_AddStringToObject(item, "call", step.call->name) != NULL;
    case BG__STEP_COPY: return cJSON_AddStringToObject(item, "call", step.call->name) != NULL;
    default: return true;
    }
}

static bool add_call_to_outline(cJSON *list, const bg__call *call)
{
    cJSON *item = bg__json_add_object(list);
    return item != NULL && cJSON_AddStringToObject(item, "name", call->name) &&
           cJSON_AddStringToObject(item, "op", call->op->name) &&
           cJSON_AddStringToObject(item, "file", call->site.file != NULL ? call->site.file : "") &&
           cJSON_AddNumberToObject(item, "line", call->site.line) &&
           cJSON_AddBoolToObject(item, "eager", call->eager) &&
           (call->eager || cJSON_AddNumberToObject(item, "segment", call->segment));
}

static const char *const fusion_states[] = {"applied", "fits",     "refused", "off",
                                            "covered", "unproven", "differs", "slower"};

static bool add_fusion_to_outline(cJSON *list, const bg_fusion *fusion)
{
    char name[200];
    cJSON *item = bg__json_add_object(list);
    snprintf(name, sizeof name, "%s#%d", fusion->op, fusion->number);
    return item != NULL && cJSON_AddStringToObject(item, "name", name) &&
           cJSON_AddStringToObject(item, "run", fusion->name) && cJSON_AddStringToObject(item, "op", fusion->op) &&
           cJSON_AddStringToObject(item, "file", fusion->file) && cJSON_AddNumberToObject(item, "line", fusion->line) &&
           cJSON_AddNumberToObject(item, "segment", fusion->segment) &&
           cJSON_AddStringToObject(item, "state", fusion_states[fusion->state]) &&
           (fusion->why[0] == '\0' || cJSON_AddStringToObject(item, "why", fusion->why)) &&
           (fusion->calls_us == 0 || (cJSON_AddNumberToObject(item, "calls_us", fusion->calls_us) &&
                                      cJSON_AddNumberToObject(item, "op_us", fusion->op_us)));
}

/* Adds what rules have done, unless the graph was compiled at level 0. */
static bool add_compilation(cJSON *outline, const bg_graph *graph)
{
    bg_compile_info info = BG_COMPILE_INFO_INIT;
    bg_fusion fusion = BG_FUSION_INIT;
    cJSON *item, *list;

    if (bg_graph_get_compile_info(graph, &info) != BG_OK || info.level == 0)
        return true;
    item = cJSON_AddObjectToObject(outline, "compilation");
    if (item == NULL || !cJSON_AddNumberToObject(item, "level", info.level) ||
        !cJSON_AddNumberToObject(item, "nodes_before", (double)info.nodes_before) ||
        !cJSON_AddNumberToObject(item, "nodes_after", (double)info.nodes_after) ||
        !cJSON_AddNumberToObject(item, "proofs", info.proofs) ||
        !cJSON_AddNumberToObject(item, "proof_ms", info.proof_ms))
        return false;
    list = cJSON_AddArrayToObject(item, "fusions");
    for (int i = 0; list != NULL && bg_graph_get_fusion(graph, i, &fusion) == BG_OK; i++)
        if (!add_fusion_to_outline(list, &fusion))
            return false;
    return list != NULL;
}

static bool add_steps_and_calls(cJSON *outline, const bg_graph *graph)
{
    cJSON *steps = cJSON_AddArrayToObject(outline, "steps"), *calls = cJSON_AddArrayToObject(outline, "calls");
    if (steps == NULL || calls == NULL)
        return false;
    for (int i = 0; i < bg__graph_step_count(graph); i++)
        if (!add_step_to_outline(steps, bg__graph_step(graph, i)))
            return false;
    for (const bg__call *call = bg__call_next(bg__graph_root(graph)); call != NULL; call = bg__call_next(call))
        if (!add_call_to_outline(calls, call))
            return false;
    return true;
}

/* ---- nodes ---- */

static bool add_dependencies(cJSON *item, const bg__lanes *lanes, size_t node)
{
    cJSON *list = cJSON_AddArrayToObject(item, "after");
    for (size_t a = lanes->first_after[node]; list != NULL && a < lanes->first_after[node + 1]; a++) {
        if (a > lanes->first_after[node] && lanes->after[a] == lanes->after[a - 1])
            continue;
        if (!cJSON_AddItemToArray(list, cJSON_CreateNumber((double)lanes->after[a])))
            return false;
    }
    return list != NULL;
}

static bool add_kernel_name(cJSON *item, const bg__kernel *kernel)
{
    if (kernel == NULL || kernel->name == NULL)
        return true;
    return cJSON_AddStringToObject(item, "kernel", kernel->name) &&
           (kernel->demangled == NULL || cJSON_AddStringToObject(item, "symbol", kernel->symbol) != NULL);
}

static bool add_node_to_outline(cJSON *list, const bg__node *node, const bg__layout *layout, const bg__lanes *lanes)
{
    cJSON *item = bg__json_add_object(list);
    return item != NULL && cJSON_AddNumberToObject(item, "segment", node->segment) &&
           cJSON_AddNumberToObject(item, "node", (double)node->place) &&
           cJSON_AddStringToObject(item, "kind", bg__node_kind(node)) && add_kernel_name(item, node->kernel) &&
           (node->call == NULL || cJSON_AddStringToObject(item, "call", node->call->name)) &&
           (!node->writeback || cJSON_AddTrueToObject(item, "writeback")) &&
           cJSON_AddNumberToObject(item, "lane", lanes->lane[node->place]) &&
           add_dependencies(item, lanes, node->place) &&
           (!layout->early[node->place] || cJSON_AddTrueToObject(item, "early"));
}

/* Adds the nodes of a segment. Nodes are sorted by segment. *next is the first node that is not added yet; it becomes
 * the first node of the next segment. */
static bool add_segment_to_outline(cJSON *outline, const bg__nodes *nodes, size_t *next, int segment,
                                   const bg__layout *layout, const bg__lanes *lanes)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(outline, "nodes");
    cJSON *item = bg__json_add_object(cJSON_GetObjectItemCaseSensitive(outline, "segments"));
    size_t count = 0, kernels = 0;

    for (; *next < nodes->count && nodes->node[*next].segment == segment; ++*next) {
        const bg__node *node = &nodes->node[*next];
        if (node->parent >= 0)
            continue;
        count++;
        kernels += node->type == cudaGraphNodeTypeKernel;
        if (!add_node_to_outline(list, node, layout, lanes))
            return false;
    }
    return item != NULL && cJSON_AddNumberToObject(item, "nodes", (double)count) &&
           cJSON_AddNumberToObject(item, "kernel_nodes", (double)kernels);
}

/* ---- the outline ---- */

static bg_status outline_out_of_memory(const bg_graph *graph)
{
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the outline of %s", bg__graph_name(graph));
}

static bg_status outline_segment(cJSON *outline, const bg_graph *graph, const bg__nodes *nodes, size_t *next,
                                 int segment)
{
    bg__layout layout = {0};
    bg__lanes lanes = {0};
    bg_status status;

    BG__TRY(bg__layout_read(&layout, bg__graph_segment(graph, segment)->graph));
    BG__TRY(bg__lanes_find(&lanes, &layout));
    if (!add_segment_to_outline(outline, nodes, next, segment, &layout, &lanes))
        status = outline_out_of_memory(graph);
done:
    bg__lanes_free(&lanes);
    bg__layout_free(&layout);
    return status;
}

bg_status bg__outline_create(const bg_graph *graph, cJSON **outline)
{
    bg__nodes nodes = {0};
    cJSON *made = cJSON_CreateObject();
    size_t next = 0;
    bg_status status;

    *outline = NULL;
    BG__TRY(bg__nodes_read(graph, &nodes));
    if (made == NULL || !cJSON_AddStringToObject(made, "name", bg__graph_name(graph)) ||
        !cJSON_AddNumberToObject(made, "breaks", bg__graph_get_facts(graph).breaks) ||
        !cJSON_AddNumberToObject(made, "capture_ms", bg__graph_get_facts(graph).capture_ms) ||
        !cJSON_AddNumberToObject(made, "instantiate_ms", bg__graph_get_facts(graph).instantiate_ms) ||
        !cJSON_AddArrayToObject(made, "segments") || !add_steps_and_calls(made, graph) ||
        !add_compilation(made, graph) || !cJSON_AddArrayToObject(made, "nodes")) {
        status = outline_out_of_memory(graph);
        goto done;
    }
    for (int i = 0; i < bg__graph_segment_count(graph); i++)
        BG__TRY(outline_segment(made, graph, &nodes, &next, i));
    *outline = made;
    made = NULL;
done:
    if (status != BG_OK)
        bg__error_add_location("the outline of %s", bg__graph_name(graph));
    cJSON_Delete(made);
    bg__nodes_free(&nodes);
    return status;
}

bg_status bg__report_add_outline(bg_report *report, const bg_graph *graph)
{
    cJSON *outline = NULL;
    bg_status status;

    BG__TRY(bg__outline_create(graph, &outline));
    BG__TRY(bg__report_set_outline(report, outline));
done:
    return status;
}
