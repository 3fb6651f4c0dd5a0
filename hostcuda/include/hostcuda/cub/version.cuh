/* The version of cub whose interface these headers have: the version of the toolkit that they are used with. */
#ifndef HOSTCUDA_CUB_VERSION_CUH
#define HOSTCUDA_CUB_VERSION_CUH

#include <cuda_runtime_api.h>

#if CUDART_VERSION >= 13000
#define CUB_VERSION 300000
#elif CUDART_VERSION >= 12090
#define CUB_VERSION 200800
#else
#define CUB_VERSION 200700
#endif
#define CUB_MAJOR_VERSION    (CUB_VERSION / 100000)
#define CUB_MINOR_VERSION    (CUB_VERSION / 100 % 1000)
#define CUB_SUBMINOR_VERSION (CUB_VERSION % 100)

#endif
