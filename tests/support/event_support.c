#include "event_support.h"

cudaStream_t third, side;
cudaEvent_t e, f, g, first, last;

int event_setup(void **state)
{
    int failed = fixture_setup(state);
    if (failed)
        return failed;
    EXPECT_CUDA(cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    EXPECT_CUDA(cudaEventCreateWithFlags(&f, cudaEventDisableTiming));
    EXPECT_CUDA(cudaEventCreateWithFlags(&g, cudaEventDisableTiming));
    EXPECT_CUDA(cudaEventCreate(&first));
    EXPECT_CUDA(cudaEventCreate(&last));
    return 0;
}

int event_teardown(void **state)
{
    fixture *fixture = *state;
    EXPECT_CUDA(cudaDeviceSynchronize());
    expect_usable(fixture, third);
    expect_usable(fixture, side);
    EXPECT_CUDA(cudaStreamDestroy(third));
    EXPECT_CUDA(cudaStreamDestroy(side));
    EXPECT_CUDA(cudaEventDestroy(e));
    EXPECT_CUDA(cudaEventDestroy(f));
    EXPECT_CUDA(cudaEventDestroy(g));
    EXPECT_CUDA(cudaEventDestroy(first));
    EXPECT_CUDA(cudaEventDestroy(last));
    return fixture_teardown(state);
}
