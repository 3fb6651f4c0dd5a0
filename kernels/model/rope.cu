#include "kernels.h"
#include "kernels/launch.h"

namespace
{
struct pair_of_values {
    float first, second;
};

/* Turns a pair of a head at `position`. powf, not exp2f of a product: the angle grows with the position, and its error
 * with it. */
__device__ pair_of_values rotate_pair(float *at, int pair, int position, int head_dim, float base)
{
    int pairs = head_dim / 2;
    float exponent = -(float)(2 * (pair % pairs)) / (float)head_dim;
    float angle = (float)position * powf(base, exponent);
    float c = cosf(angle), s = sinf(angle);
    float first = at[0], second = at[1];
    at[0] = first * c - second * s;
    at[1] = first * s + second * c;
    return {at[0], at[1]};
}

/* The pairs of row blockIdx.y, which stands at `position`; one thread a pair. */
__device__ void rotate_row(float *x, int position, int heads, int head_dim, float base)
{
    int pairs = head_dim / 2, pair = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (pair < heads * pairs)
        rotate_pair(x + ((size_t)blockIdx.y * heads * pairs + pair) * 2, pair, position, head_dim, base);
}

/* Block (i, r) holds pairs of row r. */
__global__ void rope(float *x, const int *position, int heads, int head_dim, float base)
{
    rotate_row(x, *position + (int)blockIdx.y, heads, head_dim, base);
}

__global__ void rope_rows(float *x, const int *position, int heads, int head_dim, float base)
{
    rotate_row(x, position[blockIdx.y], heads, head_dim, base);
}

/* Where a row goes in the caches. */
struct place {
    size_t row; /* of the caches */
    bool there;
};

/* The first threads rotate pairs of q, the next rotate pairs of k and append them, the last append pairs of v. */
__device__ void rotate_and_append(const bgk_rope_append &a, int position, place to)
{
    int pairs = a.head_dim / 2, of_q = a.heads * pairs, of_k = a.kv_heads * pairs;
    int pair = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    size_t row = blockIdx.y;
    if (pair < of_q) {
        rotate_pair(a.q + (row * of_q + pair) * 2, pair, position, a.head_dim, a.base);
        return;
    }
    pair -= of_q;
    if (pair < of_k) {
        pair_of_values turned = rotate_pair(a.k + (row * of_k + pair) * 2, pair, position, a.head_dim, a.base);
        if (to.there) {
            a.keys[(to.row * of_k + pair) * 2] = turned.first;
            a.keys[(to.row * of_k + pair) * 2 + 1] = turned.second;
        }
        return;
    }
    pair -= of_k;
    if (pair < of_k && to.there) {
        a.values[(to.row * of_k + pair) * 2] = a.v[(row * of_k + pair) * 2];
        a.values[(to.row * of_k + pair) * 2 + 1] = a.v[(row * of_k + pair) * 2 + 1];
    }
}

__global__ void rope_append(bgk_rope_append a)
{
    int position = *a.position + (int)blockIdx.y;
    rotate_and_append(a, position, {(size_t)position, position >= 0 && position < a.capacity});
}

__global__ void rope_append_rows(bgk_rope_append a)
{
    int position = a.position[blockIdx.y], slot = a.slot[blockIdx.y];
    bool there = position >= 0 && position < a.capacity && slot >= 0 && slot < a.slots;
    rotate_and_append(a, position, {there ? (size_t)slot * a.capacity + position : 0, there});
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

extern "C" cudaError_t bgk_launch_rope_append(const bgk_rope_append *a, int rows, cudaStream_t stream)
{
    const unsigned threads = 64;
    if (rows < 1 || rows > 65535 || a->heads < 1 || a->heads > 65535 || a->kv_heads < 1 || a->kv_heads > 65535 ||
        a->head_dim < 2 || a->head_dim > 4096 || a->head_dim % 2 || a->capacity < 1 || (a->slot && a->slots < 1))
        return cudaErrorInvalidValue;
    size_t pairs = ((size_t)a->heads + 2 * (size_t)a->kv_heads) * (a->head_dim / 2);
    return bgk::launch(a->slot ? rope_append_rows : rope_append, dim3(bgk::blocks_for(pairs, threads), (unsigned)rows),
                       dim3(threads), 0, stream, *a);
}
