/* Translates parameters between the runtime's and the driver's structs. Functions that return bool return false, with
 * an undefined result, if the other side has no equivalent. They do not need the lock. */
#ifndef HOSTCUDA_TRANSLATE_H
#define HOSTCUDA_TRANSLATE_H

#include "hostcuda/src/call/library.h"

/* ---- from the runtime to the driver ------------------------------------------------------------------------------ */

/* Returns NULL if it is not a kernel. */
CUfunction hc_driver_function(const void *function);
/* Return the context of a device, and of the calling thread's device. */
CUcontext hc_driver_context_of(int device);
CUcontext hc_driver_context(void);
bool hc_driver_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                    enum cudaMemcpyKind kind, CUDA_MEMCPY2D *copy);
bool hc_driver_copy(const struct cudaMemcpy3DParms *params, CUDA_MEMCPY3D *copy);
bool hc_driver_copy_1d(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *copy);
bool hc_driver_fill(const struct cudaMemsetParams *params, CUDA_MEMSET_NODE_PARAMS *fill);
bool hc_driver_kernel(const struct cudaKernelNodeParams *params, CUDA_KERNEL_NODE_PARAMS *kernel);
bool hc_driver_config(const cudaLaunchConfig_t *config, CUlaunchConfig *launch);
bool hc_driver_node(const struct cudaGraphNodeParams *params, CUgraphNodeParams *node);

/* ---- from the driver to the runtime ------------------------------------------------------------------------------ */

/* Returns -1 if there is no such device. */
int hc_runtime_device(CUcontext context);
bool hc_runtime_kind(CUmemorytype from, CUmemorytype to, enum cudaMemcpyKind *kind);
bool hc_runtime_copy(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *params);
void hc_runtime_fill(const CUDA_MEMSET_NODE_PARAMS *fill, struct cudaMemsetParams *params);
/* Sets the function to NULL if it is not a kernel. */
void hc_runtime_kernel(const CUDA_KERNEL_NODE_PARAMS *kernel, struct cudaKernelNodeParams *params);
/* Copies the outputs of adding the node. */
void hc_runtime_node_added(const CUgraphNodeParams *node, struct cudaGraphNodeParams *params);
bool hc_runtime_node(const CUgraphNodeParams *node, struct cudaGraphNodeParams *params);

#endif
