#include "capture_support.h"

#include <stdlib.h>

bg_status multiply(cublasHandle_t handle, float factor, const bg_tensor *x, const bg_tensor *y, cudaStream_t stream)
{
    const float zero = 0;
    TRY_BG(bg_cublas_bind(handle, stream, NULL));
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &factor, x->data, 8, x->data, 8, &zero, y->data, 8) ==
                   CUBLAS_STATUS_SUCCESS
               ? BG_OK
               : BG_ERROR_CUBLAS;
}

char *allocate(size_t bytes)
{
    void *memory;
    EXPECT_CUDA(cudaMalloc(&memory, bytes));
    EXPECT_CUDA(cudaMemset(memory, 0, bytes));
    EXPECT_CUDA(cudaDeviceSynchronize());
    return memory;
}

void put_all(const fixture *f, float x, float y, float z)
{
    put(&f->x, x);
    put(&f->y, y);
    put(&f->z, z);
}

void expect_all(const fixture *f, float x, float y, float z, const char *file, int line)
{
    const float found[] = {get(&f->x), get(&f->y), get(&f->z)};
    if (found[0] == x && found[1] == y && found[2] == z)
        return;
    print_error("x, y and z hold %g, %g and %g, expected %g, %g and %g\n", found[0], found[1], found[2], x, y, z);
    _fail(file, line);
}

bg_graph *capture_of(bg_forward pass, void *user, cudaStream_t stream, const bg_capture_options *options)
{
    bg_graph *graph = NULL;
    EXPECT_OK(bg_capture_forward(&graph, pass, user, stream, options));
    return graph;
}

bg_graph *capture_under(const char *variable, const char *value, bg_forward pass, void *user, cudaStream_t stream,
                        const bg_capture_options *options)
{
    bg_graph *graph;
    set_variable(variable, value);
    graph = capture_of(pass, user, stream, options);
    set_variable(variable, NULL);
    return graph;
}

bg_capture *begin_capture(cudaStream_t stream, const bg_capture_options *options)
{
    bg_capture *capture = NULL;
    EXPECT_OK(bg_capture_begin(&capture, stream, options));
    return capture;
}

bg_graph *end_capture(bg_capture *capture)
{
    bg_graph *graph = NULL;
    EXPECT_OK(bg_capture_end(capture, &graph));
    return graph;
}
