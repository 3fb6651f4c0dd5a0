/* Products for few rows: a warp computes one output of all rows. The time is that of reading the weights, which a
 * general product reads no faster, and it saves the kernels between them. */
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

__device__ float dot4(float4 a, float4 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

/* A row of weights: its first part is loaded ahead, so that it comes while the block does something else. */
constexpr int ahead = 5;
struct weights {
    const float4 *row;
    float4 first[ahead];
};

__device__ void load_ahead(weights &w, const float *row, int inputs)
{
    int lane = (int)threadIdx.x % 32;
    w.row = reinterpret_cast<const float4 *>(row);
#pragma unroll
    for (int i = 0; i < ahead; i++)
        if (lane + 32 * i < inputs / 4)
            w.first[i] = w.row[lane + 32 * i];
}

template <int Rows>
__device__ void add_products(float (&sum)[Rows], float4 part, const float *x, int at, int rows, int inputs)
{
#pragma unroll
    for (int r = 0; r < Rows; r++)
        if (Rows == 1 || r < rows)
            sum[r] += dot4(part, reinterpret_cast<const float4 *>(x + (size_t)r * inputs)[at]);
}

/* sum[r] = x[r] . weights, in every lane. */
template <int Rows>
__device__ void dot(float (&sum)[Rows], const weights &w, const float *x, int rows, int inputs)
{
    int lane = (int)threadIdx.x % 32;
    for (int r = 0; r < Rows; r++)
        sum[r] = 0.0f;
#pragma unroll
    for (int i = 0; i < ahead; i++)
        if (lane + 32 * i < inputs / 4)
            add_products(sum, w.first[i], x, lane + 32 * i, rows, inputs);
#pragma unroll 4
    for (int i = lane + 32 * ahead; i < inputs / 4; i += 32)
        add_products(sum, w.row[i], x, i, rows, inputs);
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

template <int Rows>
__global__ void norm_products(float *n, const float *x, const float *norm, float epsilon, products all, int rows,
                              int inputs)
{
    BG_DYNAMIC_SHARED(float, normed);
    int output = own_output(), which = 0;
    bool any = output < all.outputs;
    float sum[Rows];
    weights w;
    for (; any && output >= all.of[which].outputs; which++)
        output -= all.of[which].outputs;
    bgk_product product = all.of[which];
    if (any)
        load_ahead(w, product.weight + (size_t)output * inputs, inputs);
    norm_rows(normed, n, x, norm, epsilon, rows, inputs);
    if (!any)
        return;
    dot(sum, w, normed, rows, inputs);
    for (int r = 0; r < Rows; r++)
        if (r < rows && threadIdx.x % 32 == 0)
            product.y[(size_t)r * product.outputs + output] = sum[r];
}

template <int Rows>
__global__ void norm_gate_up(float *n, const float *x, const float *norm, float epsilon, bgk_product gate,
                             bgk_product up, float *y, int rows, int inputs)
{
    BG_DYNAMIC_SHARED(float, normed);
    int output = own_output();
    bool any = output < gate.outputs;
    float of_gate[Rows], of_up[Rows];
    weights gate_row, up_row;
    if (any) {
        load_ahead(gate_row, gate.weight + (size_t)output * inputs, inputs);
        load_ahead(up_row, up.weight + (size_t)output * inputs, inputs);
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

template <int Rows>
__global__ void product_add(bgk_product product, const float *x, float *total, int rows, int inputs)
{
    int output = own_output();
    float sum[Rows];
    weights w;
    if (output >= product.outputs)
        return;
    load_ahead(w, product.weight + (size_t)output * inputs, inputs);
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

bool fits(int rows, int inputs)
{
    return rows >= 1 && rows <= BGK_FEW_ROWS && inputs >= 4 && inputs % 4 == 0;
}

dim3 grid_for(int outputs)
{
    return dim3(bgk::blocks_for((size_t)outputs, warps));
}
} // namespace

/* The smallest kernel that has room for the rows. */
#define FOR_ROWS(kernel) (rows == 1 ? kernel<1> : rows == 2 ? kernel<2> : rows <= 4 ? kernel<4> : kernel<8>)

extern "C" cudaError_t bgk_norm_products(float *n, const float *x, const float *norm, float epsilon,
                                         const bgk_product *list, int count, int rows, int inputs, cudaStream_t stream)
{
    products all = {};
    if (!fits(rows, inputs) || rows * inputs > shared_floats || count < 1 || count > most_products)
        return cudaErrorInvalidValue;
    for (int i = 0; i < count; i++) {
        if (list[i].outputs < 1)
            return cudaErrorInvalidValue;
        all.of[i] = list[i];
        all.outputs += list[i].outputs;
    }
    return bgk::launch(FOR_ROWS(norm_products), grid_for(all.outputs), dim3(32 * warps),
                       (size_t)rows * inputs * sizeof(float), stream, n, x, norm, epsilon, all, rows, inputs);
}

extern "C" cudaError_t bgk_norm_gate_up(float *n, const float *x, const float *norm, float epsilon,
                                        const bgk_product *gate, const bgk_product *up, float *y, int rows, int inputs,
                                        cudaStream_t stream)
{
    if (!fits(rows, inputs) || rows * inputs > shared_floats || gate->outputs < 1 || gate->outputs != up->outputs)
        return cudaErrorInvalidValue;
    return bgk::launch(FOR_ROWS(norm_gate_up), grid_for(gate->outputs), dim3(32 * warps),
                       (size_t)rows * inputs * sizeof(float), stream, n, x, norm, epsilon, *gate, *up, y, rows, inputs);
}

extern "C" cudaError_t bgk_product_add(const bgk_product *product, const float *x, float *sum, int rows, int inputs,
                                       cudaStream_t stream)
{
    if (!fits(rows, inputs) || product->outputs < 1)
        return cudaErrorInvalidValue;
    return bgk::launch(FOR_ROWS(product_add), grid_for(product->outputs), dim3(32 * warps), 0, stream, *product, x, sum,
                       rows, inputs);
}
