#include "kernels/device.h"
#include "tests/support/kernels/launcher.h"

#include "hostcuda_kernels.h"

static const unsigned ALL = 0xffffffffu;

/* ---- warps ---------------------------------------------------------------------------------------------------- */

__global__ void shuffles(int *out)
{
    int lane = threadIdx.x, n = blockDim.x, mine = 100 + lane;
    out[0 * n + lane] = __shfl_sync(ALL, mine, 3);
    out[1 * n + lane] = __shfl_up_sync(ALL, mine, 2);
    out[2 * n + lane] = __shfl_down_sync(ALL, mine, 5);
    out[3 * n + lane] = __shfl_xor_sync(ALL, mine, 1);
    out[4 * n + lane] = __shfl_sync(ALL, mine, 1, 8);
    out[5 * n + lane] = __shfl_down_sync(ALL, mine, 3, 4);
    out[6 * n + lane] = static_cast<int>(__shfl_sync(ALL, 1000.5 * lane, 2));
}

/* Odd and even lanes of two warps meet apart from each other, in another order in each. */
__global__ void partial_masks(int *out)
{
    int lane = threadIdx.x % 32;
    unsigned even = 0x55555555u, mine = lane % 2 ? ~even : even;
    int sum = lane;
    if ((lane % 2) == static_cast<int>(threadIdx.x / 32)) {
        for (int step = 2; step < 32; step *= 2)
            sum += __shfl_xor_sync(mine, sum, step);
    } else {
        __syncwarp(mine);
        for (int step = 16; step >= 2; step /= 2)
            sum += __shfl_xor_sync(mine, sum, step);
    }
    __syncwarp();
    out[threadIdx.x] = sum;
}

/* The upper half of each warp has returned; the full mask waits for the others only. */
__global__ void exited_lanes(int *out)
{
    int lane = threadIdx.x % 32;
    out[threadIdx.x] = -1;
    if (lane >= 16)
        return;
    unsigned votes = __ballot_sync(0x0000ffffu, lane % 2);
    int sum = lane;
    for (int step = 8; step; step /= 2)
        sum += __shfl_xor_sync(0x0000ffffu, sum, step);
    out[threadIdx.x] = sum + static_cast<int>(votes);
}

__global__ void votes(unsigned *out)
{
    unsigned lane = threadIdx.x;
    out[lane] = __ballot_sync(ALL, lane < 5);
    out[32 + lane] = __any_sync(ALL, lane == 7) != 0;
    out[64 + lane] = __all_sync(ALL, lane < 31) != 0;
    out[96 + lane] = __popc(__activemask()) >= 1;
}

/* ---- barriers ------------------------------------------------------------------------------------------------- */

