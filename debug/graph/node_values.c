#include "node_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/memory/allocate.h"

/* ---- attributes of a launch ---- */

/* *known stays true only if CUDA knows the attribute. */
static bg_status read_attribute(cudaGraphNode_t node, cudaLaunchAttributeID id, cudaLaunchAttributeValue *value,
                                bool *known)
{
    cudaError_t error = cudaGraphKernelNodeGetAttribute(node, id, value);

    if (error != cudaErrorInvalidValue && error != cudaErrorNotSupported)
        return error == cudaSuccess ? BG_OK : bg__fail_cuda(error, "cudaGraphKernelNodeGetAttribute");
    bg__clear_cuda_error(error);
    *known = false;
    return BG_OK;
}

/* CUDA reports 0 where the launch has no clusters. */
static unsigned cluster_size(unsigned blocks)
{
    return blocks > 0 ? blocks : 1;
}

bg_status bg__launch_attributes_read(cudaGraphNode_t node, bg__launch_attributes *attributes, bool *known)
{
    cudaLaunchAttributeValue cluster = {0}, together = {0}, priority = {0}, domain = {0};
    bg_status status;

    *known = true;
    BG__TRY(read_attribute(node, cudaLaunchAttributeClusterDimension, &cluster, known));
    BG__TRY(read_attribute(node, cudaLaunchAttributeCooperative, &together, known));
    BG__TRY(read_attribute(node, cudaLaunchAttributePriority, &priority, known));
    BG__TRY(read_attribute(node, cudaLaunchAttributeMemSyncDomain, &domain, known));
    *attributes =
        (bg__launch_attributes){.cluster = {cluster_size(cluster.clusterDim.x), cluster_size(cluster.clusterDim.y),
                                            cluster_size(cluster.clusterDim.z)},
                                .cooperative = together.cooperative != 0,
                                .priority = priority.priority,
                                .domain = (unsigned)domain.memSyncDomain};
done:
    return status;
}

/* ---- values ---- */

static void add_value(bg__node_values *v, const char *name, int kind, const void *value, size_t bytes)
{
    v->list[v->count++] = (bg__node_value){.name = name, .value = value, .bytes = bytes, .kind = kind};
}

/* there: the node has the value. */
static void add_word(bg__node_values *v, const char *name, int kind, bool there, uint64_t word)
{
    v->words[v->count] = word;
    add_value(v, name, kind, &v->words[v->count], there ? sizeof word : 0);
}

static void add_number(bg__node_values *v, const char *name, uint64_t number)
{
    add_word(v, name, BG__VALUE_NUMBER, true, number);
}

/* Stores only four bytes: a graph has thousands of kernels, and check --attach --what=recapture writes all values to a
 * file. */
static void add_short(bg__node_values *v, const char *name, int kind, bool there, unsigned number)
{
    memcpy(&v->words[v->count], &number, sizeof number);
    add_value(v, name, kind, &v->words[v->count], there ? sizeof number : 0);
}

static bg_status add_launch_values(bg__node_values *v, const CUDA_KERNEL_NODE_PARAMS *launch)
{
    static const char *const names[] = {
        "gridDim.x", "gridDim.y", "gridDim.z", "blockDim.x", "blockDim.y", "blockDim.z", "dynamic shared memory"};
    static const char *const clusters[] = {"clusterDim.x", "clusterDim.y", "clusterDim.z"};
    const unsigned numbers[] = {launch->gridDimX,  launch->gridDimY,  launch->gridDimZ,      launch->blockDimX,
                                launch->blockDimY, launch->blockDimZ, launch->sharedMemBytes};
    bg__launch_attributes a = {.cooperative = 0};
    bool known;
    bg_status status;

    BG__TRY(bg__launch_attributes_read(v->node->handle, &a, &known));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add_short(v, names[i], BG__VALUE_NUMBER, true, numbers[i]);
    for (size_t i = 0; i < sizeof clusters / sizeof *clusters; i++)
        add_short(v, clusters[i], BG__VALUE_NUMBER, known, a.cluster[i]);
    add_short(v, "cooperative launch", BG__VALUE_NUMBER, known, a.cooperative);
    add_short(v, "the node's priority", BG__VALUE_SCHEDULING, known, (unsigned)a.priority);
    add_short(v, "the node's memory synchronization domain", BG__VALUE_SCHEDULING, known, a.domain);
done:
    return status;
}

/* If a copy has one row, its pitch means nothing and CUDA may choose any pitch. The same holds for the height of a
 * slice if the copy has one slice. */
static void add_copy_values(bg__node_values *v, const struct cudaMemcpy3DParms *copy)
{
    const bool slices = copy->extent.depth > 1, rows = slices || copy->extent.height > 1;
    bg__node_range source = {0}, destination = {0};
    const bool from = bg__memcpy_node_range(v->node, BG__SOURCE, &source),
               to = bg__memcpy_node_range(v->node, BG__DESTINATION, &destination);

    add_word(v, "the node's source", BG__VALUE_ADDRESS, from, (uintptr_t)source.address);
    add_number(v, "the length of a row", copy->extent.width);
    add_word(v, "the node's destination", BG__VALUE_ADDRESS, to, (uintptr_t)destination.address);
    add_number(v, "the number of rows", copy->extent.height);
    add_number(v, "the number of slices", copy->extent.depth);
    add_number(v, "the source's pitch", rows && from ? copy->srcPtr.pitch : 0);
    add_number(v, "the destination's pitch", rows && to ? copy->dstPtr.pitch : 0);
    add_number(v, "the rows of a slice of the source", slices && from ? copy->srcPtr.ysize : 0);
    add_number(v, "the rows of a slice of the destination", slices && to ? copy->dstPtr.ysize : 0);
    add_value(v, "the position in the source", BG__VALUE_NUMBER, &copy->srcPos, from ? 0 : sizeof copy->srcPos);
    add_value(v, "the position in the destination", BG__VALUE_NUMBER, &copy->dstPos, to ? 0 : sizeof copy->dstPos);
}

