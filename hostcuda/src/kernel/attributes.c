#include "hostcuda/src/kernel/attributes.h"

#include "hostcuda/src/kernel/grid_state.h"
#include "hostcuda/src/kernel/occupancy.h"

#include <string.h>

static bool is_attribute_value(enum cudaFuncAttribute attribute, int value)
{
    switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize: return value >= 0 && value <= HC_SHARED_BYTES_MAX;
    case cudaFuncAttributePreferredSharedMemoryCarveout: return value >= -1 && value <= 100;
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
        return value >= cudaClusterSchedulingPolicyDefault && value <= cudaClusterSchedulingPolicyLoadBalancing;
    default: return attribute == cudaFuncAttributeNonPortableClusterSizeAllowed; /* accepts any value (measured) */
    }
}

cudaError_t hc_kernel_set_attribute(struct hc_kernel *kernel, enum cudaFuncAttribute attribute, int value)
{
    if (!is_attribute_value(attribute, value))
        return cudaErrorInvalidValue;
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        kernel->shared_limit = value;
    } else if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
        kernel->carveout = value;
    } else if (attribute == cudaFuncAttributeClusterSchedulingPolicyPreference) {
        kernel->cluster_policy = value;
    } else {
        kernel->other_clusters = value;
    }
    return cudaSuccess;
}

void hc_kernel_get_attributes(const struct hc_kernel *kernel, struct cudaFuncAttributes *attributes)
{
    memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = HC_BLOCK_THREADS_MAX;
    attributes->numRegs = HC_THREAD_REGISTERS;
    attributes->maxDynamicSharedSizeBytes = kernel->shared_limit;
    attributes->ptxVersion = attributes->binaryVersion = 90;
    attributes->preferredShmemCarveout = kernel->carveout;
    attributes->clusterSchedulingPolicyPreference = kernel->cluster_policy;
    attributes->nonPortableClusterSizeAllowed = kernel->other_clusters;
}
