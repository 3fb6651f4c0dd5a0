/* Two devices and each other's memory: access that is enabled, and copies between them. */
#include "tests/support/cuda_support.h"

#include <string.h>

TEST_VARIABLE(HOSTCUDA_DEVICES, "2");

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
    skip_unless(possible, "needs two devices that can access each other's memory, and there %s %d",
                devices == 1 ? "is" : "are", devices);
}

static void expect_bytes(const void *memory, unsigned char value)
{
    unsigned char host[BYTES], wanted[BYTES];
    memset(wanted, value, sizeof wanted);
    OK(cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost));
    assert_memory_equal(host, wanted, sizeof host);
}

/* ---- access ------------------------------------------------------------------------------------------------------ */

TEST(test_questions)
{
    int answer = -1;
    OK(cudaDeviceCanAccessPeer(&answer, 0, 0));
    assert_int_equal(answer, 0);
    EXPECT_CODE(cudaDeviceCanAccessPeer(&answer, -1, 0), cudaErrorInvalidDevice);
    EXPECT_CODE(cudaDeviceCanAccessPeer(&answer, devices, 0), cudaErrorInvalidDevice);
    EXPECT_CODE(cudaDeviceCanAccessPeer(&answer, 0, -1), cudaErrorInvalidDevice);
    EXPECT_CODE(cudaDeviceCanAccessPeer(&answer, 0, devices), cudaErrorInvalidDevice);
    need_peers();
    EXPECT_INVALID(cudaDeviceCanAccessPeer(NULL, 0, 1));
    OK(cudaDeviceGetP2PAttribute(&answer, cudaDevP2PAttrAccessSupported, 0, 1));
    assert_int_equal(answer, 1);
}

TEST(test_access)
{
    EXPECT_CODE(cudaDeviceEnablePeerAccess(-1, 0), cudaErrorInvalidDevice);
    EXPECT_CODE(cudaDeviceEnablePeerAccess(devices, 0), cudaErrorInvalidDevice);
    EXPECT_CODE(cudaDeviceDisablePeerAccess(-1), cudaErrorInvalidDevice);
    EXPECT_CODE(cudaDeviceDisablePeerAccess(devices), cudaErrorInvalidDevice);
    need_peers();
    EXPECT_CODE(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    EXPECT_INVALID(cudaDeviceEnablePeerAccess(1, 1));
    OK(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT_CODE(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    OK(cudaDeviceDisablePeerAccess(1));
    EXPECT_CODE(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

TEST(test_copies)
{
    need_peers();
    OK(cudaMemcpyPeer(here, 0, there, 1, BYTES / 2));
    expect_bytes(there, 2);
    OK(cudaMemcpyPeerAsync(here + BYTES / 2, 0, there, 1, BYTES / 2, stream));
    OK(cudaStreamSynchronize(stream));
    expect_bytes(here, 2);
    EXPECT_INVALID(cudaMemcpyPeer(NULL, 0, there, 1, BYTES));
    EXPECT_INVALID(cudaMemcpyPeer(here, 0, NULL, 1, BYTES));
    EXPECT_INVALID(cudaMemcpyPeer(here, 0, there, 1, BYTES + 1));
    EXPECT_CODE(cudaMemcpyPeer(here, devices, there, 1, BYTES), cudaErrorInvalidDevice);
    EXPECT_CODE(cudaMemcpyPeerAsync(here, 0, there, devices, BYTES, stream), cudaErrorInvalidDevice);
}

/* Work on streams of the device: a value for what it copies from, or the bytes of what was copied to. */
static void fill_on(int device, cudaStream_t on, void *memory, int value)
{
    OK(cudaSetDevice(device));
    OK(cudaMemsetAsync(memory, value, BYTES, on));
    OK(cudaSetDevice(0));
}

/* What the devices were given before a copy is done before it, and what they are given after it comes after it. */
static void check_order(cudaStream_t source, cudaStream_t target, unsigned char *copy, int value, bool wait)
{
    fill_on(1, source, there, value);
    fill_on(0, target, here, value + 1);
    OK(wait ? cudaMemcpyPeer(here, 0, there, 1, BYTES) : cudaMemcpyPeerAsync(here, 0, there, 1, BYTES, NULL));
    fill_on(1, source, there, value + 2);
    OK(cudaMemcpyAsync(copy, here, BYTES, cudaMemcpyDefault, target));
    OK(cudaStreamSynchronize(target));
    OK(cudaStreamSynchronize(source));
    expect_bytes(copy, (unsigned char)value);
    expect_bytes(here, (unsigned char)value);
}

TEST(test_order)
{
    enum { SEEDS = 60 };
    const unsigned flags[] = {cudaStreamDefault, cudaStreamNonBlocking};
    need_peers();
    unsigned char *copy = memory_of(0);
    for (unsigned seed = 0; seed < (hostcuda_seed ? SEEDS : 2); seed++) {
        OWNED_STREAM(source);
        OWNED_STREAM(target);
        if (hostcuda_seed)
            hostcuda_seed(seed);
        OK(cudaSetDevice(1));
        OK(cudaStreamCreateWithFlags(&source, flags[seed / 2 % 2]));
        OK(cudaSetDevice(0));
        OK(cudaStreamCreateWithFlags(&target, flags[seed % 2]));
        check_order(source, target, copy, 3, true);
        if (hostcuda_seed) /* CUDA's guide says it of all copies on the default stream; no GPU was asked */
            check_order(source, target, copy, 7, false);
    }
    if (hostcuda_seed)
        hostcuda_seed(0);
    OK(cudaFree(copy));
}

TEST(test_no_copies_in_a_capture)
{
    cudaGraph_t graph = NULL;
    need_peers();
    BEGIN_CAPTURE(stream);
    OK(cudaMemcpyPeerAsync(here, 0, there, 1, 0, stream));
    EXPECT_CODE(cudaMemcpyPeerAsync(here, 0, there, 1, BYTES, stream), cudaErrorStreamCaptureUnsupported);
    EXPECT_CODE(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    assert_null(graph);
}

DRIVER_ENTRY(copy_peer, cuMemcpyPeer, 4000);
DRIVER_ENTRY(retain, cuDevicePrimaryCtxRetain, 7000);
DRIVER_ENTRY(release, cuDevicePrimaryCtxRelease, 11000);
SHARED_TEST(test_driver)
{
    CUcontext contexts[2];
    need_peers();
    CU_OK(retain(&contexts[0], 0));
    CU_OK(retain(&contexts[1], 1));
    OK(cudaMemset(here, 9, BYTES));
    OK(cudaMemset(there, 2, BYTES));
    CU_OK(copy_peer(address_of(here), contexts[0], address_of(there), contexts[1], BYTES));
    expect_bytes(here, 2);
    CU_OK(release(0));
    CU_OK(release(1));
}

TEST_GROUP(setup, teardown);