static void add_memset_values(bg__node_values *v, const struct cudaMemsetParams *fill)
{
    bg__node_range destination = {0};
    const bool to = bg__memset_node_range(v->node, &destination);

    add_word(v, "the node's destination", BG__VALUE_ADDRESS, to, (uintptr_t)destination.address);
    add_number(v, "the length of a row", fill->width * fill->elementSize);
    add_value(v, "the node's value", BG__VALUE_NUMBER, &fill->value, sizeof fill->value);
    add_number(v, "the number of rows", fill->height);
    add_number(v, "the node's pitch", fill->height > 1 ? fill->pitch : 0);
    add_number(v, "the size of an element", fill->elementSize);
}

bg_status bg__node_values_read(const bg__node *node, bg__node_values *values)
{
    values->node = node;
    values->count = 0;
    if (!node->known)
        return BG_OK;
    switch (node->type) {
    case cudaGraphNodeTypeKernel: return add_launch_values(values, &node->of.launch);
    case cudaGraphNodeTypeMemcpy: add_copy_values(values, &node->of.copy); break;
    case cudaGraphNodeTypeMemset: add_memset_values(values, &node->of.fill); break;
    case cudaGraphNodeTypeMemAlloc: add_number(values, "the node's size", node->of.memory.bytes); break;
    case cudaGraphNodeTypeEventRecord:
    case cudaGraphNodeTypeWaitEvent:
        add_value(values, "the node's event", BG__VALUE_EVENT, &node->of.event, sizeof node->of.event);
        break;
    case cudaGraphNodeTypeHost:
        add_value(values, "the function's argument", BG__VALUE_ADDRESS, &node->of.host.userData,
                  sizeof node->of.host.userData);
        break;
    default: break;
    }
    return BG_OK;
}

bool bg__node_values_get(const bg__node_values *values, int index, bg__node_value *value)
{
    bg__parameter parameter;

    if (index < values->count) {
        *value = values->list[index];
        return true;
    }
    if (!bg__node_parameter(values->node, index - values->count, &parameter))
        return false;
    *value = (bg__node_value){.value = parameter.value,
                              .bytes = parameter.bytes,
                              .kind = BG__VALUE_PARAMETER,
                              .index = parameter.index,
                              .offset = parameter.offset};
    return true;
}

bool bg__node_is_collective(const bg__node *node)
{
    const char *symbol = node->kernel != NULL ? node->kernel->symbol : NULL;
    return symbol != NULL && (strstr(symbol, "ncclDevKernel") != NULL || strcmp(symbol, "hostcuda_nccl") == 0);
}

/* ---- edges ---- */

static void hash_edge(const bg__nodes *nodes, const bg__edges *edges, size_t i, bg__edge_hashes *hashes)
{
    const bg__node *from = bg__nodes_find(nodes, edges->from[i]), *to = bg__nodes_find(nodes, edges->to[i]);
    const cudaGraphEdgeData *data = &edges->data[i];
    char edge[80];
    int length;

    if (from == NULL || to == NULL)
        return;
    length = snprintf(edge, sizeof edge, "%td %td", from - nodes->node, to - nodes->node);
    hashes->ends += bg__text_hash(edge);
    snprintf(edge + length, sizeof edge - (size_t)length, " %d %d %d", data->type, data->from_port, data->to_port);
    hashes->kinds += bg__text_hash(edge);
}

/* parent: the node that contains this child graph; -1: it is the segment's graph. */
static bg_status hash_edges(const bg__nodes *nodes, cudaGraph_t graph, int segment, long parent,
                            bg__edge_hashes *hashes)
{
    cudaGraphNode_t *list = NULL;
    bg__edges edges = {.count = 0};
    size_t count = 0;
    bg_status status;

    BG__TRY(BG__ALLOCATE(list, nodes->count, "nodes"));
    for (size_t i = (size_t)(parent + 1); i < nodes->count && nodes->node[i].parent >= parent; i++)
        if (nodes->node[i].segment == segment && nodes->node[i].parent == parent)
            list[count++] = nodes->node[i].handle;
    BG__TRY(bg__edges_list(&edges, graph, list, count));
    for (size_t i = 0; i < edges.count; i++)
        hash_edge(nodes, &edges, i, hashes);
done:
    bg__edges_free(&edges);
    free(list);
    return status;
}

bg_status bg__edge_hashes_add(bg__edge_hashes *hashes, const bg__nodes *nodes, cudaGraph_t graph, int segment)
{
    bg_status status;

    BG__TRY(hash_edges(nodes, graph, segment, -1, hashes));
    for (size_t i = 0; i < nodes->count; i++) {
        const bg__node *n = &nodes->node[i];
        if (n->segment == segment && n->type == cudaGraphNodeTypeGraph && n->known)
            BG__TRY(hash_edges(nodes, n->of.child, segment, (long)i, hashes));
    }
done:
    return status;
}
