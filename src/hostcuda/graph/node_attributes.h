/* The launch attributes of kernel nodes. They change nothing of what a kernel computes here: they are kept for who
 * asks.
 */
#ifndef HOSTCUDA_NODE_ATTRIBUTES_H
#define HOSTCUDA_NODE_ATTRIBUTES_H

#include "hostcuda/core/state.h"

enum { HC_WINDOW_BYTES_MAX = 134213632 }; /* of an access policy window, as on GPUs of compute capability 9.0 */

struct hc_node_attributes {
    struct cudaAccessPolicyWindow window;
    int cooperative, priority;
};

/* *attributes is made where it is needed. InvalidValue: no such attribute, or no such value. */
cudaError_t hc_node_attribute_set(struct hc_node_attributes **attributes, cudaLaunchAttributeID id,
                                  const cudaLaunchAttributeValue *value);
/* Of NULL, what they are at first. */
cudaError_t hc_node_attribute_get(const struct hc_node_attributes *attributes, cudaLaunchAttributeID id,
                                  cudaLaunchAttributeValue *value);
/* False: no memory. */
bool hc_node_attributes_copy(const struct hc_node_attributes *from, struct hc_node_attributes **to);

#endif
