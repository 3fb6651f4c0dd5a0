/* HOSTCUDA_FAIL: calls that fail on request, faults that come later, and the record of calls. Host device only. */
#include "tests/support/cuda_support.h"

#include <cublas_v2.h>
#include "kernels/model/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TESTS_ON_HOST_DEVICE("HOSTCUDA_FAIL");
#define FAULT_TEST(name) TEST_F(name, NULL, no_faults, void *state)

#define FAILING(faults)    assert_int_equal(hostcuda_fail(faults), 0)
#define FAILS(call, error) assert_int_equal(call, error)

enum { N = 64 };

static char self[4096];

static int no_faults(void **state)
{
    (void)state;
    hostcuda_record(0);
    assert_int_equal(hostcuda_fail(NULL), 0);
    return 0;
}

/* ---- calls that fail -------------------------------------------------------------------------------------------- */

FAULT_TEST(test_the_nth_call_fails_and_does_nothing)
{
    void *memory[3] = {NULL, NULL, NULL};
    struct hostcuda_live before = hostcuda_count_live();
    FAILING("cudaMalloc@2=cudaErrorMemoryAllocation");
    OK(cudaMalloc(&memory[0], N));
    FAILS(cudaMalloc(&memory[1], N), cudaErrorMemoryAllocation);
    OK(cudaMalloc(&memory[2], N));
    assert_null(memory[1]);
    assert_int_equal(hostcuda_faults(), 1);
    assert_int_equal(hostcuda_count_live().blocks, before.blocks + 2);
    FAILS(cudaGetLastError(), cudaErrorMemoryAllocation);
    OK(cudaGetLastError());
    OK(cudaFree(memory[0]));
    OK(cudaFree(memory[2]));
    assert_int_equal(hostcuda_count_live().blocks, before.blocks);
}

FAULT_TEST(test_any_call_and_several)
{
    int device = -1;
    cudaEvent_t event = NULL;
    FAILING("*@2=999,cudaGetDevice@2=cudaErrorNotSupported,*@4=cudaErrorNotPermitted");
    OK(cudaGetDevice(&device));
    FAILS(cudaEventCreate(&event), cudaErrorUnknown);
    FAILS(cudaGetDevice(&device), cudaErrorNotSupported);
    FAILS(cudaGetLastError(), cudaErrorNotSupported); /* does not count */
    FAILS(cudaGetDevice(&device), cudaErrorNotPermitted);
    assert_int_equal(hostcuda_faults(), 3);
    OK(cudaGetDevice(&device));
    FAILS(cudaGetLastError(), cudaErrorNotPermitted);
}

/* Calls of tools are counted apart, not recorded, and leave the program's last error as it is. */
FAULT_TEST(test_tools_are_not_the_program)
{
    int device = -1;
    FAILING("cudaGetDevice@2=999,tools:*@2=cudaErrorNotPermitted,tools:cudaSetDevice@1=1");
    hostcuda_record(1);
    OK(cudaGetDevice(&device));
    hostcuda_tool(1);
    OK(cudaGetDevice(&device));
    hostcuda_tool(1);
    FAILS(cudaGetDevice(&device), cudaErrorNotPermitted);
    hostcuda_tool(0);
    FAILS(cudaSetDevice(0), cudaErrorInvalidValue);
    FAILS(cudaPeekAtLastError(), cudaErrorInvalidValue);
    hostcuda_tool(0);
    OK(cudaPeekAtLastError());
    FAILS(cudaGetDevice(&device), cudaErrorUnknown);
    hostcuda_tool(1);
    OK(cudaGetLastError());
    hostcuda_tool(0);
    FAILS(cudaGetLastError(), cudaErrorUnknown);
    assert_int_equal(hostcuda_faults(), 3);
    assert_int_equal(hostcuda_calls(NULL), 2);
}

