/* Translates parameters between the runtime's and the driver's structs. Functions that return bool return false, with
 * an undefined result, if the other side has no equivalent. They do not need the lock. */
#ifndef HOSTCUDA_DRIVER_TRANSLATION_H
#define HOSTCUDA_DRIVER_TRANSLATION_H

#include "hostcuda/src/call/driver_library.h"

/* ---- from the runtime to the driver ------------------------------------------------------------------------------ */

/* Returns NULL if it is not a kernel. */
CUfunction hc_function_to_driver(const void *function);
/* Return the context of a device, and of the calling thread's device. */
CUcontext hc_context_of_device(int device);
CUcontext hc_context_of_thread(void);
bool hc_copy_2d_to_driver(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                          enum cudaMemcpyKind kind, CUDA_MEMCPY2D *copy);
bool hc_copy_3d_to_driver(const struct cudaMemcpy3DParms *params, CUDA_MEMCPY3D *copy);
bool hc_copy_1d_to_driver(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *copy);
bool hc_fill_to_driver(const struct cudaMemsetParams *params, CUDA_MEMSET_NODE_PARAMS *fill);
bool hc_kernel_params_to_driver(const struct cudaKernelNodeParams *params, CUDA_KERNEL_NODE_PARAMS *kernel);
bool hc_launch_config_to_driver(const cudaLaunchConfig_t *config, CUlaunchConfig *launch);
bool hc_node_params_to_driver(const struct cudaGraphNodeParams *params, CUgraphNodeParams *node);

/* ---- from the driver to the runtime ------------------------------------------------------------------------------ */

/* Returns -1 if there is no such device. */
int hc_device_of_context(CUcontext context);
bool hc_copy_kind_to_runtime(CUmemorytype from, CUmemorytype to, enum cudaMemcpyKind *kind);
bool hc_copy_3d_to_runtime(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *params);
void hc_fill_to_runtime(const CUDA_MEMSET_NODE_PARAMS *fill, struct cudaMemsetParams *params);
/* Sets the function to NULL if it is not a kernel. */
void hc_kernel_params_to_runtime(const CUDA_KERNEL_NODE_PARAMS *kernel, struct cudaKernelNodeParams *params);
/* Copies the outputs of adding the node. */
void hc_node_outputs_to_runtime(const CUgraphNodeParams *node, struct cudaGraphNodeParams *params);
bool hc_node_params_to_runtime(const CUgraphNodeParams *node, struct cudaGraphNodeParams *params);

#endif
