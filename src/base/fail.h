/* Failures and warnings (error.c). */
#ifndef BG_FAIL_H
#define BG_FAIL_H

#include <breakgraph/status.h>

/* BG_API marks what libbreakgraph_nccl calls, too. */

/* Sets this thread's bg_last_error() and returns status. */
BG_API bg_status bg__fail(bg_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a CUDA call that returned error: the text gives the call's name, the error's name, and what to do; the
 * status follows from the error. The error is taken out of CUDA's last error, unless the caller had one pending there.
 */
BG_API bg_status bg__fail_cuda(cudaError_t error, const char *call);

/* The CUDA error that caused this thread's last failure; cudaSuccess if CUDA did not cause it. */
cudaError_t bg__fail_cause(void);
void bg__fail_forget_cause(void);

/* Prepends the place of a failure to bg_last_error(), with a colon. */
void bg__fail_where(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Appends what to do to bg_last_error(), in place of the general advice of bg__fail_cuda if that is its end. */
void bg__fail_advise(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether the sentence names its call already; outer calls then add nothing. A new failure starts without. */
bool bg__fail_is_placed(void);
void bg__fail_set_placed(void);

/* Empties the sentence, so that one can tell whether a body sets its own; after a success unhide brings it back. */
char bg__fail_hide(void);
void bg__fail_unhide(char hidden);
/* Sets the sentence to one that was kept, with its place in it. */
void bg__fail_restore(const char *text);

/* Notes whether a CUDA error is pending that is not ours. Every public function that calls CUDA begins with it, except
 * bg_replay, where it costs too much, and bg_op_call, which does it before its first CUDA call, since a captured op
 * usually makes none. */
BG_API void bg__pending_note(void);
void bg__pending_forget(void);

/* For a call that may fail without harm: its error is not left in CUDA's last error. */
BG_API void bg__ignore(cudaError_t error);

/* Whether error means that there is nothing left to release: the CUDA context is lost, or the process is exiting. */
bool bg__device_is_gone(cudaError_t error);

/* For a call that releases something, where no status can report its failure: it writes a line to standard error,
 * unless the device is gone. */
BG_API void bg__released(cudaError_t error, const char *call);
#define BG__RELEASE(expression) bg__released(expression, #expression)

/* A line on standard error. */
BG_API void bg__warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define BG__TRY(expression)                                                                                            \
    do {                                                                                                               \
        status = (expression);                                                                                         \
        if (status != BG_OK)                                                                                           \
            goto done;                                                                                                 \
    } while (0)
/* Fails with bg__fail, and goes to done. */
#define BG__FAIL(...) BG__TRY(bg__fail(__VA_ARGS__))
#define BG__TRY_CUDA(expression)                                                                                       \
    do {                                                                                                               \
        cudaError_t error_ = (expression);                                                                             \
        if (error_ != cudaSuccess) {                                                                                   \
            status = bg__fail_cuda(error_, #expression);                                                               \
            goto done;                                                                                                 \
        }                                                                                                              \
    } while (0)
/* A NULL argument, by its name. */
#define BG__NEED(argument)                                                                                             \
    do {                                                                                                               \
        if ((argument) == NULL)                                                                                        \
            return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", __func__, #argument);                         \
    } while (0)

#endif
