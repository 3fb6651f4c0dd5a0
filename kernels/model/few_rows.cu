/* Products for few rows: a warp computes one output of all rows. Reading the weights takes the time; a general product
 * reads them no faster, and needs more kernels. */
#include "kernels.h"
#include "kernels/launch.h"
#include "row_sum.h"

namespace
{
using bgk::max_warps;
constexpr int warps = 4, most_products = 3, shared_floats = 12288; /* 48 KiB */

struct products {
    bgk_product of[most_products];
    int outputs; /* of all */
};

/* Weights are fp32, or bf16. With bf16, a product is one of bf16 numbers: its other factor is rounded, too. */
struct fp32 {
    using four = float4;
    static __device__ float4 values(four of)
    {
        return of;
    }
    static __device__ float rounded(float value)
    {
        return value;
    }
};

struct bf16 {
    using four = uint2;
    static __device__ float low(unsigned bits)
    {
        return __uint_as_float(bits << 16);
    }
    static __device__ float high(unsigned bits)
    {
        return __uint_as_float(bits & 0xffff0000u);
    }
    static __device__ float4 values(four of)
    {
        return make_float4(low(of.x), high(of.x), low(of.y), high(of.y));
    }
    static __device__ float rounded(float value)
    {
        return __bfloat162float(__float2bfloat16_rn(value));
    }
};

template <class Weight>
__device__ float4 rounded4(float4 x)
{
    return make_float4(Weight::rounded(x.x), Weight::rounded(x.y), Weight::rounded(x.z), Weight::rounded(x.w));
}

__device__ float dot4(float4 a, float4 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

/* A row of weights. Its first part is loaded ahead, so that it arrives while the block does something else. */
constexpr int ahead = 5;
template <class Weight>
struct weights {
    const typename Weight::four *row;
    typename Weight::four first[ahead];
};

template <class Weight>
__device__ void load_ahead(weights<Weight> &w, const void *matrix, int output, int inputs)
{
    int lane = (int)threadIdx.x % 32;
    w.row = static_cast<const typename Weight::four *>(matrix) + (size_t)output * (inputs / 4);
#pragma unroll
    for (int i = 0; i < ahead; i++)
        if (lane + 32 * i < inputs / 4)
            w.first[i] = w.row[lane + 32 * i];
}

template <class Weight, int Rows>
__device__ void add_products(float (&sum)[Rows], typename Weight::four part, const float *x, int at, int rows,
                             int inputs)
{
    const float4 values = Weight::values(part);
#pragma unroll
    for (int r = 0; r < Rows; r++)
        if (Rows == 1 || r < rows)
            sum[r] += dot4(values, rounded4<Weight>(reinterpret_cast<const float4 *>(x + (size_t)r * inputs)[at]));
}

/* sum[r] = x[r] . weights, in every lane. */
template <class Weight, int Rows>
__device__ void dot(float (&sum)[Rows], const weights<Weight> &w, const float *x, int rows, int inputs)
{
    int lane = (int)threadIdx.x % 32;
    for (int r = 0; r < Rows; r++)
        sum[r] = 0.0f;
#pragma unroll
    for (int i = 0; i < ahead; i++)
        if (lane + 32 * i < inputs / 4)
            add_products<Weight>(sum, w.first[i], x, lane + 32 * i, rows, inputs);
#pragma unroll 4
    for (int i = lane + 32 * ahead; i < inputs / 4; i += 32)
        add_products<Weight>(sum, w.row[i], x, i, rows, inputs);
    for (int r = 0; r < Rows; r++)
        sum[r] = bgk::warp_sum(sum[r]);
}

/* Each block norms all rows into its shared memory; the first one also stores them. */
__device__ void norm_rows(float *shared, float *__restrict__ n, const float *__restrict__ x,
                          const float *__restrict__ norm, float epsilon, int rows, int inputs)
{
    __shared__ float of_warp[max_warps];
    for (int r = 0; r < rows; r++) {
        const float *row = x + (size_t)r * inputs;
        float squares = 0.0f;
        for (int i = (int)threadIdx.x; i < inputs; i += (int)blockDim.x)
            squares += row[i] * row[i];
        float factor = 1.0f / sqrtf(bgk::block_sum(squares, of_warp) / (float)inputs + epsilon);
        for (int i = (int)threadIdx.x; i < inputs; i += (int)blockDim.x) {
            float value = row[i] * factor * norm[i];
            shared[r * inputs + i] = value;
            if (blockIdx.x == 0)
                n[(size_t)r * inputs + i] = value;
        }
        __syncthreads(); /* of_warp is free, and at last the rows are there */
    }
}

/* The output that this warp computes. */
__device__ int own_output()
{
    return (int)(blockIdx.x * warps + threadIdx.x / 32);
}

template <class Weight, int Rows>
__global__ void norm_products(float *n, const float *x, const float *norm, float epsilon, products all, int rows,
                              int inputs)
{
    BG_DYNAMIC_SHARED(float, normed);
    int output = own_output(), which = 0;
    bool any = output < all.outputs;
    float sum[Rows];
    weights<Weight> w;
    for (; any && output >= all.of[which].outputs; which++)
        output -= all.of[which].outputs;
    bgk_product product = all.of[which];
    if (any)
        load_ahead(w, product.weight, output, inputs);
    norm_rows(normed, n, x, norm, epsilon, rows, inputs);
    if (!any)
        return;
    dot(sum, w, normed, rows, inputs);
    for (int r = 0; r < Rows; r++)
        if (r < rows && threadIdx.x % 32 == 0)
            product.y[(size_t)r * product.outputs + output] = sum[r];
}

template <class Weight, int Rows>
__global__ void norm_gate_up(float *n, const float *x, const float *norm, float epsilon, bgk_product gate,
                             bgk_product up, float *y, int rows, int inputs)
{
    BG_DYNAMIC_SHARED(float, normed);
    int output = own_output();
    bool any = output < gate.outputs;
    float of_gate[Rows], of_up[Rows];
    weights<Weight> gate_row, up_row;
    if (any) {
        load_ahead(gate_row, gate.weight, output, inputs);
        load_ahead(up_row, up.weight, output, inputs);
    }
    norm_rows(normed, n, x, norm, epsilon, rows, inputs);
    if (!any)
        return;
    dot(of_gate, gate_row, normed, rows, inputs);
    dot(of_up, up_row, normed, rows, inputs);
    for (int r = 0; r < Rows; r++) {
        size_t at = (size_t)r * gate.outputs + output;
        if (r >= rows || threadIdx.x % 32 != 0)
            continue;
        gate.y[at] = of_gate[r];
        up.y[at] = of_up[r];
        y[at] = of_gate[r] / (1.0f + expf(-of_gate[r])) * of_up[r];
    }
}

template <class Weight, int Rows>
__global__ void product_add(bgk_product product, const float *x, float *total, int rows, int inputs)
{
    int output = own_output();
    float sum[Rows];
    weights<Weight> w;
    if (output >= product.outputs)
        return;
    load_ahead(w, product.weight, output, inputs);
    dot(sum, w, x, rows, inputs);
    for (int r = 0; r < Rows; r++) {
        size_t at = (size_t)r * product.outputs + output;
        if (r >= rows || threadIdx.x % 32 != 0)
            continue;
        product.y[at] = sum[r];
        if (total)
            total[at] += sum[r];
    }
}

bool is_supported_size(int rows, int inputs)
{
    return rows >= 1 && rows <= BGK_FEW_ROWS && inputs >= 4 && inputs % 4 == 0;
}

dim3 grid_for(int outputs)
{
    return dim3(bgk::blocks_for((size_t)outputs, warps));
}
} // namespace

/* The smallest kernel that has room for the rows. */
#define FOR_ROWS(kernel, Weight)                                                                                       \
    (rows == 1 ? kernel<Weight, 1> : rows == 2 ? kernel<Weight, 2> : rows <= 4 ? kernel<Weight, 4> : kernel<Weight, 8>)
#define CHOOSE(kernel, is_bf16) ((is_bf16) ? FOR_ROWS(kernel, bf16) : FOR_ROWS(kernel, fp32))

extern "C" cudaError_t bgk_norm_products(float *n, const float *x, const float *norm, float epsilon,
                                         const bgk_product *list, int count, int rows, int inputs, cudaStream_t stream)
{
    products all = {};
    if (!is_supported_size(rows, inputs) || rows * inputs > shared_floats || count < 1 || count > most_products)
        return cudaErrorInvalidValue;
    for (int i = 0; i < count; i++) {
        if (list[i].outputs < 1 || list[i].bf16 != list[0].bf16)
            return cudaErrorInvalidValue;
        all.of[i] = list[i];
        all.outputs += list[i].outputs;
    }
    return bgk::launch(CHOOSE(norm_products, list[0].bf16), grid_for(all.outputs), dim3(32 * warps),
                       (size_t)rows * inputs * sizeof(float), stream, n, x, norm, epsilon, all, rows, inputs);
}

extern "C" cudaError_t bgk_norm_gate_up(float *n, const float *x, const float *norm, float epsilon,
                                        const bgk_product *gate, const bgk_product *up, float *y, int rows, int inputs,
                                        cudaStream_t stream)
{
    if (!is_supported_size(rows, inputs) || rows * inputs > shared_floats || gate->outputs < 1 ||
        gate->outputs != up->outputs || gate->bf16 != up->bf16)
        return cudaErrorInvalidValue;
    return bgk::launch(CHOOSE(norm_gate_up, gate->bf16), grid_for(gate->outputs), dim3(32 * warps),
                       (size_t)rows * inputs * sizeof(float), stream, n, x, norm, epsilon, *gate, *up, y, rows, inputs);
}

extern "C" cudaError_t bgk_product_add(const bgk_product *product, const float *x, float *sum, int rows, int inputs,
                                       cudaStream_t stream)
{
    if (!is_supported_size(rows, inputs) || product->outputs < 1)
        return cudaErrorInvalidValue;
    return bgk::launch(CHOOSE(product_add, product->bf16), grid_for(product->outputs), dim3(32 * warps), 0, stream,
                       *product, x, sum, rows, inputs);
}
