/* Status codes, their texts, and the last error of a thread.
 * Threads: every function here may be called from any thread at any time. */
#ifndef BREAKGRAPH_STATUS_H
#define BREAKGRAPH_STATUS_H

#include <breakgraph/export.h>

BG_BEGIN_C_

/* Every status: its name and a clause that describes it. */
#define BG_STATUS_MAP(X)                                                                                               \
    X(BG_OK, "success")                                                                                                \
    X(BG_ERROR_INVALID_ARGUMENT, "an argument is invalid")                                                             \
    X(BG_ERROR_OUT_OF_MEMORY, "memory ran out")                                                                        \
    X(BG_ERROR_IO, "a file could not be read or written")                                                              \
    X(BG_ERROR_UNSUPPORTED, "this is not supported")                                                                   \
    X(BG_ERROR_NOT_FOUND, "no object has that name")                                                                   \
    X(BG_ERROR_BUSY, "the object is in use")                                                                           \
    X(BG_ERROR_TIMEOUT, "it took too long")                                                                            \
    X(BG_ERROR_CUDA, "a CUDA call failed")                                                                             \
    X(BG_ERROR_CUBLAS, "a cuBLAS call failed")                                                                         \
    X(BG_ERROR_NCCL, "an NCCL call failed")                                                                            \
    X(BG_ERROR_NOT_CAPTURING, "there is no capture")                                                                   \
    X(BG_ERROR_ALREADY_CAPTURING, "a capture is running already")                                                      \
    X(BG_ERROR_FOREIGN_CAPTURE, "the stream is in a capture that breakgraph did not begin")                            \
    X(BG_ERROR_WRONG_THREAD, "the capture belongs to another thread")                                                  \
    X(BG_ERROR_CAPTURE_INVALID, "CUDA invalidated the capture")                                                        \
    X(BG_ERROR_UNJOINED_STREAM, "a forked stream was not joined")                                                      \
    X(BG_ERROR_UNTRACKED_STREAM, "a stream that was forked without bg_ functions or hooks was not joined")             \
    X(BG_ERROR_ISOLATION, "the capture would wait for work outside it")                                                \
    X(BG_ERROR_OP, "an op's body returned an error")                                                                   \
    X(BG_ERROR_SHAPE, "a tensor has another shape than expected")                                                      \
    X(BG_ERROR_DTYPE, "a tensor has another element type than expected")                                               \
    X(BG_ERROR_STALE_ADDRESS, "memory that the graph uses was freed, moved or allocated again since the capture")      \
    X(BG_ERROR_MISMATCH, "results differ")                                                                             \
    X(BG_ERROR_NONDETERMINISTIC, "results differ between runs of the same work")                                       \
    X(BG_ERROR_RANKS, "ranks disagree")                                                                                \
    X(BG_ERROR_STOPPED, "the replay stopped at the requested op call or node")

typedef enum bg_status {
#define BG_STATUS_ENUM_(name, text) name,
    BG_STATUS_MAP(BG_STATUS_ENUM_)
#undef BG_STATUS_ENUM_
} bg_status;

/* Returns the name of the status, such as "BG_ERROR_SHAPE", or "unknown status" for an invalid value. The string is
 * static. */
BG_API const char *bg_status_name(bg_status status);

/* Returns one clause about the status, in lower case and without a full stop. The string is static. */
BG_API const char *bg_status_text(bg_status status);

/* Returns the calling thread's last failure as a sentence: what failed, where, the name of the CUDA error, what to do.
 * Returns "" before the first failure; a success does not clear it. The string belongs to the thread and is valid
 * until the thread's next failure. */
BG_API const char *bg_last_error(void);

/* Returns the library's version, such as "0.2.0". The string is static. */
BG_API const char *bg_version(void);

/* Returns what the library was built for: "cuda" (NVIDIA's runtime) or "host" (the host device). The string is static.
 */
BG_API const char *bg_device_kind(void);

/* Sets the calling thread's bg_last_error() to a failure of a call outside the library. `call`, `error` and `advice`
 * become parts of the sentence. Returns status. */
BG_API bg_status bg_report_failure(bg_status status, const char *call, const char *error, const char *advice);

BG_END_C_

#endif
