#include "kernels/device.h"
#include "tests/support/kernels/launcher.h"

#include "atomic_kernels.h"

namespace
{
#define ATOMICS(scope)                                                                                                 \
    __global__ void atomics##scope(unsigned *words, unsigned long long *sum, float *fraction)                          \
    {                                                                                                                  \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                                            \
        atomicAdd##scope(&words[AT_ADD], 3u);                                                                          \
        atomicSub##scope(&words[AT_SUB], 2u);                                                                          \
        atomicMax##scope(&words[AT_MAX], i);                                                                           \
        atomicMin##scope(reinterpret_cast<int *>(&words[AT_MIN]), static_cast<int>(i) - 100);                          \
        atomicExch##scope(&words[AT_EXCH], 9u);                                                                        \
        atomicAnd##scope(&words[AT_AND], ~(1u << i % 8));                                                              \
        atomicOr##scope(&words[AT_OR], 1u << i % 32);                                                                  \
        atomicXor##scope(&words[AT_XOR], 1u << i % 4);                                                                 \
        atomicInc##scope(&words[AT_INC], 6u);                                                                          \
        atomicDec##scope(&words[AT_DEC], 6u);                                                                          \
        atomicCAS##scope(&words[AT_CAS], 0u, i + 1);                                                                   \
        atomicAdd##scope(sum, 1ull << 33);                                                                             \
        atomicAdd##scope(fraction, 0.5f);                                                                              \
    }
ATOMICS(_system)
ATOMICS(_block)

__global__ void fences(int *out)
{
    __shared__ volatile int written[64];
    unsigned i = threadIdx.x;
    written[i] = static_cast<int>(i);
    __threadfence_block();
    __threadfence();
    __threadfence_system();
    __syncthreads();
    out[i] = written[(i + 1) % 64];
}
} // namespace

LAUNCHER(at_system, (unsigned *words, unsigned long long *sum, float *fraction, cudaStream_t stream), atomics_system, 2,
         64, 0, stream, words, sum, fraction)
LAUNCHER(at_block, (unsigned *words, unsigned long long *sum, float *fraction, cudaStream_t stream), atomics_block, 1,
         128, 0, stream, words, sum, fraction)
LAUNCHER(at_fences, (int *out, cudaStream_t stream), fences, 1, 64, 0, stream, out)
