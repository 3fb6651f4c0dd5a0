/* The launch attributes of kernel nodes. They do not change what a kernel computes here; they are stored for queries.
 */
#ifndef HOSTCUDA_NODE_ATTRIBUTES_H
#define HOSTCUDA_NODE_ATTRIBUTES_H

#include "hostcuda/src/core/core_state.h"

enum { HC_WINDOW_BYTES_MAX = 134213632 }; /* limit of an access policy window on GPUs of compute capability 9.0 */

enum { HC_CLUSTER_BLOCKS_MAX = 8 }; /* limit for kernels without the non-portable attribute; the same on all GPUs */

struct hc_cluster {
    unsigned x, y, z;
};

struct hc_node_attributes {
    struct cudaAccessPolicyWindow window;
    int cooperative, priority;
    struct hc_cluster cluster; /* 0: none was set */
    cudaLaunchMemSyncDomain domain;
};

/* Allocates *attributes if needed. A priority that the device does not have is clamped. InvalidValue: there is no such
 * attribute or value. InvalidClusterSize: the cluster does not fit the grid. */
cudaError_t hc_node_attribute_set(struct hc_node_attributes **attributes, dim3 grid, cudaLaunchAttributeID id,
                                  const cudaLaunchAttributeValue *value);
/* attributes NULL: returns the defaults. */
cudaError_t hc_node_attribute_get(const struct hc_node_attributes *attributes, cudaLaunchAttributeID id,
                                  cudaLaunchAttributeValue *value);
/* Whether an update of an executable graph may replace the attributes `old` by `fresh`: a node's cooperative attribute
 * must not change (measured). */
bool hc_node_attributes_may_replace(const struct hc_node_attributes *old, const struct hc_node_attributes *fresh);
/* Returns false if there is no memory. */
bool hc_node_attributes_copy(const struct hc_node_attributes *from, struct hc_node_attributes **to);

#endif
