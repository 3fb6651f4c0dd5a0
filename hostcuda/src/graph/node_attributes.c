#include "hostcuda/src/graph/node_attributes.h"

#include <stdlib.h>
#include <string.h>

static bool is_window(const struct cudaAccessPolicyWindow *window)
{
    return window->num_bytes <= HC_WINDOW_BYTES_MAX && window->hitRatio >= 0 && window->hitRatio <= 1 &&
           window->missProp != cudaAccessPropertyPersisting;
}

/* The grid must be divisible by the cluster, which has at most eight blocks. All dimensions 0 means no cluster. */
static cudaError_t check_cluster(struct hc_cluster cluster, dim3 grid)
{
    if (!cluster.x && !cluster.y && !cluster.z)
        return cudaSuccess;
    bool whole = cluster.x && cluster.y && cluster.z && grid.x % cluster.x == 0 && grid.y % cluster.y == 0 &&
                 grid.z % cluster.z == 0;
    bool small = (uint64_t)cluster.x * cluster.y <= HC_CLUSTER_BLOCKS_MAX &&
                 (uint64_t)cluster.x * cluster.y * cluster.z <= HC_CLUSTER_BLOCKS_MAX;
    return whole && small ? cudaSuccess : cudaErrorInvalidClusterSize;
}

static struct hc_cluster cluster_of(const cudaLaunchAttributeValue *value)
{
    return (struct hc_cluster){value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
}

static cudaError_t check_value(cudaLaunchAttributeID id, const cudaLaunchAttributeValue *value, dim3 grid)
{
    bool good = true;
    if (id == cudaLaunchAttributeClusterDimension)
        return check_cluster(cluster_of(value), grid);
    if (id == cudaLaunchAttributeAccessPolicyWindow)
        good = is_window(&value->accessPolicyWindow);
    if (id == cudaLaunchAttributeMemSyncDomain)
        good = value->memSyncDomain == cudaLaunchMemSyncDomainDefault ||
               value->memSyncDomain == cudaLaunchMemSyncDomainRemote;
    return good ? cudaSuccess : cudaErrorInvalidValue;
}

static bool is_node_attribute(cudaLaunchAttributeID id)
{
    return id == cudaLaunchAttributeAccessPolicyWindow || id == cudaLaunchAttributeCooperative ||
           id == cudaLaunchAttributePriority || id == cudaLaunchAttributeClusterDimension ||
           id == cudaLaunchAttributeMemSyncDomain;
}

static void store_attribute(struct hc_node_attributes *to, cudaLaunchAttributeID id,
                            const cudaLaunchAttributeValue *value)
{
    switch (id) {
    case cudaLaunchAttributeAccessPolicyWindow: to->window = value->accessPolicyWindow; break;
    case cudaLaunchAttributeCooperative: to->cooperative = value->cooperative; break;
    case cudaLaunchAttributePriority: to->priority = hc_device_priority(value->priority); break;
    case cudaLaunchAttributeClusterDimension: to->cluster = cluster_of(value); break;
    default: to->domain = value->memSyncDomain;
    }
}

cudaError_t hc_node_attribute_set(struct hc_node_attributes **attributes, dim3 grid, cudaLaunchAttributeID id,
                                  const cudaLaunchAttributeValue *value)
{
    cudaError_t error = value && is_node_attribute(id) ? check_value(id, value, grid) : cudaErrorInvalidValue;
    if (error)
        return error;
    if (!*attributes && !(*attributes = calloc(1, sizeof **attributes)))
        return cudaErrorMemoryAllocation;
    store_attribute(*attributes, id, value);
    return cudaSuccess;
}

cudaError_t hc_node_attribute_get(const struct hc_node_attributes *attributes, cudaLaunchAttributeID id,
                                  cudaLaunchAttributeValue *value)
{
    static const struct hc_node_attributes first;
    const struct hc_node_attributes *from = attributes ? attributes : &first;
    if (!value || !is_node_attribute(id))
        return cudaErrorInvalidValue;
    memset(value, 0, sizeof *value);
    switch (id) {
    case cudaLaunchAttributeAccessPolicyWindow: value->accessPolicyWindow = from->window; break;
    case cudaLaunchAttributeCooperative: value->cooperative = from->cooperative; break;
    case cudaLaunchAttributePriority: value->priority = from->priority; break;
    case cudaLaunchAttributeClusterDimension:
        value->clusterDim.x = from->cluster.x;
        value->clusterDim.y = from->cluster.y;
        value->clusterDim.z = from->cluster.z;
        break;
    default: value->memSyncDomain = from->domain;
    }
    return cudaSuccess;
}

bool hc_node_attributes_may_replace(const struct hc_node_attributes *old, const struct hc_node_attributes *fresh)
{
    return (old && old->cooperative) == (fresh && fresh->cooperative);
}

bool hc_node_attributes_copy(const struct hc_node_attributes *from, struct hc_node_attributes **to)
{
    free(*to);
    *to = from ? malloc(sizeof **to) : NULL;
    if (*to)
        **to = *from;
    return !from || *to;
}
