#include "step_parts.h"

#include <stdlib.h>
#include <string.h>

#include "debug/memory/allocate.h"
#include "debug/memory/tensors.h"
#include "refused_nodes.h"

bool bg__step_part_is_whole(const bg__step_part *part)
{
    return part->list.whole != NULL || part->refused;
}

bg_status bg__step_node_is_enabled(const bg_graph *graph, int segment, const bg__node *node, bool *enabled)
{
    bool known = node->type == cudaGraphNodeTypeKernel || node->type == cudaGraphNodeTypeMemcpy ||
                 node->type == cudaGraphNodeTypeMemset;
    unsigned on = 1;
    bg_status status = BG_OK;

    if (known && bg__graph_get_facts(graph).foreign) {
        cudaError_t error = cudaGraphNodeGetEnabled(bg__graph_segment(graph, segment)->exec, node->handle, &on);
        if (error != cudaSuccess && error != cudaErrorInvalidValue && bg__step_retries())
            error = cudaGraphNodeGetEnabled(bg__graph_segment(graph, segment)->exec, node->handle, &on);
        if (error != cudaErrorInvalidValue)
            BG__TRY_CUDA(error);
        bg__clear_cuda_error(error);
    }
    *enabled = on != 0;
done:
    return status;
}

/* Runs before any node: if the graph is then launched as a whole, its memory must be unchanged. */
static bg_status find_refused_nodes(bg__step_parts *parts, int segment, bg_report *report)
{
    bg__step_part *p = &parts->list[segment];
    bg_status status = BG_OK;
    for (size_t i = 0; i < p->list.count; i++) {
        const bg__node *node = p->list.nodes[i].node;
        bool enabled, refused = false;
        BG__TRY(bg__step_node_is_enabled(parts->graph, segment, node, &enabled));
        if (enabled)
            BG__TRY(bg__step_report_refused(node, &parts->nodes, &parts->last, report, &refused));
        p->refused |= refused;
    }
done:
    return status;
}

static bg_status read_segment(bg__step_parts *parts, int segment, int order, bg_report *report)
{
    bg__step_part *p = &parts->list[segment];
    bg_status status;

    p->calls = &parts->calls[segment];
    BG__TRY(bg__step_list_create(&p->list, bg__graph_segment(parts->graph, segment)->graph, &parts->nodes, order));
    if (p->list.whole == NULL)
        BG__TRY(find_refused_nodes(parts, segment, report));
    for (size_t i = 0; i < p->list.count; i++)
        for (bg__step_call *c = bg__step_calls_find_by_node(p->calls, p->list.nodes[i].outer); c != NULL; c = c->outer)
            c->left++;
done:
    return status;
}

bg_status bg__step_parts_read(bg__step_parts *parts, bg_graph *graph, int order, bg_report *report)
{
    bg_status status;

    *parts = (bg__step_parts){.graph = graph};
    BG__TRY(BG__ALLOCATE(parts->list, bg__graph_segment_count(graph), "segments"));
    BG__TRY(bg__step_calls_create(&parts->calls, graph));
    BG__TRY(bg__nodes_read(graph, &parts->nodes));
    for (int i = 0; i < bg__graph_segment_count(graph); i++)
        BG__TRY(read_segment(parts, i, order, report));
    for (int i = 0; i < bg__graph_step_count(graph); i++)
        parts->total += bg__step_parts_count(parts, bg__graph_step(graph, i));
done:
    return status;
}

void bg__step_parts_free(bg__step_parts *parts)
{
    for (int i = 0; parts->list != NULL && i < bg__graph_segment_count(parts->graph); i++)
        bg__step_list_free(&parts->list[i].list);
    free(parts->list);
    bg__step_release_last_exec(&parts->last);
    bg__step_calls_free(parts->calls, parts->graph);
    bg__nodes_free(&parts->nodes);
    *parts = (bg__step_parts){.graph = NULL};
}

/* ---- indices ---- */

int bg__step_parts_count(const bg__step_parts *parts, bg__step_view step)
{
    if (step.kind == BG__STEP_LAUNCH && !bg__step_part_is_whole(&parts->list[step.place]))
        return (int)parts->list[step.place].list.count;
    return step.kind != BG__STEP_SYNC;
}

static bool is_node_of_call(const bg__step_part *p, const bg__step_node *node, const char *name)
{
    for (const bg__step_call *c = bg__step_calls_find_by_node(p->calls, node->outer); c != NULL; c = c->outer)
        if (bg__step_call_is_named(c->call, name))
            return true;
    return bg__step_call_is_named(node->node->call, name);
}

