/* Order between users of the same memory on several streams: an event and a wait, where the stream changes. */
#include "memory/memory.h"

bg_status bg__last_use_init(bg__last_use *use)
{
    bg_status status = BG_OK;
    *use = (bg__last_use){.stream = NULL};
    BG__TRY_CUDA(cudaEventCreateWithFlags(&use->event, cudaEventDisableTiming));
done:
    return status;
}

void bg__last_use_clear(bg__last_use *use)
{
    if (use->event != NULL)
        BG__RELEASE(cudaEventDestroy(use->event));
    *use = (bg__last_use){.stream = NULL};
}

bg_status bg__last_use_order_stream(bg__last_use *use, cudaStream_t stream)
{
    bg_status status = BG_OK;
    if (use->stream == stream)
        return BG_OK;
    if (use->stream != NULL) {
        BG__TRY_CUDA(cudaEventRecord(use->event, use->stream));
        use->ordered = true;
        use->stream = NULL;
    }
    if (use->ordered)
        BG__TRY_CUDA(cudaStreamWaitEvent(stream, use->event, 0));
    use->ordered = false;
    use->stream = stream;
done:
    return status;
}

cudaError_t bg__last_use_record_event(bg__last_use *use, cudaStream_t stream)
{
    cudaError_t error = cudaEventRecord(use->event, stream);
    use->ordered = error == cudaSuccess;
    use->stream = error == cudaSuccess ? NULL : stream;
    return error;
}
