#include "kernels.h"
#include "kernels/launch.h"

namespace
{
/* Turns the pairs of row blockIdx.y, which stands at `position`; one thread a pair. powf, not exp2f of a product: the
 * angle grows with the position, and its error with it. */
__device__ void turn(float *x, int position, int heads, int head_dim, float base)
{
    int pairs = head_dim / 2, pair = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (pair >= heads * pairs)
        return;
    float exponent = -(float)(2 * (pair % pairs)) / (float)head_dim;
    float angle = (float)position * powf(base, exponent);
    float c = cosf(angle), s = sinf(angle);
    float *at = x + ((size_t)blockIdx.y * heads * pairs + pair) * 2;
    float first = at[0], second = at[1];
    at[0] = first * c - second * s;
    at[1] = first * s + second * c;
}

/* Block (i, r) holds pairs of row r. */
__global__ void rope(float *x, const int *position, int heads, int head_dim, float base)
{
    turn(x, *position + (int)blockIdx.y, heads, head_dim, base);
}

__global__ void rope_rows(float *x, const int *position, int heads, int head_dim, float base)
{
    turn(x, position[blockIdx.y], heads, head_dim, base);
}

cudaError_t launch_rope(void (*kernel)(float *, const int *, int, int, float), float *x, const int *position, int rows,
                        int heads, int head_dim, float base, cudaStream_t stream)
{
    const unsigned threads = 64;
    if (rows < 1 || rows > 65535 || heads < 1 || heads > 65535 || head_dim < 2 || head_dim > 4096 || head_dim % 2)
        return cudaErrorInvalidValue;
    return bgk::launch(kernel, dim3(bgk::blocks_for((size_t)heads * head_dim / 2, threads), (unsigned)rows),
                       dim3(threads), 0, stream, x, position, heads, head_dim, base);
}
} // namespace

extern "C" cudaError_t bgk_rope(float *x, const int *position, int rows, int heads, int head_dim, float base,
                                cudaStream_t stream)
{
    return launch_rope(rope, x, position, rows, heads, head_dim, base, stream);
}

extern "C" cudaError_t bgk_rope_rows(float *x, const int *position, int rows, int heads, int head_dim, float base,
                                     cudaStream_t stream)
{
    return launch_rope(rope_rows, x, position, rows, heads, head_dim, base, stream);
}