/* Returns the index of the call in the step, from first on; -1: none. */
static int find_call_in_step(const bg__step_parts *parts, bg__step_view step, const char *name, int first)
{
    const bg__step_part *p = step.kind == BG__STEP_LAUNCH ? &parts->list[step.place] : NULL;

    if (p == NULL)
        return bg__step_call_is_named(step.call, name) && first <= 0 ? 0 : -1;
    for (size_t i = first > 0 ? (size_t)first : 0; !bg__step_part_is_whole(p) && i < p->list.count; i++)
        if (is_node_of_call(p, &p->list.nodes[i], name))
            return (int)i;
    for (size_t i = 0; bg__step_part_is_whole(p) && first <= 0 && i < p->calls->count; i++)
        if (bg__step_call_is_named(p->calls->calls[i].call, name))
            return 0;
    return -1;
}

int bg__step_parts_find(const bg__step_parts *parts, const char *text, int first)
{
    int before = 0;

    if (text[0] != '\0' && strspn(text, "0123456789") == strlen(text)) {
        long index = strtol(text, NULL, 10);
        return index >= first && index < parts->total ? (int)index : -1;
    }
    for (int i = 0; i < bg__graph_step_count(parts->graph); i++) {
        bg__step_view step = bg__graph_step(parts->graph, i);
        int at = find_call_in_step(parts, step, text, first - before);
        if (at >= 0)
            return before + at;
        before += bg__step_parts_count(parts, step);
    }
    return -1;
}

/* FNV-1a, including the terminating zero. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    while (*text++ != '\0');
    return hash;
}

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    for (int i = 0; i < 64; i += 8)
        hash = (hash ^ (number >> i & 0xff)) * 0x100000001b3u;
    return hash;
}

static uint64_t hash_tensors(uint64_t hash, const bg__call *call, const void *args)
{
    bg__field_tensor t = {0};
    while (args != NULL && bg__field_tensor_next(call->op, args, &t)) {
        hash = hash_number(hash_number(hash, t.tensor->dtype), (uint64_t)t.tensor->rank);
        for (int i = 0; i < t.tensor->rank; i++)
            hash = hash_number(hash, (uint64_t)t.tensor->dim[i]);
    }
    return hash;
}

static uint64_t hash_call(uint64_t hash, const bg__call *call)
{
    return hash_text(hash, call != NULL && call->name != NULL ? call->name : "");
}

/* Hashes sizes, but no addresses, which differ between processes, and no parameters of write-backs, which change. */
static uint64_t hash_sizes(uint64_t hash, const bg__node *node)
{
    const CUDA_KERNEL_NODE_PARAMS *launch = &node->of.launch;
    const struct cudaExtent *extent = &node->of.copy.extent;

    if (!node->known || node->writeback)
        return hash;
    if (node->type == cudaGraphNodeTypeKernel) {
        hash = hash_number(hash_number(hash_number(hash, launch->gridDimX), launch->gridDimY), launch->gridDimZ);
        hash = hash_number(hash_number(hash_number(hash, launch->blockDimX), launch->blockDimY), launch->blockDimZ);
    } else if (node->type == cudaGraphNodeTypeMemcpy) {
        hash = hash_number(hash_number(hash_number(hash, extent->width), extent->height), extent->depth);
    } else if (node->type == cudaGraphNodeTypeMemset) {
        hash = hash_number(hash_number(hash, node->of.fill.elementSize * node->of.fill.width), node->of.fill.height);
    }
    return hash;
}

static uint64_t hash_segment(uint64_t hash, const bg__step_part *part)
{
    for (size_t i = 0; i < part->list.count; i++) {
        const bg__node *node = part->list.nodes[i].node;
        hash = hash_sizes(hash_call(hash_text(hash, bg__node_kind(node)), node->call), node);
        hash = hash_text(hash, node->kernel != NULL && node->kernel->name != NULL ? node->kernel->name : "");
    }
    for (size_t i = 0; i < part->calls->count; i++)
        hash = hash_tensors(hash, part->calls->calls[i].call, part->calls->calls[i].call->kept);
    return hash;
}

uint64_t bg__step_parts_hash(const bg__step_parts *parts)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (int i = 0; i < bg__graph_step_count(parts->graph); i++) {
        bg__step_view step = bg__graph_step(parts->graph, i);
        hash = hash_call(hash_text(hash, step.kind == BG__STEP_LAUNCH ? "segment" : "step"), step.call);
        if (step.kind == BG__STEP_LAUNCH)
            hash = hash_segment(hash, &parts->list[step.place]);
        else if (step.kind == BG__STEP_CALL)
            hash = hash_tensors(hash, step.call, step.args);
    }
    return hash;
}
