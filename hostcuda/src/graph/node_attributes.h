/* The launch attributes of kernel nodes. They change nothing of what a kernel computes here: they are kept for who
 * asks.
 */
#ifndef HOSTCUDA_NODE_ATTRIBUTES_H
#define HOSTCUDA_NODE_ATTRIBUTES_H

#include "hostcuda/src/core/core_state.h"

enum { HC_WINDOW_BYTES_MAX = 134213632 }; /* of an access policy window, as on GPUs of compute capability 9.0 */

enum { HC_CLUSTER_BLOCKS_MAX = 8 }; /* where a kernel asks for no more: the same on all of them */

struct hc_cluster {
    unsigned x, y, z;
};

struct hc_node_attributes {
    struct cudaAccessPolicyWindow window;
    int cooperative, priority;
    struct hc_cluster cluster; /* 0: none was set */
    cudaLaunchMemSyncDomain domain;
};

/* *attributes is made where it is needed; a priority that the device does not have becomes the nearest. InvalidValue:
 * no such attribute, or no such value; InvalidClusterSize: not for this grid. */
cudaError_t hc_node_attribute_set(struct hc_node_attributes **attributes, dim3 grid, cudaLaunchAttributeID id,
                                  const cudaLaunchAttributeValue *value);
/* Of NULL, what they are at first. */
cudaError_t hc_node_attribute_get(const struct hc_node_attributes *attributes, cudaLaunchAttributeID id,
                                  cudaLaunchAttributeValue *value);
/* Whether an update of an executable graph may bring them: a node stays cooperative, or not (measured). */
bool hc_node_attributes_may_follow(const struct hc_node_attributes *old, const struct hc_node_attributes *fresh);
/* False: no memory. */
bool hc_node_attributes_copy(const struct hc_node_attributes *from, struct hc_node_attributes **to);

#endif
