/* What every folder may call: failures, logging, the environment, device memory, the calling thread. */
#ifndef BG_BASE_H
#define BG_BASE_H

#include <breakgraph/status.h>
#include <cuda.h>
#include <stdio.h>

#include "base/errors.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/text.h"

/* ---- environment (env.c) ------------------------------------------------------------------------------------- */

/* The value of a variable; NULL where it is unset or empty. */
BG_API const char *bg__env_value(const char *name);

/* Read a variable as its row in base/variables.c describes it. The functions give the index of the choice, whether the
 * value is the second choice of "0|1", or the number. An unset or empty variable gives the row's default; *number is
 * unchanged if that is not a number. Errors: INVALID_ARGUMENT (a value that the row does not allow). */
bg_status bg__env_choice(const char *name, int *index);
/* For a variable that takes several choices: bit i of *set stands for the choice of index i
 * (bg__variable_parse_choices). */
bg_status bg__env_choices(const char *name, unsigned *set);
BG_API bg_status bg__env_flag(const char *name, bool *flag);
BG_API bg_status bg__env_number(const char *name, double *number);

/* ---- structs that grow (struct_copy.c) ------------------------------------------------------------------------------
 */

/* Copy a struct whose first member is its size; the caller may have been compiled with an older, shorter form. The
 * first function copies the caller's struct `from`, of at least `least` bytes, to the complete struct `to`; members
 * that `from` lacks keep their values. The second copies the complete struct `from` to the caller's struct `to`.
 * Errors: INVALID_ARGUMENT (an impossible size; the message names `argument` and `macro`). */
BG_API bg_status bg__struct_copy_in(void *to, const void *from, size_t size, size_t least, const char *argument,
                                    const char *macro);
bg_status bg__struct_copy_out(void *to, const void *from, size_t size, const char *argument, const char *macro);

/* ---- the driver (driver.c) ----------------------------------------------------------------------------------- */

/* Writes the address of the driver's function `name` to *function, a pointer to a function. since: the CUDA version
 * that introduced the wanted form of the function (cudaTypedefs.h). Errors: UNSUPPORTED (the driver has no such
 * function), CUDA. */
bg_status bg__driver_get_entry_point(const char *name, unsigned since, void *function);
/* The driver's form of cudaStreamGetCaptureInfo, for queries in every call: 37 ns instead of 110 ns (H100). The
 * function is looked up once in a process. */
typedef CUresult (*bg__capture_info_function)(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                              CUgraph *graph, const CUgraphNode **nodes, const CUgraphEdgeData **edges,
                                              size_t *count);
bg_status bg__driver_find_capture_info(bg__capture_info_function *found);
/* If the driver and the runtime both have a code for an error, the codes are equal. */
#define BG__TRY_DRIVER(name, expression)                                                                               \
    do {                                                                                                               \
        CUresult result_ = (expression);                                                                               \
        if (result_ != CUDA_SUCCESS) {                                                                                 \
            status = bg__fail_cuda((cudaError_t)result_, name);                                                        \
            goto done;                                                                                                 \
        }                                                                                                              \
    } while (0)

/* ---- device memory (device.c) -------------------------------------------------------------------------------- */

/* cudaMalloc and cudaFree that do not invalidate a capture of this thread. bytes must be above 0. Freeing NULL does
 * nothing. */
bg_status bg__device_alloc(size_t bytes, void **ptr);
void bg__device_free(void *ptr);

/* Between bg__relaxed_mode_begin and bg__relaxed_mode_end, this thread may make calls that a capture forbids. */
typedef struct bg__relaxed_mode {
    enum cudaStreamCaptureMode before;
    bool exchanged;
} bg__relaxed_mode;
bg_status bg__relaxed_mode_begin(bg__relaxed_mode *relaxed);
/* As bg__relaxed_mode_begin, for code that releases something and continues if this fails. */
BG_API bg__relaxed_mode bg__relaxed_mode_try_begin(void);
BG_API void bg__relaxed_mode_end(bg__relaxed_mode relaxed);

/* Asks CUDA where the memory at ptr is; type is 0 for host memory that CUDA does not know. Uses the driver's call,
 * which returns several attributes at once and is allowed during capture. */
typedef struct bg__pointer_attributes {
    CUmemorytype type;
    bool managed;
    int device;
} bg__pointer_attributes;
bg_status bg__pointer_get_attributes(const void *ptr, bg__pointer_attributes *place);

/* Fails with INVALID_ARGUMENT unless stream belongs to the current device. `function` and `argument` name it in the
 * message. */
bg_status bg__stream_check_device(cudaStream_t stream, const char *function, const char *argument);

/* ---- ranges for profilers (nvtx.c) --------------------------------------------------------------------------- */

/* Sets *wanted to whether to emit ranges: BG_NVTX decides or, if it is unset, whether a profiler is attached. */
bg_status bg__nvtx_is_wanted(bool *wanted);
/* Push and pop a range of the calling thread; these ranges nest. The name is copied. */
void bg__nvtx_range_push(const char *name);
void bg__nvtx_range_pop(void);
/* Start and end a range that need not nest, and may end in another thread. */
uint64_t bg__nvtx_range_start(const char *name);
void bg__nvtx_range_end(uint64_t range);

/* ---- clocks and threads (clock.c, thread.c) -------------------------------------------------------------------- */

/* Returns milliseconds of a monotonic clock. */
BG_API double bg__now_ms(void);

/* Returns a number that no other thread of the process has or had. */
uint64_t bg__thread_id(void);

#endif
