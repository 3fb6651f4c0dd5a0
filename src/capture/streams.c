/* Streams that take part in a capture. A stream that waits on one of them becomes a member, and stays one. */
#include "capture/capture.h"

#include <stdlib.h>

static bg__member *find(const bg_capture *capture, cudaStream_t stream)
{
    for (int i = 0; i < capture->member_count; i++)
        if (capture->members[i].stream == stream)
            return &capture->members[i];
    return NULL;
}

bool bg__capture_has(const bg_capture *capture, cudaStream_t stream)
{
    return stream == capture->origin || find(capture, stream) != NULL;
}

bg_status bg__capture_add_member(bg_capture *capture, cudaStream_t stream, const bg_site *site, bg__member **member)
{
    bg_status status = BG_OK;
    cudaEvent_t event = NULL;

    if (capture->member_count == capture->member_capacity) {
        int capacity = capture->member_capacity ? 2 * capture->member_capacity : 4;
        bg__member *members = realloc(capture->members, (size_t)capacity * sizeof *members);
        if (members == NULL)
            return bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for %d streams", capacity);
        capture->members = members;
        capture->member_capacity = capacity;
    }
    BG__TRY_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    BG__TRY(bg__captured_add(stream));
    *member = &capture->members[capture->member_count++];
    **member = (bg__member){.stream = stream, .event = event};
    if (site != NULL)
        (*member)->site = *site;
    event = NULL;
done:
    if (event != NULL)
        (void)cudaEventDestroy(event);
    return status;
}

bg_status bg__capture_join(bg_capture *capture)
{
    bg_status status = BG_OK;
    for (int i = 0; i < capture->member_count; i++) {
        BG__TRY_CUDA(cudaEventRecord(capture->members[i].event, capture->members[i].stream));
        BG__TRY_CUDA(cudaStreamWaitEvent(capture->origin, capture->members[i].event, 0));
    }
done:
    return status;
}

static bg_status wait_plain(cudaStream_t waiter, cudaStream_t on)
{
    bg_status status = BG_OK;
    cudaEvent_t event = NULL;
    BG__TRY_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    BG__TRY_CUDA(cudaEventRecord(event, on));
    BG__TRY_CUDA(cudaStreamWaitEvent(waiter, event, 0));
done:
    if (event != NULL)
        (void)cudaEventDestroy(event); /* the wait stays */
    return status;
}

static bg_status wait_in_capture(bg_capture *capture, cudaStream_t waiter, cudaStream_t on, const bg_site *site)
{
    cudaEvent_t event = capture->event;
    bg_status status = BG_OK;
    bg__member *member;

    if (!bg__capture_has(capture, on))
        return bg__fail(BG_ERROR_ISOLATION,
                        "a stream of the capture would wait on a stream outside it; order that work "
                        "before bg_capture_begin, or wait for it in an eager op");
    if (on != capture->origin)
        event = find(capture, on)->event;
    BG__TRY_CUDA(cudaEventRecord(event, on));
    if (!bg__capture_has(capture, waiter))
        BG__TRY(bg__capture_add_member(capture, waiter, site, &member));
    BG__TRY_CUDA(cudaStreamWaitEvent(waiter, event, 0));
done:
    return status;
}

bg_status bg_stream_wait_stream_at(cudaStream_t waiter, cudaStream_t on, const bg_site *site)
{
    bg_capture *capture = bg__live_mine();
    const char *file = site && site->file ? site->file : "unknown file";
    bool mine;
    bg_status status;

    if (waiter == NULL || on == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_stream_wait_stream: %s is NULL; create a stream and use that",
                        waiter == NULL ? "waiter" : "on");
    bg__pending_note();
    mine = capture != NULL && !capture->in_body && (bg__capture_has(capture, waiter) || bg__capture_has(capture, on));
    if (mine && capture->status != BG_OK) {
        bg__fail_restore(capture->message);
        return capture->status;
    }
    if (waiter == on)
        return BG_OK;
    if (!mine && (bg__captured_has(waiter) || bg__captured_has(on)))
        return bg__fail(BG_ERROR_WRONG_THREAD,
                        "bg_stream_wait_stream at %s:%d: the stream takes part in another thread's capture", file,
                        site ? site->line : 0);
    status = mine ? wait_in_capture(capture, waiter, on, site) : wait_plain(waiter, on);
    if (status != BG_OK)
        bg__fail_where("bg_stream_wait_stream at %s:%d", file, site ? site->line : 0);
    if (status != BG_OK && mine)
        bg__capture_fail(capture, status);
    return status;
}
