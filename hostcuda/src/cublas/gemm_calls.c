/* cuBLAS's calls for matrix products. They check their arguments as BLAS does. All submit a struct hc_product. */
#include "hostcuda/src/cublas/cublas.h"

static bool is_operation(cublasOperation_t operation)
{
    return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

static int at_least_one(int value)
{
    return value > 1 ? value : 1;
}

static cublasStatus_t check_gemm(cublasOperation_t transa, cublasOperation_t transb, const struct hc_product *p)
{
    if (!is_operation(transa) || !is_operation(transb))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (p->m < 0 || p->n < 0 || p->k < 0 || p->batch < 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (p->a.leading < at_least_one(p->transpose_a ? p->k : p->m))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (p->b.leading < at_least_one(p->transpose_b ? p->n : p->k))
        return CUBLAS_STATUS_INVALID_VALUE;
    return p->c.leading < at_least_one(p->m) ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t submit_gemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                  struct hc_product *product, const void *alpha, const void *beta)
{
    product->transpose_a = transa != CUBLAS_OP_N;
    product->transpose_b = transb != CUBLAS_OP_N;
    cublasStatus_t status = check_gemm(transa, transb, product);
    return status ? status : hc_cublas_submit(handle, product, alpha, beta);
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                              int k, const float *alpha, const float *A, int lda, const float *B, int ldb,
                              const float *beta, float *C, int ldc)
{
    HC_CUBLAS_BEGIN_WITH("cublasSgemm", handle);
    struct hc_product p = {.m = m, .n = n, .k = k, .batch = 1, .compute = CUDA_R_32F};
    p.a = (struct hc_matrix){A, CUDA_R_32F, lda, 0};
    p.b = (struct hc_matrix){B, CUDA_R_32F, ldb, 0};
    p.c = (struct hc_matrix){C, CUDA_R_32F, ldc, 0};
    return submit_gemm(handle, transa, transb, &p, alpha, beta);
}

cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                              int k, const double *alpha, const double *A, int lda, const double *B, int ldb,
                              const double *beta, double *C, int ldc)
{
    HC_CUBLAS_BEGIN_WITH("cublasDgemm", handle);
    struct hc_product p = {.m = m, .n = n, .k = k, .batch = 1, .compute = CUDA_R_64F};
    p.a = (struct hc_matrix){A, CUDA_R_64F, lda, 0};
    p.b = (struct hc_matrix){B, CUDA_R_64F, ldb, 0};
    p.c = (struct hc_matrix){C, CUDA_R_64F, ldc, 0};
    return submit_gemm(handle, transa, transb, &p, alpha, beta);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                         int m, int n, int k, const float *alpha, const float *A, int lda,
                                         long long int strideA, const float *B, int ldb, long long int strideB,
                                         const float *beta, float *C, int ldc, long long int strideC, int batchCount)
{
    HC_CUBLAS_BEGIN_WITH("cublasSgemmStridedBatched", handle);
    struct hc_product p = {.m = m, .n = n, .k = k, .batch = batchCount, .compute = CUDA_R_32F};
    p.a = (struct hc_matrix){A, CUDA_R_32F, lda, strideA};
    p.b = (struct hc_matrix){B, CUDA_R_32F, ldb, strideB};
    p.c = (struct hc_matrix){C, CUDA_R_32F, ldc, strideC};
    return submit_gemm(handle, transa, transb, &p, alpha, beta);
}

static bool types_supported(const struct hc_product *p, cublasComputeType_t compute)
{
    cudaDataType a = p->a.type, c = p->c.type;
    if (a != p->b.type)
        return false;
    switch (compute) {
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC: return a == CUDA_R_64F && c == CUDA_R_64F;
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32: return a == CUDA_R_32F && c == CUDA_R_32F;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
        if (a == CUDA_R_32F)
            return c == CUDA_R_32F;
        return (a == CUDA_R_16BF || a == CUDA_R_16F) && (c == a || c == CUDA_R_32F);
    default: return false;
    }
}

static cublasStatus_t submit_gemm_ex(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                     struct hc_product *product, const void *alpha, const void *beta,
                                     cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    if (algo < CUBLAS_GEMM_DFALT)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!types_supported(product, compute))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    product->compute = product->a.type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F;
    return submit_gemm(handle, transa, transb, product, alpha, beta);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                          int m, int n, int k, const void *alpha, const void *A, cudaDataType Atype,
                                          int lda, long long int strideA, const void *B, cudaDataType Btype, int ldb,
                                          long long int strideB, const void *beta, void *C, cudaDataType Ctype, int ldc,
                                          long long int strideC, int batchCount, cublasComputeType_t computeType,
                                          cublasGemmAlgo_t algo)
{
    HC_CUBLAS_BEGIN_WITH("cublasGemmStridedBatchedEx", handle);
    struct hc_product p = {.m = m, .n = n, .k = k, .batch = batchCount};
    p.a = (struct hc_matrix){A, Atype, lda, strideA};
    p.b = (struct hc_matrix){B, Btype, ldb, strideB};
    p.c = (struct hc_matrix){C, Ctype, ldc, strideC};
    return submit_gemm_ex(handle, transa, transb, &p, alpha, beta, computeType, algo);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                            int k, const void *alpha, const void *A, cudaDataType Atype, int lda, const void *B,
                            cudaDataType Btype, int ldb, const void *beta, void *C, cudaDataType Ctype, int ldc,
                            cublasComputeType_t computeType, cublasGemmAlgo_t algo)
{
    HC_CUBLAS_BEGIN_WITH("cublasGemmEx", handle);
    struct hc_product p = {.m = m, .n = n, .k = k, .batch = 1};
    p.a = (struct hc_matrix){A, Atype, lda, 0};
    p.b = (struct hc_matrix){B, Btype, ldb, 0};
    p.c = (struct hc_matrix){C, Ctype, ldc, 0};
    return submit_gemm_ex(handle, transa, transb, &p, alpha, beta, computeType, algo);
}

cublasStatus_t cublasSgemv_v2(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const float *alpha,
                              const float *A, int lda, const float *x, int incx, const float *beta, float *y, int incy)
{
    HC_CUBLAS_BEGIN_WITH("cublasSgemv", handle);
    struct hc_product p = {.vector = true, .m = m, .n = n, .batch = 1, .compute = CUDA_R_32F};
    p.transpose_a = trans != CUBLAS_OP_N;
    p.a = (struct hc_matrix){A, CUDA_R_32F, lda, 0};
    p.b = (struct hc_matrix){x, CUDA_R_32F, incx, 0};
    p.c = (struct hc_matrix){y, CUDA_R_32F, incy, 0};
    if (!is_operation(trans) || m < 0 || n < 0 || lda < at_least_one(m) || !incx || !incy)
        return CUBLAS_STATUS_INVALID_VALUE;
    return hc_cublas_submit(handle, &p, alpha, beta);
}

/* clang-format off */
const char *cublasGetStatusName(cublasStatus_t status)
{
    switch (status) {
#define X(code, text) case code: return #code;
#include "hostcuda/src/core/cublas_statuses.def"
#undef X
    }
    return "CUBLAS_STATUS_UNKNOWN";
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    switch (status) {
#define X(code, text) case code: return text;
#include "hostcuda/src/core/cublas_statuses.def"
#undef X
    }
    return "unknown cuBLAS status";
}
/* clang-format on */