/* A sum over the block, in warps, then over them, several times in turn. */
__global__ void warps_and_barriers(int *out)
{
    __shared__ int partial[32];
    __shared__ int total;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = (blockDim.x + 31) / 32, result = 0;
    for (int round = 0; round < 3; round++) {
        int value = threadIdx.x < blockDim.x ? static_cast<int>(threadIdx.x) + round + static_cast<int>(blockIdx.x) : 0;
        for (int step = 16; step; step /= 2)
            value += __shfl_down_sync(ALL, value, step);
        if (lane == 0)
            partial[warp] = value;
        __syncthreads();
        if (warp == 0) {
            value = lane < warps ? partial[lane] : 0;
            for (int step = 16; step; step /= 2)
                value += __shfl_xor_sync(ALL, value, step);
            if (lane == 0)
                total = value;
        }
        __syncthreads();
        result += total;
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = result;
}

__global__ void barrier_after_exit(int *out)
{
    __shared__ int seen;
    if (threadIdx.x == 95)
        seen = 0;
    __syncthreads();
    if (threadIdx.x % 3 == 0) {
        out[threadIdx.x] = 7;
        return;
    }
    atomicAdd(&seen, 1);
    __syncthreads();
    out[threadIdx.x] = seen;
}

__global__ void barrier_votes(int *out)
{
    int t = threadIdx.x, n = blockDim.x;
    out[t] = __syncthreads_count(t % 3 == 0);
    out[n + t] = __syncthreads_and(t < n) != 0;
    out[2 * n + t] = __syncthreads_or(t > n) != 0;
}

__global__ void block_sums(float *sums, const float *values)
{
    __shared__ float rows[2][128];
    int t = threadIdx.x;
    rows[0][t] = values[blockIdx.x * blockDim.x + t];
    __syncthreads();
    rows[1][t] = rows[0][blockDim.x - 1 - t];
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half; half /= 2) {
        if (t < static_cast<int>(half))
            rows[1][t] += rows[1][t + half];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = rows[1][0];
}

__global__ void reverse(int *out, int count)
{
    BG_DYNAMIC_SHARED(int, items);
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        items[i] = i;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        out[i] = items[count - 1 - i];
}

/* ---- atomics -------------------------------------------------------------------------------------------------- */

__global__ void atomics(int *ints, unsigned *words, unsigned long long *longs, float *floats, double *doubles)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&ints[0], 1);
    atomicMax(&ints[1], i);
    atomicMin(&ints[2], -i);
    atomicSub(&ints[3], 2);
    atomicAdd(&words[0], 3u);
    atomicOr(&words[1], 1u << (i % 32));
    atomicAnd(&words[2], ~(1u << (i % 16)));
    atomicExch(&words[3], 9u);
    atomicCAS(&words[4], 5u, 6u);
    atomicAdd(&longs[0], 1ull << 33);
    atomicMax(&longs[1], static_cast<unsigned long long>(i) << 40);
    atomicAdd(&floats[0], 0.5f);
    atomicAdd(&doubles[0], 0.25);
}

/* Lanes of different warps take a lock in turn. */
__global__ void lock(int *state)
{
    if (threadIdx.x % 32)
        return;
    while (atomicCAS(&state[0], 0, 1) != 0)
        __nanosleep(20);
    __threadfence();
    int seen = atomicAdd(&state[1], 0);
    __nanosleep(20);
    atomicExch(&state[1], seen + 1);
    __threadfence();
    atomicExch(&state[0], 0);
}

/* ---- single threads ------------------------------------------------------------------------------------------- */

__global__ void indices(int *out)
{
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    int threads = blockDim.x * blockDim.y * blockDim.z;
    out[block * threads + thread] = block * 10000 + thread;
}

__global__ void bf16(float *out, float a, float b, float c)
{
    __nv_bfloat16 x = __float2bfloat16(a), y = __float2bfloat16(b), z = __float2bfloat16(c);
    out[0] = __bfloat162float(x);
    out[1] = __bfloat162float(x * y);
    out[2] = __bfloat162float(__hadd(x, y));
    out[3] = __bfloat162float(__hfma(x, y, z));
    __nv_bfloat162 pair = __hfma2(__halves2bfloat162(x, y), __halves2bfloat162(y, z), __halves2bfloat162(z, x));
    out[4] = __bfloat162float(__high2bfloat16(pair));
    out[5] = __half2float(__hfma(__float2half(a), __float2half(b), __float2half(c)));
    out[6] = __bfloat162float(hsqrt(x));
    out[7] = __bfloat162float(__shfl_sync(ALL, x, 0));
}

__global__ void intrinsics(float *out)
{
    out[0] = rsqrtf(4.0f);
    out[1] = __expf(0.0f);
    out[2] = __fdividef(3.0f, 2.0f);
    out[3] = __frcp_rn(8.0f);
    out[4] = __int_as_float(0x3f800000);
    out[5] = static_cast<float>(__float_as_int(2.0f) >> 23);
    out[6] = static_cast<float>(max(3, 5) + min(2u, 7u));
    out[7] = fmaf(2.0f, 3.0f, 4.0f);
    out[8] = static_cast<float>(__popc(0xf0u) + __clz(1) + __ffs(8));
    out[9] = static_cast<float>(__float2int_rn(2.5f) + __float2int_rz(-1.9f));
    out[10] = max(1.5f, -2.0f);
    long long start = clock64();
    out[11] = clock64() >= start ? 1.0f : 0.0f;
}

__global__ void parameters(double *out, char a, double b, short c, hk_pair d)
{
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d.tag;
    out[4] = d.value;
}

