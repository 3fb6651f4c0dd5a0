/* What every folder may call: failures, logging, the environment, device memory, the calling thread. */
#ifndef BG_BASE_H
#define BG_BASE_H

#include <breakgraph/status.h>
#include <cuda.h>
#include <stdio.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/text.h"

/* ---- environment (env.c) ------------------------------------------------------------------------------------- */

/* The value of a variable; NULL where it is unset or empty. */
BG_API const char *bg__env(const char *name);

/* The same of a variable in base/variables.h, by its row: the index of the choice, whether it is the second choice
 * ("0|1"), the number. Where it is unset or empty: its default, and *number stays where that is no number. A value that
 * the row does not allow is INVALID_ARGUMENT. */
bg_status bg__env_choice(const char *name, int *index);
/* Of a variable that takes several choices: bit i for that of index i (bg__variable_choices). */
bg_status bg__env_choices(const char *name, unsigned *set);
BG_API bg_status bg__env_flag(const char *name, bool *flag);
BG_API bg_status bg__env_number(const char *name, double *number);

/* ---- structs that grow (sized.c) ------------------------------------------------------------------------------ */

/* Copies a struct whose first member is its size, and which the caller may know in an older, shorter form. take: from
 * holds at least `least` bytes, to is complete and keeps what from has not. give: to is the caller's, from complete.
 * Each fails with INVALID_ARGUMENT, naming the argument and its macro, where the size is none. */
BG_API bg_status bg__sized_take(void *to, const void *from, size_t size, size_t least, const char *argument,
                                const char *macro);
bg_status bg__sized_give(void *to, const void *from, size_t size, const char *argument, const char *macro);

/* ---- the driver (driver.c) ----------------------------------------------------------------------------------- */

/* The driver's function of that name, as the CUDA version `since` brought it (cudaTypedefs.h), written to *function, a
 * pointer to a function. UNSUPPORTED where the driver has none. */
bg_status bg__driver_entry(const char *name, unsigned since, void *function);
/* cudaStreamGetCaptureInfo in a third of its time (37 ns against 110 ns, H100), for what is asked at every call. Looked
 * up once in a process. */
typedef CUresult (*bg__capture_info)(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                     const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count);
bg_status bg__driver_capture_info(bg__capture_info *found);
/* Where both have a code for an error, the driver's equals the runtime's. */
#define BG__TRY_DRIVER(name, expression)                                                                               \
    do {                                                                                                               \
        CUresult result_ = (expression);                                                                               \
        if (result_ != CUDA_SUCCESS) {                                                                                 \
            status = bg__fail_cuda((cudaError_t)result_, name);                                                        \
            goto done;                                                                                                 \
        }                                                                                                              \
    } while (0)

/* ---- device memory (device.c) -------------------------------------------------------------------------------- */

/* cudaMalloc and cudaFree that do no harm to a capture of this thread. bytes > 0; free takes NULL. */
bg_status bg__device_alloc(size_t bytes, void **ptr);
void bg__device_free(void *ptr);

/* Between the two, calls that a capture forbids are allowed in this thread. */
typedef struct bg__relaxed {
    enum cudaStreamCaptureMode before;
    bool exchanged;
} bg__relaxed;
bg_status bg__relax_begin(bg__relaxed *relaxed);
/* The same for code that releases something: it continues if this fails. */
BG_API bg__relaxed bg__relax_to_release(void);
BG_API void bg__relax_end(bg__relaxed relaxed);

/* Where CUDA says the memory at ptr is; type is 0 for host memory that CUDA does not know. Uses the driver's call,
 * which returns several attributes at once and is allowed during capture. */
typedef struct bg__where {
    CUmemorytype type;
    bool managed;
    int device;
} bg__where;
bg_status bg__where_is(const void *ptr, bg__where *place);

/* INVALID_ARGUMENT unless stream (named argument in function's call) is of the current device. */
bg_status bg__stream_check(cudaStream_t stream, const char *function, const char *argument);

/* ---- ranges for profilers (ranges.c) ------------------------------------------------------------------------- */

/* Whether profilers are to get ranges: BG_NVTX or, where that is unset, whether one is attached. */
bg_status bg__ranges_wanted(bool *wanted);
/* A range of the calling thread, inside the one pushed before; the name is copied. */
void bg__range_push(const char *name);
void bg__range_pop(void);
/* One that nests with no other, and may end in another thread. */
uint64_t bg__range_start(const char *name);
void bg__range_end(uint64_t range);

/* ---- clocks and threads (clock.c, thread.c) -------------------------------------------------------------------- */

/* Milliseconds of a clock that only goes forward. */
BG_API double bg__now_ms(void);

/* The calling thread's number, never used twice in a process. */
uint64_t bg__thread_id(void);

#endif
