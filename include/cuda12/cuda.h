/* CUDA 12's header of the driver, and what it lacks of CUDA 13's, as cuda_runtime_api.h beside it. */
#pragma GCC system_header
#include_next <cuda.h>

#ifndef BREAKGRAPH_CUDA12_DRIVER_H
#define BREAKGRAPH_CUDA12_DRIVER_H

/* The functions that CUDA 13's header gives another number, as that header does. */
#define cuDeviceGetUuid              cuDeviceGetUuid_v2
#define cuEventElapsedTime           cuEventElapsedTime_v2
#define cuGraphAddDependencies       cuGraphAddDependencies_v2
#define cuGraphAddNode               cuGraphAddNode_v2
#define cuGraphGetEdges              cuGraphGetEdges_v2
#define cuGraphNodeGetDependencies   cuGraphNodeGetDependencies_v2
#define cuGraphNodeGetDependentNodes cuGraphNodeGetDependentNodes_v2
#define cuGraphRemoveDependencies    cuGraphRemoveDependencies_v2
#undef cuStreamGetCaptureInfo
#define cuStreamGetCaptureInfo __CUDA_API_PTSZ(cuStreamGetCaptureInfo_v3)
#undef cuStreamUpdateCaptureDependencies
#define cuStreamUpdateCaptureDependencies __CUDA_API_PTSZ(cuStreamUpdateCaptureDependencies_v2)

/* The error that CUDA 13.0 added. */
#define CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER ((CUresult)36)

#endif