/* Capturing, a call that fails on request does the capture no harm. */
FAULT_TEST(test_a_capture_goes_on)
{
    OWNED_STREAM(stream);
    OWNED_CUDA_GRAPH(graph);
    OWNED_EXEC(exec);
    DEVICE_MEMORY(float, x, N);
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    FAILING("cudaLaunchKernelEx@1=cudaErrorLaunchOutOfResources,cudaStreamEndCapture@1=1,"
            "cudaGraphInstantiate@1=cudaErrorMemoryAllocation");
    BEGIN_CAPTURE(stream);
    FAILS(bgk_fill(x, 1, N, stream), cudaErrorLaunchOutOfResources);
    OK(bgk_fill(x, 1, N, stream));
    FAILS(cudaStreamEndCapture(stream, &graph), cudaErrorInvalidValue);
    OK(cudaStreamEndCapture(stream, &graph));
    assert_int_equal(nodes_of(graph), 1);
    FAILS(cudaGraphInstantiate(&exec, graph, 0), cudaErrorMemoryAllocation);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    assert_int_equal(hostcuda_faults(), 3);
    FAILS(cudaGetLastError(), cudaErrorMemoryAllocation);
}

FAULT_TEST(test_cublas)
{
    const float one = 1, zero = 0;
    cublasHandle_t handle = NULL;
    DEVICE_MEMORY(float, x, 3);
    FAILING("cublasSgemm@1=CUBLAS_STATUS_EXECUTION_FAILED,cublasSgemm_v2@2=11,*@2=cudaErrorMemoryAllocation");
    assert_int_equal(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetStream(handle, cudaStreamPerThread), CUBLAS_STATUS_ALLOC_FAILED);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, x, 1, x + 1, 1, &zero, x + 2, 1),
                         i == 0   ? CUBLAS_STATUS_EXECUTION_FAILED
                         : i == 1 ? CUBLAS_STATUS_MAPPING_ERROR
                                  : CUBLAS_STATUS_SUCCESS);
    assert_int_equal(hostcuda_faults(), 3);
    OK(cudaGetLastError()); /* cuBLAS's errors are its own */
    assert_int_equal(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
}

/* ---- faults that come later ------------------------------------------------------------------------------------- */

static void child_later(const char *wait)
{
    cudaStream_t stream = NULL;
    cudaEvent_t event = NULL;
    float *x = NULL, host[N];
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreate(&event));
    OK(cudaMalloc((void **)&x, N * sizeof *x));
    for (int i = 0; i < 4; i++)
        OK(bgk_fill(x, 1, N, stream)); /* the fault is the third's, and nobody has waited */
    OK(cudaEventRecord(event, stream));
    OK(cudaPeekAtLastError());
    cudaError_t error = !strcmp(wait, "stream")   ? cudaStreamSynchronize(stream)
                        : !strcmp(wait, "event")  ? cudaEventSynchronize(event)
                        : !strcmp(wait, "device") ? cudaDeviceSynchronize()
                                                  : cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
    if (!strcmp(wait, "query"))
        while ((error = cudaStreamQuery(stream)) == cudaErrorNotReady)
            continue;
    FAILS(error, cudaErrorIllegalAddress);
    FAILS(cudaGetLastError(), cudaErrorIllegalAddress);
    FAILS(cudaGetLastError(), cudaErrorIllegalAddress); /* it stays */
    FAILS(bgk_fill(x, 1, N, stream), cudaErrorIllegalAddress);
    FAILS(cudaMalloc((void **)&x, N), cudaErrorIllegalAddress);
    OK(cudaStreamDestroy(stream));
    OK(cudaEventDestroy(event));
}

/* ---- a program under HOSTCUDA_FAIL ------------------------------------------------------------------------------ */

/* Runs this program with an argument, and returns what it printed. */
static char *run_child(const char *faults, const char *argument, int *status)
{
    static char output[8192];
    char command[5000];
    size_t used = 0;
    snprintf(command, sizeof command, "HOSTCUDA_FAIL='%s' '%s' %s 2>&1", faults, self, argument);
    fflush(NULL);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    used = fread(output, 1, sizeof output - 1, pipe);
    output[used] = 0;
    *status = pclose(pipe);
    return output;
}

