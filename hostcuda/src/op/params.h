/* Makes ops from the parameters of API calls, and checks these parameters. */
#ifndef HOSTCUDA_PARAMS_H
#define HOSTCUDA_PARAMS_H

#include "hostcuda/src/op/op_kinds.h"

cudaError_t hc_op_from_copy_1d(void *to, const void *from, size_t count, enum cudaMemcpyKind kind, struct hc_op **op);
cudaError_t hc_op_from_copy_3d(const struct cudaMemcpy3DParms *params, struct hc_op **op);
cudaError_t hc_op_from_fill(const struct cudaMemsetParams *params, struct hc_op **op);
cudaError_t hc_op_from_host(const struct cudaHostNodeParams *params, struct hc_op **op);

/* For parameters that come as one buffer, returns the error that a launch gives, or Success. For other parameters,
 * returns Success. A node turns any error into InvalidValue (measured). */
cudaError_t hc_check_packed_params(const struct cudaKernelNodeParams *params);
cudaError_t hc_op_from_kernel_params(const struct cudaKernelNodeParams *params, struct hc_op **op);

#endif
