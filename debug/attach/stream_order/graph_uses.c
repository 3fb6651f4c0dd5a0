#include "graph_uses.h"

#include <stdlib.h>

#include "debug/check/node_pointers.h"
#include "signature.h"

typedef struct use_collector {
    bg__graph_uses *uses;
    const bg__allocations *addresses;
} use_collector;

static bg_status add_use(use_collector *n, const bg__node *node, uintptr_t begin, size_t bytes, bg__access_kind use)
{
    const bg__allocation *block = bg__allocations_find(n->addresses, begin);
    bg__graph_uses *uses = n->uses;
    const CUDA_KERNEL_NODE_PARAMS *k = &node->of.launch;
    bg_status status = BG_OK;
    bg__graph_use *added;

    if (bytes == 0)
        return BG_OK;
    BG__TRY(BG__ARRAY_GROW(uses->list, uses->count, uses->capacity, "uses of memory"));
    added = &uses->list[uses->count];
    *added = (bg__graph_use){.begin = begin, .end = begin + bytes, .use = use, .index = uses->count};
    added->rest = block != NULL ? block->base + block->bytes - begin : 0;
    if (node->type == cudaGraphNodeTypeKernel)
        added->threads = (uint64_t)k->gridDimX * k->gridDimY * k->gridDimZ * k->blockDimX * k->blockDimY * k->blockDimZ;
    added->site = node->call != NULL ? node->call->site : (bg_site){NULL, 0};
    added->name = bg__intern_text(node->call != NULL ? node->call->name : bg__node_kind(node));
    if (added->name == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for what a graph uses");
    uses->count++;
    BG__TRY(bg__graph_inputs_add_use(&uses->inventory, begin, begin + bytes, use, added->name, added->site));
done:
    return status;
}

static int compare_uses(const void *first, const void *second)
{
    const bg__graph_use *a = first, *b = second;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    if (a->use != b->use)
        return a->use < b->use ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Keeps one of equal uses: the first node's, with the most threads. */
static void merge_equal_uses(bg__graph_uses *uses)
{
    size_t kept = 0;
    if (uses->count > 1)
        qsort(uses->list, uses->count, sizeof *uses->list, compare_uses);
    for (size_t i = 0; i < uses->count; i++) {
        const bg__graph_use *u = &uses->list[i];
        bg__graph_use *last = kept > 0 ? &uses->list[kept - 1] : NULL;
        if (last == NULL || last->begin != u->begin || last->end != u->end || last->use != u->use)
            uses->list[kept++] = *u;
        else if (last->threads < u->threads)
            last->threads = u->threads;
    }
    uses->count = kept;
}

static bg_status add_pointer_use(void *user, const bg__node_pointer *held)
{
    use_collector *n = user;
    const bg__kernel *kernel = held->node->kernel;
    bg__access_kind use = BG__ACCESS_UNKNOWN;

    if (held->is_end || bg__allocations_find(n->addresses, held->address) == NULL)
        return BG_OK;
    if (held->alone && kernel != NULL)
        use = bg__signature_access(kernel->name, kernel->parameter_count, held->parameter);
    return add_use(n, held->node, held->address, 1, use);
}

static bg_status add_event(bg__graph_uses *uses, const bg__node *node)
{
    bg_status status;
    BG__TRY(BG__ARRAY_GROW(uses->events, uses->event_count, uses->event_capacity, "events"));
    uses->events[uses->event_count++] = (struct graph_event){node->of.event, node->type == cudaGraphNodeTypeWaitEvent};
done:
    return status;
}

/* Counts only the first row if there are gaps between rows. */
static size_t contiguous_bytes(const bg__node *node, const bg__node_range *end, bg__copy_side which)
{
    if (node->type == cudaGraphNodeTypeMemset) {
        const size_t width = node->of.fill.width * node->of.fill.elementSize;
        return node->of.fill.height > 1 && node->of.fill.pitch != width ? width : end->bytes;
    }
    const struct cudaMemcpy3DParms *copy = &node->of.copy;
    const size_t pitch = which == BG__SOURCE ? copy->srcPtr.pitch : copy->dstPtr.pitch;
    const bool solid = copy->extent.depth <= 1 && (copy->extent.height <= 1 || pitch == copy->extent.width);
    return solid ? end->bytes : copy->extent.width;
}

static bg_status add_range_uses(use_collector *n, const bg__node *node)
{
    bg_status status = BG_OK;
    bg__node_range end;

    if (bg__memcpy_node_range(node, BG__SOURCE, &end)) {
        BG__TRY(add_use(n, node, (uintptr_t)end.address, contiguous_bytes(node, &end, BG__SOURCE), BG__ACCESS_READ));
        BG__TRY(bg__host_sources_add(&n->uses->sources, node, &end));
    }
    if (bg__memcpy_node_range(node, BG__DESTINATION, &end) || bg__memset_node_range(node, &end))
        BG__TRY(
            add_use(n, node, (uintptr_t)end.address, contiguous_bytes(node, &end, BG__DESTINATION), BG__ACCESS_WRITE));
done:
    return status;
}

static bg_status add_node_uses(use_collector *n, const bg__node *node)
{
    bg_status status = BG_OK;

    switch (node->type) {
    case cudaGraphNodeTypeKernel:
        if (node->kernel != NULL && bg__signature_may_wait(node->kernel->name))
            bg__implicit_order_add(&n->uses->implicit_order, bg__implicit_order_kernel);
        BG__TRY(bg__node_visit_pointers(node, add_pointer_use, n));
        break;
    case cudaGraphNodeTypeMemcpy:
    case cudaGraphNodeTypeMemset:
        BG__TRY(bg__node_visit_pointers(node, add_pointer_use, n));
        BG__TRY(add_range_uses(n, node));
        break;
    case cudaGraphNodeTypeEventRecord:
    case cudaGraphNodeTypeWaitEvent:
        if (node->known)
            BG__TRY(add_event(n->uses, node));
        break;
    case cudaGraphNodeTypeHost: bg__implicit_order_add(&n->uses->implicit_order, bg__implicit_order_host_code); break;
    case cudaGraphNodeTypeGraph:
    case cudaGraphNodeTypeEmpty:
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree: break;
    default: bg__implicit_order_add(&n->uses->implicit_order, bg__implicit_order_memory);
    }
done:
    return status;
}

bg_status bg__graph_uses_collect(bg__graph_uses *uses, const bg_graph *graph, const bg__allocations *addresses)
{
    use_collector n = {uses, addresses};
    bg__nodes nodes = {0};
    bg_status status;

    uses->graph = bg__intern_text(bg__graph_name(graph));
    if (uses->graph == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for what a graph uses");
    BG__TRY(bg__nodes_read(graph, &nodes));
    for (size_t i = 0; i < nodes.count; i++)
        BG__TRY(add_node_uses(&n, &nodes.node[i]));
    merge_equal_uses(uses);
done:
    bg__nodes_free(&nodes);
    return status;
}

void bg__graph_uses_free(bg__graph_uses *uses)
{
    if (uses == NULL)
        return;
    bg__graph_inputs_free(uses->inventory);
    bg__host_sources_free(uses->sources);
    free(uses->events);
    free(uses->list);
    free(uses);
}