FAULT_TEST(test_a_later_fault_comes_up_at_the_next_wait)
{
    static const char *const waits[] = {"stream", "event", "device", "copy", "query"};
    int status = 0;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        const char *output = run_child("cudaLaunchKernelExC@3~cudaErrorIllegalAddress", waits[i], &status);
        if (status != 0)
            fail_msg("%s: status %d, %s", waits[i], status, output);
    }
}

static void child_count(void)
{
    int count = 0;
    printf("first %s\n", cudaGetErrorName(cudaGetDeviceCount(&count)));
    printf("second %s\n", cudaGetErrorName(cudaGetDeviceCount(&count)));
}

static void expect_output(const char *faults, const char *text)
{
    int status = 0;
    const char *output = run_child(faults, "count", &status);
    if (strstr(output, text) == NULL || status != 0)
        fail_msg("HOSTCUDA_FAIL=%s: status %d, expected \"%s\" in: %s", faults, status, text, output);
}

FAULT_TEST(test_the_environment)
{
    expect_output("", "first cudaSuccess\nsecond cudaSuccess\n");
    expect_output("cudaGetDeviceCount@2=cudaErrorNoDevice", "first cudaSuccess\nsecond cudaErrorNoDevice\n");
    expect_output("cudaGetDeviceCount@1=100", "first cudaErrorNoDevice\nsecond cudaSuccess\n");
    expect_output("cudaGetDeviceCnt@1=100", "cudaGetDeviceCnt@1 did not happen: there were 0 such calls");
    expect_output("*@3=100", "*@3 did not happen: there were 2 such calls");
}

