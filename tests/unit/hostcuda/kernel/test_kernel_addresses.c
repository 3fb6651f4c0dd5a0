/* Kernels that a program names by their address alone. */
#include "tests/support/cuda_support.h"

#include <string.h>

#include "tests/support/kernels/address_kernels.h"

static const dim3 one = {1, 1, 1};

static bool on_host(void)
{
    return strcmp(BG_DEVICE_KIND, "host") == 0;
}

TEST(test_attributes)
{
    const void *const kernels[] = {ak_add(),  ak_multiply(), ak_scale_float(), ak_many(),
                                   ak_none(), ak_of_c(),     ak_of_struct()};
    struct cudaFuncAttributes attributes;
    cudaFunction_t function = NULL;
    cudaKernel_t kernel = NULL;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        OK(cudaFuncGetAttributes(&attributes, kernels[i]));
        assert_true(attributes.maxThreadsPerBlock > 0);
        OK(cudaGetFuncBySymbol(&function, kernels[i]));
        OK(cudaGetKernel(&kernel, kernels[i]));
        OK(cudaFuncSetAttribute(kernels[i], cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
    }
}

TEST(test_launches)
{
    int value = 5, *x = device_memory(sizeof *x);
    void *parameters[] = {&x, &value};
    OK(cudaLaunchKernel(ak_add(), one, one, parameters, 0, NULL));
    value = 7;
    OK(cudaLaunchKernel(ak_multiply(), one, one, parameters, 0, NULL));
    OK(cudaLaunchKernel(ak_none(), one, one, NULL, 0, NULL));
    assert_int_equal(read_int(x, NULL), 35);
    OK(cudaFree(x));
}

/* Each parameter arrives with its sign and its fraction, whether in a register or not. */
TEST(test_many_parameters)
{
    const bool a = true;
    const char b = 'b';
    const signed char c = -3;
    const unsigned char d = 250;
    const short e = -30000;
    const unsigned short f = 65000;
    const int g = -2000000000;
    const unsigned h = 4000000000u;
    const long i = -5;
    const unsigned long j = 6;
    const long long k = -(1ll << 40);
    const unsigned long long l = 1ull << 41;
    const float floats[4] = {0.5f, -1.5f, 2.5f, -3.5f};
    const double doubles[4] = {1e10, -1e11, 1e12, -1e13};
    const double wanted[AK_MANY] = {a,         b,         c,   d,    e,    f,     g,   h,    (double)i, (double)j,
                                    (double)k, (double)l, 0.5, 1e10, -1.5, -1e11, 2.5, 1e12, -3.5,      -1e13};
    double got[AK_MANY + 1], *out = device_memory(sizeof got);
    const void *parameters[] = {&out,        &a,         &b,          &c,         &d,          &e,         &f,
                                &g,          &h,         &i,          &j,         &k,          &l,         &floats[0],
                                &doubles[0], &floats[1], &doubles[1], &floats[2], &doubles[2], &floats[3], &doubles[3]};
    OK(cudaLaunchKernel(ak_many(), one, one, (void **)parameters, 0, NULL));
    OK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int at = 0; at < AK_MANY; at++)
        if (got[at + 1] != wanted[at])
            fail_msg("parameter %d is %g, not %g", at + 1, got[at + 1], wanted[at]);
    OK(cudaFree(out));
}

TEST(test_most_parameters)
{
    int values[AK_LONG], wanted = 0, *sum = device_memory(sizeof *sum);
    void *parameters[AK_LONG] = {&sum};
    for (int i = 1; i < AK_LONG; i++) {
        values[i] = i * i - 1000;
        wanted += i * values[i];
        parameters[i] = &values[i];
    }
    OK(cudaLaunchKernel(ak_long(), one, one, parameters, 0, NULL));
    assert_int_equal(read_int(sum, NULL), wanted);
    OK(cudaFree(sum));
}

