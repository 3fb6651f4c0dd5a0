/* Maps CUDA's own names to the functions of breakgraph/stream.h. A program that forks streams by events includes this
 * after all other headers, and needs no other change: cudaEventRecord, cudaEventRecordWithFlags, cudaStreamWaitEvent
 * and cudaEventDestroy become macros, with the same arguments and, in C++, the same defaults.
 * They return CUDA's errors; outside captures, bodies and eager passes (bg_forward_run, a runner's) they are CUDA's own
 * calls. Where breakgraph itself fails, they return the nearest CUDA error, bg_last_error() describes the failure, and
 * CUDA's last error is unchanged.
 * Calls through a pointer (&cudaEventRecord), from other languages or inside libraries are not replaced.
 * Languages: C99 and later, C++11 and later, nvcc. */
#ifndef BREAKGRAPH_HOOKS_H
#define BREAKGRAPH_HOOKS_H

#include <breakgraph/stream.h>

BG_BEGIN_C_

/* The functions that the macros call. */
BG_API cudaError_t bg_hook_event_record(cudaEvent_t event, cudaStream_t stream, unsigned flags, const bg_site *site);
BG_API cudaError_t bg_hook_stream_wait_event(cudaStream_t stream, cudaEvent_t event, unsigned flags,
                                             const bg_site *site);
BG_API cudaError_t bg_hook_event_destroy(cudaEvent_t event);

BG_END_C_

/* The stream that 0 means: the per-thread default stream in a file compiled for per-thread default streams, else the
 * legacy stream. */
static inline cudaStream_t bg_hook_stream_(cudaStream_t stream)
{
#ifdef __CUDART_API_PER_THREAD_DEFAULT_STREAM
    return stream ? stream : cudaStreamPerThread;
#else
    return stream;
#endif
}

/* CUDA defines these names as macros in files compiled for per-thread default streams. */
#undef cudaEventRecord
#undef cudaEventRecordWithFlags
#undef cudaStreamWaitEvent

#ifdef __cplusplus

static inline cudaError_t bg_hook_event_record_(const char *file, int line, cudaEvent_t event,
                                                cudaStream_t stream = nullptr, unsigned flags = 0)
{
    const bg_site site = {file, line};
    return bg_hook_event_record(event, bg_hook_stream_(stream), flags, &site);
}

static inline cudaError_t bg_hook_stream_wait_event_(const char *file, int line, cudaStream_t stream, cudaEvent_t event,
                                                     unsigned flags = 0)
{
    const bg_site site = {file, line};
    return bg_hook_stream_wait_event(bg_hook_stream_(stream), event, flags, &site);
}

#define cudaEventRecord(...)          bg_hook_event_record_(__FILE__, __LINE__, __VA_ARGS__)
#define cudaEventRecordWithFlags(...) bg_hook_event_record_(__FILE__, __LINE__, __VA_ARGS__)
#define cudaStreamWaitEvent(...)      bg_hook_stream_wait_event_(__FILE__, __LINE__, __VA_ARGS__)

#else

#define cudaEventRecord(event, stream) bg_hook_event_record(event, bg_hook_stream_(stream), 0, BG_SITE)
#define cudaEventRecordWithFlags(event, stream, flags)                                                                 \
    bg_hook_event_record(event, bg_hook_stream_(stream), flags, BG_SITE)
#define cudaStreamWaitEvent(stream, event, flags)                                                                      \
    bg_hook_stream_wait_event(bg_hook_stream_(stream), event, flags, BG_SITE)

#endif

#define cudaEventDestroy(event) bg_hook_event_destroy(event)

#endif
