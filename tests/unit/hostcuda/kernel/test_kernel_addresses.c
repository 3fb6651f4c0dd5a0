/* Kernels that a program names by their address alone. */
#include "tests/support/cuda_support.h"

#include "tests/support/kernels/address_kernels.h"

static const dim3 one = {1, 1, 1};

static cudaError_t launch(const void *kernel, void **parameters)
{
    return cudaLaunchKernel(kernel, one, one, parameters, 0, NULL);
}

/* For kernels of int *x, int value. */
#define PARAMETERS                                                                                                     \
    DEVICE_MEMORY(int, x, 1);                                                                                          \
    int value = 5;                                                                                                     \
    void *parameters[] = {&x, &value}

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
    PARAMETERS;
    OK(launch(ak_add(), parameters));
    value = 7;
    OK(launch(ak_multiply(), parameters));
    OK(launch(ak_none(), NULL));
    assert_int_equal(read_int(x, NULL), 35);
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
    double got[AK_MANY + 1];
    DEVICE_MEMORY(double, out, AK_MANY + 1);
    const void *parameters[] = {&out,        &a,         &b,          &c,         &d,          &e,         &f,
                                &g,          &h,         &i,          &j,         &k,          &l,         &floats[0],
                                &doubles[0], &floats[1], &doubles[1], &floats[2], &doubles[2], &floats[3], &doubles[3]};
    OK(launch(ak_many(), (void **)parameters));
    OK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int at = 0; at < AK_MANY; at++)
        if (got[at + 1] != wanted[at])
            fail_msg("parameter %d is %g, not %g", at + 1, got[at + 1], wanted[at]);
}

TEST(test_most_parameters)
{
    int values[AK_LONG], wanted = 0;
    DEVICE_MEMORY(int, sum, 1);
    void *parameters[AK_LONG] = {&sum};
    for (int i = 1; i < AK_LONG; i++) {
        values[i] = i * i - 1000;
        wanted += i * values[i];
        parameters[i] = &values[i];
    }
    OK(launch(ak_long(), parameters));
    assert_int_equal(read_int(sum, NULL), wanted);
}

TEST(test_templates)
{
    float single = 3, factor = 0.5f;
    double twice = 5, by = -0.25;
    DEVICE_MEMORY(float, x, 1);
    DEVICE_MEMORY(double, y, 1);
    void *of_float[] = {&x, &factor}, *of_double[] = {&y, &by};
    OK(cudaMemcpy(x, &single, sizeof single, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(y, &twice, sizeof twice, cudaMemcpyHostToDevice));
    OK(launch(ak_scale_float(), of_float));
    OK(launch(ak_scale_double(), of_double));
    OK(cudaMemcpy(&single, x, sizeof single, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(&twice, y, sizeof twice, cudaMemcpyDeviceToHost));
    assert_true(single == 1.5f);
    assert_true(twice == -1.25);
}

TEST(test_halves)
{
    const unsigned short half = 0x3e00, brain = 0x4010; /* 1.5 and 2.25 */
    float sum = 0;
    DEVICE_MEMORY(float, out, 1);
    const void *parameters[] = {&out, &half, &brain};
    OK(launch(ak_half(), (void **)parameters));
    OK(cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost));
    assert_true(sum == 3.75f);
}

TEST(test_nodes)
{
    PARAMETERS;
    struct cudaKernelNodeParams node = {(void *)(uintptr_t)ak_add(), one, one, 0, parameters, NULL}, got;
    cudaGraphNode_t added = NULL;
    NEW_GRAPH(graph);
    OK(cudaGraphAddKernelNode(&added, graph, NULL, 0, &node));
    OK(cudaGraphKernelNodeGetParams(added, &got));
    assert_ptr_equal(got.func, node.func);
    assert_int_equal(*(int *)got.kernelParams[1], 5);
    EXEC_OF(exec, graph);
    OK(cudaGraphLaunch(exec, NULL));
    node.func = (void *)(uintptr_t)ak_multiply();
    value = 3;
    OK(cudaGraphExecKernelNodeSetParams(exec, added, &node));
    OK(cudaGraphLaunch(exec, NULL));
    assert_int_equal(read_int(x, NULL), 15);
}

TEST(test_layout)
{
    static const struct {
        size_t index, offset, bytes;
    } places[] = {{0, 0, 8}, {1, 8, 1}, {5, 12, 2}, {7, 16, 4}, {9, 24, 8}, {13, 56, 4}, {14, 64, 8}};
    size_t offset = 0, bytes = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        OK(cudaFuncGetParamInfo(ak_many(), places[i].index, &offset, &bytes));
        if (offset != places[i].offset || bytes != places[i].bytes)
            fail_msg("parameter %zu: %zu bytes at %zu", places[i].index, bytes, offset);
    }
    EXPECT_INVALID(cudaFuncGetParamInfo(ak_many(), AK_MANY + 1, &offset, &bytes));
}

/* The host device must be shown what the kernel takes before it is launched by its address. */
TEST(test_untold_parameters)
{
    struct ak_pair pair = {50, 8};
    PARAMETERS;
    void *of_struct[] = {&x, &pair};
    if (on_host_device()) {
        EXPECT_CODE(launch(ak_of_struct(), of_struct), cudaErrorNotSupported);
        EXPECT_CODE(launch(ak_of_c(), parameters), cudaErrorNotSupported);
    }
    OK(ak_show());
    OK(launch(ak_of_struct(), of_struct));
    OK(launch(ak_of_c(), parameters));
    assert_int_equal(read_int(x, NULL), 47);
}

/* A launch by its address is queued meanwhile. */
TEST(test_shown_later)
{
    PARAMETERS;
    OK(launch(ak_add(), parameters));
    OK(launch(ak_multiply(), parameters));
    OK(ak_show_multiply());
    OK(launch(ak_multiply(), parameters));
    OK(ak_show_multiply());
    assert_int_equal(read_int(x, NULL), 125);
}

TEST(test_no_kernel)
{
    PARAMETERS;
    struct cudaFuncAttributes attributes;
    assert_int_not_equal(launch(ak_no_kernel(), parameters), cudaSuccess);
    assert_int_not_equal(cudaFuncGetAttributes(&attributes, ak_no_kernel()), cudaSuccess);
    assert_int_not_equal(cudaFuncGetAttributes(&attributes, &value), cudaSuccess);
    (void)cudaGetLastError();
    assert_int_equal(read_int(x, NULL), 0);
}