TEST(test_templates)
{
    float *x = device_memory(sizeof *x), single = 3, factor = 0.5f;
    double *y = device_memory(sizeof *y), twice = 5, by = -0.25;
    void *of_float[] = {&x, &factor}, *of_double[] = {&y, &by};
    OK(cudaMemcpy(x, &single, sizeof single, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(y, &twice, sizeof twice, cudaMemcpyHostToDevice));
    OK(cudaLaunchKernel(ak_scale_float(), one, one, of_float, 0, NULL));
    OK(cudaLaunchKernel(ak_scale_double(), one, one, of_double, 0, NULL));
    OK(cudaMemcpy(&single, x, sizeof single, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(&twice, y, sizeof twice, cudaMemcpyDeviceToHost));
    assert_true(single == 1.5f);
    assert_true(twice == -1.25);
    OK(cudaFree(x));
    OK(cudaFree(y));
}

TEST(test_halves)
{
    const unsigned short half = 0x3e00, brain = 0x4010; /* 1.5 and 2.25 */
    float sum = 0, *out = device_memory(sizeof *out);
    const void *parameters[] = {&out, &half, &brain};
    OK(cudaLaunchKernel(ak_half(), one, one, (void **)parameters, 0, NULL));
    OK(cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost));
    assert_true(sum == 3.75f);
    OK(cudaFree(out));
}

TEST(test_nodes)
{
    int value = 5, *x = device_memory(sizeof *x);
    void *parameters[] = {&x, &value};
    struct cudaKernelNodeParams node = {(void *)(uintptr_t)ak_add(), one, one, 0, parameters, NULL}, got;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t added = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddKernelNode(&added, graph, NULL, 0, &node));
    OK(cudaGraphKernelNodeGetParams(added, &got));
    assert_ptr_equal(got.func, node.func);
    assert_int_equal(*(int *)got.kernelParams[1], 5);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, NULL));
    node.func = (void *)(uintptr_t)ak_multiply();
    value = 3;
    OK(cudaGraphExecKernelNodeSetParams(exec, added, &node));
    OK(cudaGraphLaunch(exec, NULL));
    assert_int_equal(read_int(x, NULL), 15);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(x));
}

static void expect_parameter(const void *kernel, size_t index, size_t offset, size_t bytes)
{
    size_t found_offset = 0, found_bytes = 0;
    OK(cudaFuncGetParamInfo(kernel, index, &found_offset, &found_bytes));
    assert_int_equal(found_offset, offset);
    assert_int_equal(found_bytes, bytes);
}

TEST(test_layout)
{
    size_t offset = 0, bytes = 0;
    expect_parameter(ak_many(), 0, 0, 8);
    expect_parameter(ak_many(), 1, 8, 1);
    expect_parameter(ak_many(), 5, 12, 2);
    expect_parameter(ak_many(), 7, 16, 4);
    expect_parameter(ak_many(), 9, 24, 8);
    expect_parameter(ak_many(), 13, 56, 4);
    expect_parameter(ak_many(), 14, 64, 8);
    EXPECT_INVALID(cudaFuncGetParamInfo(ak_many(), AK_MANY + 1, &offset, &bytes));
}

/* The host device must be shown what the kernel takes before it is launched by its address. */
TEST(test_untold_parameters)
{
    struct ak_pair pair = {50, 8};
    int value = 5, *x = device_memory(sizeof *x);
    void *of_struct[] = {&x, &pair}, *of_c[] = {&x, &value};
    if (on_host()) {
        EXPECT_CODE(cudaLaunchKernel(ak_of_struct(), one, one, of_struct, 0, NULL), cudaErrorNotSupported);
        EXPECT_CODE(cudaLaunchKernel(ak_of_c(), one, one, of_c, 0, NULL), cudaErrorNotSupported);
    }
    OK(ak_show());
    OK(cudaLaunchKernel(ak_of_struct(), one, one, of_struct, 0, NULL));
    OK(cudaLaunchKernel(ak_of_c(), one, one, of_c, 0, NULL));
    assert_int_equal(read_int(x, NULL), 47);
    OK(cudaFree(x));
}

/* A launch by its address is queued meanwhile. */
TEST(test_shown_later)
{
    int value = 5, *x = device_memory(sizeof *x);
    void *parameters[] = {&x, &value};
    OK(cudaLaunchKernel(ak_add(), one, one, parameters, 0, NULL));
    OK(cudaLaunchKernel(ak_multiply(), one, one, parameters, 0, NULL));
    OK(ak_show_multiply());
    OK(cudaLaunchKernel(ak_multiply(), one, one, parameters, 0, NULL));
    OK(ak_show_multiply());
    assert_int_equal(read_int(x, NULL), 125);
    OK(cudaFree(x));
}

TEST(test_no_kernel)
{
    int value = 5, *x = device_memory(sizeof *x);
    void *parameters[] = {&x, &value};
    struct cudaFuncAttributes attributes;
    assert_int_not_equal(cudaLaunchKernel(ak_no_kernel(), one, one, parameters, 0, NULL), cudaSuccess);
    assert_int_not_equal(cudaFuncGetAttributes(&attributes, ak_no_kernel()), cudaSuccess);
    assert_int_not_equal(cudaFuncGetAttributes(&attributes, &value), cudaSuccess);
    (void)cudaGetLastError();
    assert_int_equal(read_int(x, NULL), 0);
    OK(cudaFree(x));
}
