/* The one place where a kernel's source depends on the device. Include it first in every .cu file.
 *
 *   BG_DYNAMIC_SHARED(float, rows);      inside a kernel: `float *rows`, the launch's dynamic shared memory
 *
 * Everything else is plain CUDA C++: nvcc compiles it for a GPU, and hostcuda-cc for the host device. What differs
 * there: blocks run one after the other, so that a block must not wait for another one. */
#ifndef BG_KERNELS_DEVICE_H
#define BG_KERNELS_DEVICE_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

/* One symbol for all kernels: two extern arrays of one name may not differ in type. */
extern __shared__ unsigned char bg_dynamic_shared_bytes[] __attribute__((aligned(16)));
#define BG_DYNAMIC_SHARED(type, name) type *name = reinterpret_cast<type *>(bg_dynamic_shared_bytes)

#endif
