#include "event_support.h"

cudaStream_t third, side;
cudaEvent_t e, f, g, first, last;

static cudaStream_t *const streams[] = {&third, &side};
static cudaEvent_t *const events[] = {&e, &f, &g, &first, &last};

int event_setup(void **state)
{
    int failed = fixture_setup(state);
    for (int i = 0; !failed && i < 2; i++)
        EXPECT_CUDA(cudaStreamCreateWithFlags(streams[i], cudaStreamNonBlocking));
    for (int i = 0; !failed && i < 5; i++)
        EXPECT_CUDA(cudaEventCreateWithFlags(events[i], i < 3 ? cudaEventDisableTiming : cudaEventDefault));
    return failed;
}

int event_teardown(void **state)
{
    EXPECT_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 2; i++)
        expect_usable(*state, *streams[i]);
    for (int i = 0; i < 2; i++)
        EXPECT_CUDA(cudaStreamDestroy(*streams[i]));
    for (int i = 0; i < 5; i++)
        EXPECT_CUDA(cudaEventDestroy(*events[i]));
    return fixture_teardown(state);
}

bg_status wait_by(cudaEvent_t event, cudaStream_t waiter, cudaStream_t other)
{
    TRY_BG(bg_event_record(event, other));
    return bg_stream_wait_event(waiter, event);
}
