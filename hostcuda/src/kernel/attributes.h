/* The attributes of kernels. They change nothing of what a kernel computes: they are kept for who asks, but for the
 * limit of its dynamic shared memory. */
#ifndef HOSTCUDA_ATTRIBUTES_H
#define HOSTCUDA_ATTRIBUTES_H

#include "hostcuda/src/kernel/kernel_table.h"

/* InvalidValue: no such attribute, or none that can be set, or no such value. */
cudaError_t hc_kernel_set(struct hc_kernel *kernel, enum cudaFuncAttribute attribute, int value);
/* As the driver tells them. */
void hc_kernel_get(const struct hc_kernel *kernel, struct cudaFuncAttributes *attributes);

#endif
