#include "hostcuda/graph/node_attributes.h"

#include <stdlib.h>
#include <string.h>

static bool is_window(const struct cudaAccessPolicyWindow *window)
{
    return window->num_bytes <= HC_WINDOW_BYTES_MAX && window->hitRatio >= 0 && window->hitRatio <= 1 &&
           window->missProp != cudaAccessPropertyPersisting;
}

static cudaError_t check_attribute(cudaLaunchAttributeID id, const cudaLaunchAttributeValue *value)
{
    switch (id) {
    case cudaLaunchAttributeAccessPolicyWindow:
        return !value || is_window(&value->accessPolicyWindow) ? cudaSuccess : cudaErrorInvalidValue;
    case cudaLaunchAttributeCooperative:
    case cudaLaunchAttributePriority: return cudaSuccess;
    default: return cudaErrorInvalidValue;
    }
}

cudaError_t hc_node_attribute_set(struct hc_node_attributes **attributes, cudaLaunchAttributeID id,
                                  const cudaLaunchAttributeValue *value)
{
    cudaError_t error = value ? check_attribute(id, value) : cudaErrorInvalidValue;
    if (error)
        return error;
    if (!*attributes && !(*attributes = calloc(1, sizeof **attributes)))
        return cudaErrorMemoryAllocation;
    if (id == cudaLaunchAttributeAccessPolicyWindow)
        (*attributes)->window = value->accessPolicyWindow;
    else if (id == cudaLaunchAttributeCooperative)
        (*attributes)->cooperative = value->cooperative;
    else
        (*attributes)->priority = value->priority;
    return cudaSuccess;
}

cudaError_t hc_node_attribute_get(const struct hc_node_attributes *attributes, cudaLaunchAttributeID id,
                                  cudaLaunchAttributeValue *value)
{
    static const struct hc_node_attributes first;
    const struct hc_node_attributes *from = attributes ? attributes : &first;
    cudaError_t error = value ? check_attribute(id, NULL) : cudaErrorInvalidValue;
    if (error)
        return error;
    memset(value, 0, sizeof *value);
    if (id == cudaLaunchAttributeAccessPolicyWindow)
        value->accessPolicyWindow = from->window;
    else if (id == cudaLaunchAttributeCooperative)
        value->cooperative = from->cooperative;
    else
        value->priority = from->priority;
    return cudaSuccess;
}

bool hc_node_attributes_copy(const struct hc_node_attributes *from, struct hc_node_attributes **to)
{
    free(*to);
    *to = from ? malloc(sizeof **to) : NULL;
    if (*to)
        **to = *from;
    return !from || *to;
}
