#include "hostcuda/src/cublas/gemm.h"

#include "hostcuda/src/kernel/half.h"
#include "hostcuda/src/memory/fence.h"
#include "hostcuda/src/memory/memory_modes.h"

#include <cblas.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static double read_scalar(const struct hc_scalar *scalar, cudaDataType type)
{
    if (!scalar->device)
        return scalar->value;
    return type == CUDA_R_64F ? *(const double *)scalar->device : (double)*(const float *)scalar->device;
}

static size_t element_bytes(cudaDataType type)
{
    return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

static const void *batch_member(const struct hc_matrix *matrix, int index)
{
    return (const char *)matrix->data + (long long)element_bytes(matrix->type) * matrix->stride * index;
}

/* ---- half precision: converted to float and back ----------------------------------------------------------------- */

static float *convert_to_float(const void *data, cudaDataType type, int rows, int columns, int leading)
{
    const uint16_t *halves = data;
    float *wide = malloc(((size_t)rows * (size_t)columns + 1) * sizeof *wide);
    for (int column = 0; wide && column < columns; column++) {
        const uint16_t *from = halves + (size_t)column * (size_t)leading;
        float *to = wide + (size_t)column * (size_t)rows;
        for (int row = 0; row < rows; row++)
            to[row] = type == CUDA_R_16BF ? hc_bf16_to_float(from[row]) : hc_fp16_to_float(from[row]);
    }
    return wide;
}

static void convert_from_float(const float *wide, void *data, cudaDataType type, int rows, int columns, int leading)
{
    uint16_t *halves = data;
    for (int column = 0; column < columns; column++) {
        const float *from = wide + (size_t)column * (size_t)rows;
        uint16_t *to = halves + (size_t)column * (size_t)leading;
        for (int row = 0; row < rows; row++)
            to[row] = type == CUDA_R_16BF ? hc_float_to_bf16(from[row]) : hc_float_to_fp16(from[row]);
    }
}

/* A matrix as floats: its own memory, or a converted copy. */
struct float_view {
    const float *data;
    float *copy;
    int leading;
};

static bool make_float_view(struct float_view *float_view, const void *data, const struct hc_matrix *matrix, int rows,
                            int columns)
{
    *float_view = (struct float_view){data, NULL, matrix->leading};
    if (matrix->type == CUDA_R_32F)
        return true;
    float_view->copy = convert_to_float(data, matrix->type, rows, columns, matrix->leading);
    float_view->data = float_view->copy;
    float_view->leading = rows > 0 ? rows : 1;
    return float_view->copy;
}

static bool multiply_float(const struct hc_product *p, const void *a, const void *b, void *c)
{
    struct float_view va = {0}, vb = {0}, vc = {0};
    bool ok = make_float_view(&va, a, &p->a, p->transpose_a ? p->k : p->m, p->transpose_a ? p->m : p->k) &&
              make_float_view(&vb, b, &p->b, p->transpose_b ? p->n : p->k, p->transpose_b ? p->k : p->n) &&
              make_float_view(&vc, c, &p->c, p->m, p->n);
    if (ok) {
        float *out = vc.copy ? vc.copy : c;
        cblas_sgemm(CblasColMajor, p->transpose_a ? CblasTrans : CblasNoTrans,
                    p->transpose_b ? CblasTrans : CblasNoTrans, p->m, p->n, p->k,
                    (float)read_scalar(&p->alpha, p->compute), va.data, va.leading, vb.data, vb.leading,
                    (float)read_scalar(&p->beta, p->compute), out, vc.leading);
        if (vc.copy)
            convert_from_float(vc.copy, c, p->c.type, p->m, p->n, p->c.leading);
    }
    free(va.copy);
    free(vb.copy);
    free(vc.copy);
    return ok;
}

static void multiply_double(const struct hc_product *p, const void *a, const void *b, void *c)
{
    cblas_dgemm(CblasColMajor, p->transpose_a ? CblasTrans : CblasNoTrans, p->transpose_b ? CblasTrans : CblasNoTrans,
                p->m, p->n, p->k, read_scalar(&p->alpha, p->compute), a, p->a.leading, b, p->b.leading,
                read_scalar(&p->beta, p->compute), c, p->c.leading);
}

static void multiply_vector(const struct hc_product *p)
{
    cblas_sgemv(CblasColMajor, p->transpose_a ? CblasTrans : CblasNoTrans, p->m, p->n,
                (float)read_scalar(&p->alpha, p->compute), p->a.data, p->a.leading, p->b.data, p->b.leading,
                (float)read_scalar(&p->beta, p->compute), (float *)(uintptr_t)p->c.data, p->c.leading);
}

/* ---- fenced memory: OpenBLAS's threads cannot be unwound, so accesses are checked before it runs ----------------- */

static bool matrices_allowed(const struct hc_matrix *matrix, int rows, int columns, int batch)
{
    if (rows < 1 || columns < 1)
        return true;
    size_t elements = (size_t)(columns - 1) * (size_t)abs(matrix->leading) + (size_t)rows;
    for (int i = 0; i < batch; i++)
        if (!hc_fence_allows(batch_member(matrix, i), elements * element_bytes(matrix->type)))
            return false;
    return true;
}

static bool scalar_allowed(const struct hc_scalar *scalar, cudaDataType type)
{
    return !scalar->device || hc_fence_allows(scalar->device, element_bytes(type));
}

/* Returns how many bytes of the program's workspace the product overwrites. cuBLAS may overwrite them, too, so data
 * that the program keeps there is lost. */
static size_t used_workspace_bytes(const struct hc_product *p)
{
    const size_t result = (size_t)p->m * (size_t)p->n * element_bytes(p->compute);
    if (p->vector || !p->workspace)
        return 0;
    return result < p->workspace_bytes ? result : p->workspace_bytes;
}

static bool product_memory_allowed(const struct hc_product *p)
{
    if (!(hc_memory_modes & HC_FENCE))
        return true;
    if (used_workspace_bytes(p) > 0 && !hc_fence_allows(p->workspace, used_workspace_bytes(p)))
        return false;
    if (!scalar_allowed(&p->alpha, p->compute) || !scalar_allowed(&p->beta, p->compute))
        return false;
    if (p->vector)
        return matrices_allowed(&p->a, p->m, p->n, 1) && matrices_allowed(&p->b, 1, p->transpose_a ? p->m : p->n, 1) &&
               matrices_allowed(&p->c, 1, p->transpose_a ? p->n : p->m, 1);
    int a_rows = p->transpose_a ? p->k : p->m, b_rows = p->transpose_b ? p->n : p->k;
    return matrices_allowed(&p->a, a_rows, p->m + p->k - a_rows, p->batch) &&
           matrices_allowed(&p->b, b_rows, p->n + p->k - b_rows, p->batch) &&
           matrices_allowed(&p->c, p->m, p->n, p->batch);
}

static bool multiply_matrices(const struct hc_product *p)
{
    if (p->vector) {
        multiply_vector(p);
        return true;
    }
    for (int i = 0; i < p->batch; i++) {
        const void *a = batch_member(&p->a, i), *b = batch_member(&p->b, i);
        void *c = (void *)(uintptr_t)batch_member(&p->c, i);
        if (p->compute == CUDA_R_64F)
            multiply_double(p, a, b, c);
        else if (!multiply_float(p, a, b, c))
            return false;
    }
    return true;
}

/* ---- process exit ---------------------------------------------------------------------------------------------- */

/* OpenBLAS's destructor joins its threads and frees its buffers while the program's threads may still run. Therefore
 * stop_products runs before it: it waits for the running product and lets no other begin. */

static pthread_mutex_t end = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* A fork waits for the running product: the child's exit takes OpenBLAS's lock, which the product's thread may hold. */
static void lock_before_fork(void)
{
    (void)pthread_mutex_lock(&end);
}

static void unlock_in_parent(void)
{
    (void)pthread_mutex_unlock(&end);
}

static void renew_lock_in_child(void)
{
    end = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

__attribute__((constructor)) static void register_fork_handlers(void)
{
    (void)pthread_atfork(lock_before_fork, unlock_in_parent,
                         renew_lock_in_child); /* if there is no memory, a child's exit may hang */
}

__attribute__((destructor(101))) static void stop_products(void)
{
    (void)pthread_mutex_lock(&end); /* never unlocked */
}

bool hc_product_run(const struct hc_product *p)
{
    if (!product_memory_allowed(p) || pthread_mutex_lock(&end) != 0)
        return false;
    if (used_workspace_bytes(p) > 0)
        memset(p->workspace, 0xff, used_workspace_bytes(p));
    bool ok = multiply_matrices(p);
    return pthread_mutex_unlock(&end) == 0 && ok;
}
