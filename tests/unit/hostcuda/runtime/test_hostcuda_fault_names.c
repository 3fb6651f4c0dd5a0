/* HOSTCUDA_FAIL for the driver's functions and NCCL's, by the names and codes that programs write. Host device only. */
#include "tests/support/cuda_support.h"

#ifdef BG_NCCL
#define TEST_NCCL 1
#include <nccl.h>
#endif

#include <string.h>

TESTS_ON_HOST_DEVICE("HOSTCUDA_FAIL");

#define FAILING(faults)    assert_int_equal(hostcuda_fail(faults), 0)
#define FAILS(call, error) assert_int_equal(call, error)

static int no_faults(void **state)
{
    (void)state;
    hostcuda_record(0);
    assert_int_equal(hostcuda_fail(NULL), 0);
    return 0;
}

#define HOSTCUDA_FAULT_NAMES_TEST(name) TEST_F(name, NULL, no_faults, void *state)

/* cuda.h calls it cuMemGetAddressRange_v2, no program does. */
HOSTCUDA_FAULT_NAMES_TEST(test_driver)
{
    CUdeviceptr base = 0;
    size_t bytes = 0;
    PFN_cuMemGetAddressRange_v3020 range = NULL;
    driver_entry("cuMemGetAddressRange", 13000, cudaEnableDefault, &range);
    DEVICE_MEMORY(char, memory, 64);
    hostcuda_record(1);
    FAILING("cuMemGetAddressRange@1=CUDA_ERROR_OUT_OF_MEMORY,cuMemGetAddressRange_v2@2=801,"
            "cuMemGetAddressRange@3=cudaErrorUnknown");
    FAILS(range(&base, &bytes, address_of(memory)), CUDA_ERROR_OUT_OF_MEMORY);
    FAILS(range(&base, &bytes, address_of(memory)), CUDA_ERROR_NOT_SUPPORTED);
    FAILS(range(&base, &bytes, address_of(memory)), CUDA_ERROR_UNKNOWN);
    FAILS(range(&base, &bytes, address_of(memory)), CUDA_SUCCESS);
    assert_int_equal(hostcuda_faults(), 3);
    assert_string_equal(hostcuda_call(0), "cuMemGetAddressRange");
    assert_int_equal(hostcuda_calls("cuMemGetAddressRange"), 4);
    OK(cudaGetLastError()); /* the driver's errors are its own */
    assert_int_equal(bytes, 64);
}

HOSTCUDA_FAULT_NAMES_TEST(test_entry_point)
{
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSuccess;
    FAILING("cudaGetDriverEntryPointByVersion@1=CUDA_ERROR_NOT_FOUND");
    FAILS(cudaGetDriverEntryPointByVersion("cuInit", &function, 13000, 0, &status), cudaErrorSymbolNotFound);
    OK(cudaGetDriverEntryPointByVersion("cuInit", &function, 13000, 0, &status));
    FAILS(cudaGetLastError(), cudaErrorSymbolNotFound);
    assert_int_equal(hostcuda_fail("cuDriverGetVersion@1=1"), -1);
    assert_int_equal(hostcuda_fail("cudaMalloc@1=CUDA_SUCCESS"), -1);
    assert_int_equal(hostcuda_fail("cuInit@1=ncclSystemError"), -1);
}

#ifdef TEST_NCCL
HOSTCUDA_FAULT_NAMES_TEST(test_nccl)
{
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    int host = 5;
    DEVICE_MEMORY(int, x, 2);
    OK(cudaMemcpy(x, &host, sizeof host, cudaMemcpyHostToDevice));
    hostcuda_record(1);
    FAILING("ncclGetUniqueId@1=ncclSystemError,ncclCommInitRankConfig@1=ncclInternalError,"
            "ncclAllReduce@2=ncclInvalidUsage,*@6=cudaErrorUnknown,ncclGroupEnd@1=6");
    FAILS(ncclGetUniqueId(&id), ncclSystemError);
    assert_non_null(strstr(ncclGetLastError(NULL), "ncclGetUniqueId fails as HOSTCUDA_FAIL asks"));
    FAILS(ncclGetUniqueId(&id), ncclSuccess);
    FAILS(ncclCommInitRank(&comm, 1, id, 0), ncclInternalError);
    assert_null(comm);
    FAILS(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
    FAILS(ncclAllReduce(x, x + 1, 1, ncclInt, ncclSum, comm, cudaStreamPerThread), ncclSuccess);
    FAILS(ncclBroadcast(x, x, 1, ncclInt, 0, comm, cudaStreamPerThread), ncclUnhandledCudaError);
    FAILS(ncclAllReduce(x, x, 1, ncclInt, ncclSum, comm, cudaStreamPerThread), ncclInvalidUsage);
    FAILS(ncclGroupStart(), ncclSuccess);
    FAILS(ncclGroupEnd(), ncclRemoteError);
    assert_int_equal(hostcuda_faults(), 5);
    assert_int_equal(hostcuda_calls("ncclAllReduce"), 2);
    assert_int_equal(hostcuda_calls(NULL), 8);
    OK(cudaGetLastError()); /* NCCL's errors are its own */
    assert_int_equal(read_int(x + 1, cudaStreamPerThread), 5);
    FAILS(ncclCommDestroy(comm), ncclSuccess);
    assert_int_equal(hostcuda_fail("ncclAllReduce@1=cudaErrorUnknown"), -1);
    assert_int_equal(hostcuda_fail("ncclGroupStart@1=1"), -1);
}
#else
TEST(test_nccl)
{
    skip_unless(false, "nccl.h is missing");
}
#endif
