/* The streams that take part in a capture: its members, and the origin. A stream that waits on a member becomes a
 * member, and stays one. */
#include "capture/capture.h"

#include <stdlib.h>

bg__member *bg__member_find(const bg_capture *capture, cudaStream_t stream)
{
    for (int i = 0; i < capture->member_count; i++)
        if (capture->members[i].stream == stream)
            return &capture->members[i];
    return NULL;
}

bool bg__capture_has_stream(const bg_capture *capture, cudaStream_t stream)
{
    return stream == capture->origin || bg__member_find(capture, stream) != NULL;
}

bg_status bg__capture_add_member(bg_capture *capture, cudaStream_t stream, const bg_site *site)
{
    bg_status status = BG_OK;
    cudaEvent_t event = NULL;
    bg__member *member;

    BG__TRY(BG__ARRAY_GROW(capture->members, capture->member_count, capture->member_capacity, "streams"));
    BG__TRY_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    if (!capture->eager)
        BG__TRY(bg__capturing_streams_add(stream, capture->thread));
    member = &capture->members[capture->member_count++];
    *member = (bg__member){.stream = stream, .event = event};
    if (site != NULL)
        member->site = *site;
    event = NULL;
    if (capture->holds_pool)
        bg__pool_set_concurrent(capture->graph->pool, true);
done:
    if (event != NULL)
        BG__RELEASE(cudaEventDestroy(event));
    return status;
}

bg_status bg__capture_join_members(bg_capture *capture)
{
    bg_status status = BG_OK;
    for (int i = 0; i < capture->member_count; i++) {
        BG__TRY_CUDA(cudaEventRecord(capture->members[i].event, capture->members[i].stream));
        BG__TRY_CUDA(cudaStreamWaitEvent(capture->origin, capture->members[i].event, 0));
    }
done:
    return status;
}

static bg_status is_capturing(cudaStream_t stream, bool *found)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    bg_status status = BG_OK;
    if (stream != cudaStreamLegacy)
        BG__TRY_CUDA(cudaStreamIsCapturing(stream, &capturing));
    *found |= capturing != cudaStreamCaptureStatusNone;
done:
    return status;
}

bg_status bg__pass_find_capturing_stream(const bg_capture *pass, bool *found)
{
    bg_status status;
    *found = false;
    BG__TRY(is_capturing(pass->origin, found));
    for (int i = 0; i < pass->member_count; i++)
        BG__TRY(is_capturing(pass->members[i].stream, found));
done:
    return status;
}

void bg__capture_set_last_call(bg_capture *capture, cudaStream_t stream, const bg__call *call)
{
    bg__member *member = bg__member_find(capture, stream);
    if (member != NULL)
        member->last = call;
}

static bg_status classify_stream(const bg_capture *capture, cudaStream_t stream, bg__stream_kind *kind)
{
    enum cudaStreamCaptureStatus mine, its;
    unsigned long long my_id = 0, its_id = 0;
    bg_status status = BG_OK;

    *kind = BG__OUTSIDE;
    if (stream == NULL || stream == cudaStreamLegacy)
        return BG_OK;
    BG__TRY_CUDA(cudaStreamGetCaptureInfo(stream, &its, &its_id, NULL, NULL, NULL, NULL));
    if (its == cudaStreamCaptureStatusNone)
        goto done;
    BG__TRY_CUDA(cudaStreamGetCaptureInfo(capture->origin, &mine, &my_id, NULL, NULL, NULL, NULL));
    *kind = its_id == my_id ? BG__FORKED : BG__FOREIGN;
done:
    return status;
}

/* For a pass that runs eagerly, CUDA does not know which streams take part: each stream that the pass names does, from
 * where the others were last joined. */
static bg_status resolve_in_pass(bg_capture *pass, cudaStream_t stream, const bg_site *site, bg__stream_kind *kind)
{
    bool foreign = false;
    bg_status status;

    *kind = BG__OUTSIDE;
    if (stream == NULL || stream == cudaStreamLegacy)
        return BG_OK;
    BG__TRY(is_capturing(stream, &foreign));
    *kind = foreign ? BG__FOREIGN : BG__FORKED;
    if (*kind == BG__FORKED) {
        BG__TRY(bg__capture_add_member(pass, stream, site));
        BG__TRY_CUDA(cudaStreamWaitEvent(stream, pass->event, 0));
    }
done:
    return status;
}

bg_status bg__capture_resolve_stream(bg_capture *capture, cudaStream_t stream, const bg_site *site,
                                     bg__stream_kind *kind)
{
    bg_status status = BG_OK;

    *kind = BG__FORKED;
    if (bg__capture_has_stream(capture, stream))
        return BG_OK;
    if (stream != NULL && bg__capturing_streams_has(stream))
        return bg__fail(BG_ERROR_WRONG_THREAD, "the stream takes part in %s",
                        capture->eager ? "another capture of this thread" : "another thread's capture");
    bg__foreign_error_note();
    if (capture->eager)
        return resolve_in_pass(capture, stream, site, kind);
    BG__TRY(classify_stream(capture, stream, kind));
    if (*kind == BG__FORKED)
        BG__TRY(bg__capture_add_member(capture, stream, site));
done:
    return status;
}
