/* Two devices and each other's memory: access that is enabled, and copies between them. */
#include "tests/support/cuda_support.h"

#include <cudaTypedefs.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096 };

static int devices;
static cudaStream_t stream;
static unsigned char *here, *there;

static void *memory_of(int device)
{
    void *memory = NULL;
    OK(cudaSetDevice(device));
    OK(cudaMalloc(&memory, BYTES));
    OK(cudaMemset(memory, device + 1, BYTES));
    OK(cudaDeviceSynchronize());
    return memory;
}

/* A machine with one device has no peers. */
static int setup(void **state)
{
    (void)state;
    OK(cudaGetDeviceCount(&devices));
    if (devices < 2)
        return 0;
    there = memory_of(1);
    here = memory_of(0);
    OK(cudaStreamCreate(&stream));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (devices < 2)
        return 0;
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(here));
    OK(cudaFree(there));
    return 0;
}

static void need_peers(void)
{
    int possible = 0;
    if (devices >= 2)
        OK(cudaDeviceCanAccessPeer(&possible, 0, 1));
    if (!possible) {
        print_message("skipped: needs two devices that can access each other's memory, and there %s %d\n",
                      devices == 1 ? "is" : "are", devices);
        skip();
    }
}

static void expect_bytes(const void *memory, unsigned char value)
{
    unsigned char host[BYTES], wanted[BYTES];
    memset(wanted, value, sizeof wanted);
    OK(cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost));
    assert_memory_equal(host, wanted, sizeof host);
}

/* ---- access ------------------------------------------------------------------------------------------------------ */

static void test_questions(void **state)
{
    (void)state;
    int answer = -1;
    OK(cudaDeviceCanAccessPeer(&answer, 0, 0));
    assert_int_equal(answer, 0);
    EXPECT_CODE(cudaDeviceCanAccessPeer(&answer, -1, 0), cudaErrorInvalidDevice);
    EXPECT_CODE(cudaDeviceCanAccessPeer(&answer, devices, 0), cudaErrorInvalidDevice);
    EXPECT_CODE(cudaDeviceCanAccessPeer(&answer, 0, -1), cudaErrorInvalidDevice);
    EXPECT_CODE(cudaDeviceCanAccessPeer(&answer, 0, devices), cudaErrorInvalidDevice);
    need_peers();
    EXPECT_CODE(cudaDeviceCanAccessPeer(NULL, 0, 1), cudaErrorInvalidValue);
    OK(cudaDeviceGetP2PAttribute(&answer, cudaDevP2PAttrAccessSupported, 0, 1));
    assert_int_equal(answer, 1);
}

static void test_access(void **state)
{
    (void)state;
    EXPECT_CODE(cudaDeviceEnablePeerAccess(-1, 0), cudaErrorInvalidDevice);
    EXPECT_CODE(cudaDeviceEnablePeerAccess(devices, 0), cudaErrorInvalidDevice);
    EXPECT_CODE(cudaDeviceDisablePeerAccess(-1), cudaErrorInvalidDevice);
    EXPECT_CODE(cudaDeviceDisablePeerAccess(devices), cudaErrorInvalidDevice);
    need_peers();
    EXPECT_CODE(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    EXPECT_CODE(cudaDeviceEnablePeerAccess(1, 1), cudaErrorInvalidValue);
    OK(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT_CODE(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    OK(cudaDeviceDisablePeerAccess(1));
    EXPECT_CODE(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static void test_copies(void **state)
{
    (void)state;
    need_peers();
    OK(cudaMemcpyPeer(here, 0, there, 1, BYTES / 2));
    expect_bytes(there, 2);
    OK(cudaMemcpyPeerAsync(here + BYTES / 2, 0, there, 1, BYTES / 2, stream));
    OK(cudaStreamSynchronize(stream));
    expect_bytes(here, 2);
    EXPECT_CODE(cudaMemcpyPeer(NULL, 0, there, 1, BYTES), cudaErrorInvalidValue);
    EXPECT_CODE(cudaMemcpyPeer(here, 0, NULL, 1, BYTES), cudaErrorInvalidValue);
    EXPECT_CODE(cudaMemcpyPeer(here, 0, there, 1, BYTES + 1), cudaErrorInvalidValue);
    EXPECT_CODE(cudaMemcpyPeer(here, devices, there, 1, BYTES), cudaErrorInvalidDevice);
    EXPECT_CODE(cudaMemcpyPeerAsync(here, 0, there, devices, BYTES, stream), cudaErrorInvalidDevice);
}

static void test_copies_in_a_capture(void **state)
{
    (void)state;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    size_t count = 1;
    enum cudaGraphNodeType type;
    need_peers();
    OK(cudaMemset(here, 9, BYTES));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemcpyPeerAsync(here, 0, there, 1, BYTES, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, &node, &count));
    assert_int_equal(count, 1);
    OK(cudaGraphNodeGetType(node, &type));
    assert_int_equal(type, cudaGraphNodeTypeMemcpy);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    expect_bytes(here, 9);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    expect_bytes(here, 2);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

static void test_driver(void **state)
{
    (void)state;
    PFN_cuMemcpyPeer_v4000 copy = NULL;
    PFN_cuDevicePrimaryCtxRetain_v7000 retain = NULL;
    PFN_cuDevicePrimaryCtxRelease_v11000 release = NULL;
    CUcontext contexts[2];
    need_peers();
    driver_entry("cuMemcpyPeer", 4000, &copy);
    driver_entry("cuDevicePrimaryCtxRetain", 7000, &retain);
    driver_entry("cuDevicePrimaryCtxRelease", 11000, &release);
    CU_OK(retain(&contexts[0], 0));
    CU_OK(retain(&contexts[1], 1));
    OK(cudaMemset(here, 9, BYTES));
    CU_OK(copy((CUdeviceptr)(uintptr_t)here, contexts[0], (CUdeviceptr)(uintptr_t)there, contexts[1], BYTES));
    expect_bytes(here, 2);
    CU_OK(release(0));
    CU_OK(release(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_questions),           cmocka_unit_test(test_access), cmocka_unit_test(test_copies),
        cmocka_unit_test(test_copies_in_a_capture), cmocka_unit_test(test_driver),
    };
    setenv("HOSTCUDA_DEVICES", "2", 1); /* a GPU's library does not look */
    return cmocka_run_group_tests_name("peers", tests, setup, teardown);
}
