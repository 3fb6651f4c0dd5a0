/* Matrix products as queued work, described by value and run by OpenBLAS. Column-major, as in BLAS. */
#ifndef HOSTCUDA_GEMM_H
#define HOSTCUDA_GEMM_H

#include <library_types.h>
#include <stdbool.h>
#include <stddef.h>

struct hc_matrix {
    const void *data;
    cudaDataType type;
    int leading;
    long long stride; /* in elements, between matrices of a batch */
};

/* A scalar: a value, or a place in device memory that is read when the product runs. */
struct hc_scalar {
    double value;
    const void *device; /* NULL: by value */
};

/* C = alpha * op(A) * op(B) + beta * C, `batch` times. op(A) is m x k, op(B) is k x n, C is m x n. A matrix-vector
 * product sets `vector` and follows BLAS's gemv: A is m x n, B is x, C is y, and the leading dimensions of B and C are
 * the increments of x and y. */
struct hc_product {
    bool vector, transpose_a, transpose_b;
    int m, n, k, batch;
    cudaDataType compute; /* CUDA_R_32F or CUDA_R_64F; also the type of the scalars */
    struct hc_scalar alpha, beta;
    struct hc_matrix a, b, c;
    void *workspace; /* set by the program; NULL: the default workspace */
    size_t workspace_bytes;
};

/* Runs the product. Returns false if there is no memory for converted matrices. */
bool hc_product_run(const struct hc_product *product);

#endif
