/* The attributes of kernels. Apart from the limit of dynamic shared memory, they do not change what a kernel computes
 * and are only stored for queries. */
#ifndef HOSTCUDA_ATTRIBUTES_H
#define HOSTCUDA_ATTRIBUTES_H

#include "hostcuda/src/kernel/kernel_table.h"

/* InvalidValue: there is no such attribute or value, or the attribute cannot be set. */
cudaError_t hc_kernel_set_attribute(struct hc_kernel *kernel, enum cudaFuncAttribute attribute, int value);
/* Returns the attributes as the driver does. */
void hc_kernel_get_attributes(const struct hc_kernel *kernel, struct cudaFuncAttributes *attributes);

#endif