FAULT_TEST(test_what_is_ill_formed)
{
    static const struct {
        const char *faults, *why;
    } cases[] = {
        {"cudaMalloc", "of \"cudaMalloc\": @N, the number of the call, is missing"},
        {"cudaMalloc@1", "=CODE or ~CODE is missing"},
        {"cudaMalloc@1,cudaFree@1=2",
         "fault \"cudaMalloc@1\" of \"cudaMalloc@1,cudaFree@1=2\": =CODE or ~CODE is missing"},
        {"cudaMalloc@0=2", "the number behind @ must be 1 or more"},
        {"cudaMalloc@=2", "the number behind @ must be 1 or more"},
        {"cudaMalloc@-1=2", "the number behind @ must be 1 or more"},
        {"cudaMalloc@x=2", "the number behind @ must be 1 or more"},
        {"cudaMalloc@99999999999999999999=2", "the number behind @ must be 1 or more"},
        {"cudaMalloc@1=cudaErrorNonsense", "the code is neither a cudaError_t"},
        {"cudaMalloc@1=", "the code is neither a cudaError_t"},
        {"cudaMalloc@1=CUBLAS_STATUS_ALLOC_FAILED", "the code is neither a cudaError_t"},
        {"cublasSgemm@1=cudaErrorUnknown", "the code is not a cublasStatus_t"},
        {"cudaMalloc@1=cudaSuccess", "the code is success"},
        {"cudaMalloc@1=0", "the code is success"},
        {"malloc@1=2", "the name before @ must be a function of CUDA, cuBLAS or NCCL"},
        {"@1=2", "the name before @ must be a function of CUDA, cuBLAS or NCCL"},
        {"cuda Malloc@1=2", "the name before @ must be a function of CUDA, cuBLAS or NCCL"},
        {"**@1=2", "the name before @ must be a function of CUDA, cuBLAS or NCCL"},
        {"cudaGetLastError@1=2", "never fails and is not counted"},
        {"cudaFree@1=2,", "fault \"\" of"},
        {",", "fault \"\" of"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_output(cases[i].faults, cases[i].why);
        expect_output(cases[i].faults, "write NAME@N=CODE");
        expect_output(cases[i].faults, "first cudaErrorInitializationError");
    }
}

FAULT_TEST(test_an_ill_formed_request_sets_nothing)
{
    int device = 0;
    FAILING("cudaGetDevice@1=1");
    assert_int_not_equal(hostcuda_fail("cudaGetDevice@1=1,nonsense"), 0);
    OK(cudaGetDevice(&device));
    assert_int_equal(hostcuda_faults(), 0);
}

/* ---- the record of calls ---------------------------------------------------------------------------------------- */

FAULT_TEST(test_calls_are_recorded_in_order)
{
    static const char expected[] =
        "cudaStreamCreate cudaStreamCreateWithFlags cudaStreamCreateWithPriority cudaEventCreate cudaEventRecord "
        "cudaMalloc cudaMallocHost cudaHostAlloc cudaFree cudaFreeHost cudaFreeHost cudaRuntimeGetVersion cublasCreate "
        "cublasDestroy cudaEventDestroy cudaStreamDestroy cudaStreamDestroy cudaStreamDestroy ";
    char calls[sizeof expected + 64] = "";
    cudaStream_t streams[3];
    cudaEvent_t event;
    cublasHandle_t handle;
    void *memory[3];
    int version;
    hostcuda_record(1);
    OK(cudaStreamCreate(&streams[0]));
    OK(cudaStreamCreateWithFlags(&streams[1], cudaStreamDefault));
    OK(cudaStreamCreateWithPriority(&streams[2], cudaStreamDefault, 0));
    OK(cudaEventCreate(&event));
    OK(cudaEventRecord(event, streams[0]));
    OK(cudaMalloc(&memory[0], N));
    OK(cudaMallocHost(&memory[1], N));
    OK(cudaHostAlloc(&memory[2], N, cudaHostAllocDefault));
    OK(cudaFree(memory[0]));
    OK(cudaFreeHost(memory[1]));
    OK(cudaFreeHost(memory[2]));
    OK(cudaRuntimeGetVersion(&version));
    OK(cudaGetLastError());
    assert_int_equal(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
    OK(cudaEventDestroy(event));
    for (int i = 0; i < 3; i++)
        OK(cudaStreamDestroy(streams[i]));
    hostcuda_record(0);
    OK(cudaRuntimeGetVersion(&version));
    for (size_t i = 0; hostcuda_call(i) && strlen(calls) < sizeof expected; i++)
        strcat(strcat(calls, hostcuda_call(i)), " ");
    assert_string_equal(calls, expected);
    assert_int_equal(hostcuda_calls(NULL), 18);
    assert_int_equal(hostcuda_calls("cudaStreamDestroy"), 3);
    assert_int_equal(hostcuda_calls("cudaMemcpy"), 0);
}

FAULT_TEST(test_what_is_live_is_counted)
{
    cudaStream_t stream;
    cudaEvent_t event;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    void *memory;
    struct hostcuda_live none = hostcuda_count_live(), live;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&event));
    OK(cudaMalloc(&memory, N));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    live = hostcuda_count_live();
    assert_int_equal(live.streams, none.streams + 1);
    assert_int_equal(live.events, none.events + 1);
    assert_int_equal(live.blocks, none.blocks + 1);
    assert_int_equal(live.graphs, none.graphs + 1);
    assert_int_equal(live.execs, none.execs + 1);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(memory));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
    live = hostcuda_count_live();
    assert_memory_equal(&live, &none, sizeof live);
}

/* ---- one of its children ---------------------------------------------------------------------------------------- */

static const char *wanted;

static void child(void **state)
{
    (void)state;
    if (!strcmp(wanted, "count"))
        child_count();
    else
        child_later(wanted);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest children[] = {cmocka_unit_test(child)};
    wanted = argc > 1 ? argv[1] : NULL;
    if (wanted) {
        int failed = cmocka_run_group_tests(children, NULL, NULL);
        fflush(NULL);
        if (strcmp(wanted, "count") != 0)
            _exit(failed); /* a lost device takes no memory back, which is no leak */
        return failed;
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    return length < 0 ? 1 : run_registered_tests(NULL);
}
