/* CUDA 12's header of the runtime, and what it lacks of CUDA 13's: a source that calls the functions as CUDA 13
 * declares them compiles with both. The Makefile puts this folder before the toolkit's; CUDA 13's headers need none of
 * it. */
#pragma GCC system_header /* #include_next is no C11 */
#include_next <cuda_runtime_api.h>

#ifndef BREAKGRAPH_CUDA12_RUNTIME_H
#define BREAKGRAPH_CUDA12_RUNTIME_H

/* Functions that CUDA 12 has in two forms, and CUDA 13 in the newer one alone, under the name without a number. */
#define cudaEventElapsedTime           cudaEventElapsedTime_v2
#define cudaGraphAddDependencies       cudaGraphAddDependencies_v2
#define cudaGraphAddNode               cudaGraphAddNode_v2
#define cudaGraphGetEdges              cudaGraphGetEdges_v2
#define cudaGraphNodeGetDependencies   cudaGraphNodeGetDependencies_v2
#define cudaGraphNodeGetDependentNodes cudaGraphNodeGetDependentNodes_v2
#define cudaGraphRemoveDependencies    cudaGraphRemoveDependencies_v2
#define cudaMemAdvise                  cudaMemAdvise_v2
#define cudaMemPrefetchAsync           cudaMemPrefetchAsync_v2
#undef cudaStreamGetCaptureInfo
#define cudaStreamGetCaptureInfo __CUDART_API_PTSZ(cudaStreamGetCaptureInfo_v3)
#undef cudaStreamUpdateCaptureDependencies
#define cudaStreamUpdateCaptureDependencies __CUDART_API_PTSZ(cudaStreamUpdateCaptureDependencies_v2)

/* Constants that CUDA 13.0 added. */
#define cudaDevP2PAttrOnlyPartialNativeAtomicSupported ((enum cudaDeviceP2PAttr)5)
#define cudaLaunchAttributeNvlinkUtilCentricScheduling ((enum cudaLaunchAttributeID)16)

#endif