__global__ void empty()
{
}

/* ---- threads that wait for each other for ever: on a GPU they hang or do anything -------------------------------- */

__global__ void deadlock_barrier()
{
    if (threadIdx.x % 32 == 1)
        __syncwarp(); /* with lanes that wait at the barrier */
    else
        __syncthreads();
    __syncthreads();
}

__global__ void deadlock_warp()
{
    if (threadIdx.x == 0)
        __syncwarp(0x3u);
    else
        __shfl_sync(0x3u, 1, 0);
}

__global__ void trapped()
{
    if (threadIdx.x == 33)
        __trap();
    __syncthreads();
}

__global__ void spin(int *flag)
{
    while (atomicCAS(flag, 1, 1) == 0)
        __nanosleep(100);
}

/* ---- launchers ------------------------------------------------------------------------------------------------ */

LAUNCHER(hk_shuffles, (int *out, unsigned threads, cudaStream_t stream), shuffles, 1, threads, 0, stream, out)
LAUNCHER(hk_partial_masks, (int *out, cudaStream_t stream), partial_masks, 1, 64, 0, stream, out)
LAUNCHER(hk_exited_lanes, (int *out, cudaStream_t stream), exited_lanes, 1, 64, 0, stream, out)
LAUNCHER(hk_votes, (unsigned *out, cudaStream_t stream), votes, 1, 32, 0, stream, out)
LAUNCHER(hk_warps_and_barriers, (int *out, unsigned threads, unsigned blocks, cudaStream_t stream), warps_and_barriers,
         blocks, threads, 0, stream, out)
LAUNCHER(hk_barrier_after_exit, (int *out, cudaStream_t stream), barrier_after_exit, 1, 96, 0, stream, out)
LAUNCHER(hk_barrier_votes, (int *out, cudaStream_t stream), barrier_votes, 1, 100, 0, stream, out)
LAUNCHER(hk_shared, (float *sums, const float *values, unsigned threads, unsigned blocks, cudaStream_t stream),
         block_sums, blocks, threads, 0, stream, sums, values)
LAUNCHER(hk_dynamic_shared, (int *out, unsigned ints, cudaStream_t stream), reverse, 1, 64, ints * sizeof(int), stream,
         out, static_cast<int>(ints))
cudaError_t hk_allow_dynamic_shared(unsigned bytes)
{
    return bgk::allow_shared(reverse, bytes);
}
LAUNCHER(hk_atomics,
         (int *ints, unsigned *words, unsigned long long *longs, float *floats, double *doubles, cudaStream_t stream),
         atomics, 4, 64, 0, stream, ints, words, longs, floats, doubles)
LAUNCHER(hk_lock, (int *lock_and_count, cudaStream_t stream), lock, 1, 256, 0, stream, lock_and_count)
LAUNCHER(hk_indices, (int *out, dim3 grid, dim3 block, cudaStream_t stream), indices, grid, block, 0, stream, out)
LAUNCHER(hk_bf16, (float *out, float a, float b, float c, cudaStream_t stream), bf16, 1, 32, 0, stream, out, a, b, c)
LAUNCHER(hk_intrinsics, (float *out, cudaStream_t stream), intrinsics, 1, 1, 0, stream, out)
LAUNCHER(hk_parameters, (double *out, char a, double b, short c, hk_pair d, cudaStream_t stream), parameters, 1, 1, 0,
         stream, out, a, b, c, d)
ADDRESS_OF(hk_parameters_function, parameters)
LAUNCHER(hk_empty, (dim3 grid, dim3 block, unsigned shared_bytes, cudaStream_t stream), empty, grid, block,
         shared_bytes, stream)
LAUNCHER(hk_deadlock_barrier, (unsigned threads, cudaStream_t stream), deadlock_barrier, 1, threads, 0, stream)
LAUNCHER(hk_deadlock_warp, (cudaStream_t stream), deadlock_warp, 1, 2, 0, stream)
LAUNCHER(hk_trap, (cudaStream_t stream), trapped, 1, 64, 0, stream)
LAUNCHER(hk_spin, (int *flag, cudaStream_t stream), spin, 2, 64, 0, stream, flag)
