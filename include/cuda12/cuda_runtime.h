/* It includes the toolkit's cuda_runtime_api.h, not the one beside this file. */
#pragma GCC system_header
#include_next <cuda_runtime.h>
#include <cuda_runtime_api.h>
