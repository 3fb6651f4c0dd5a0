/* Failures and warnings (error.c). */
#ifndef BG_FAIL_H
#define BG_FAIL_H

#include <breakgraph/status.h>

/* BG_API marks functions that libbreakgraph_nccl also calls. */

/* Sets this thread's bg_last_error() and returns status. */
BG_API bg_status bg__fail(bg_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As bg__fail, for a CUDA call that returned error: the text has the call's name, the error's name and what to do, and
 * the returned status follows from the error. Clears CUDA's last error, unless the program's own error was pending
 * there. */
BG_API bg_status bg__fail_cuda(cudaError_t error, const char *call);

/* The CUDA error that caused this thread's last failure; cudaSuccess if CUDA did not cause it. */
cudaError_t bg__fail_cause(void);
void bg__fail_forget_cause(void);

/* Prepends the place of a failure to bg_last_error(), with a colon. */
void bg__fail_where(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Appends advice to bg_last_error(). It replaces the general advice of bg__fail_cuda if the sentence ends with that. */
void bg__fail_advise(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether the sentence already names the call that failed; outer calls then add nothing. bg__fail resets this. */
bool bg__fail_is_placed(void);
void bg__fail_set_placed(void);

/* The first function empties the sentence before a body runs, to tell whether the body sets its own; the second
 * restores it after a success. */
char bg__fail_hide(void);
void bg__fail_unhide(char hidden);
/* Sets the sentence to a saved one, which already names its call. */
void bg__fail_restore(const char *text);

/* The first function records whether CUDA's last error is the program's, so that the library does not clear it. Every
 * public function that calls CUDA begins with it, except bg_replay, where it costs too much, and bg_op_call, which
 * calls it before its first CUDA call, since a captured op usually makes none. The second assumes that CUDA's last
 * error is not the program's. */
BG_API void bg__pending_note(void);
void bg__pending_forget(void);

/* Clears CUDA's last error after a call that may fail without harm. */
BG_API void bg__ignore(cudaError_t error);

/* Whether error means that there is nothing left to release: the CUDA context is lost, or the process is exiting. */
bool bg__device_is_gone(cudaError_t error);

/* Reports the failure of a call that releases something as a line on standard error, unless the device is gone. */
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
/* Returns INVALID_ARGUMENT if argument is NULL, and names it. */
#define BG__NEED(argument)                                                                                             \
    do {                                                                                                               \
        if ((argument) == NULL)                                                                                        \
            return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", __func__, #argument);                         \
    } while (0)

#endif
