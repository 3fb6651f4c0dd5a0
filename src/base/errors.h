/* Failures and warnings (error.c). */
#ifndef BG_ERRORS_H
#define BG_ERRORS_H

#include <breakgraph/status.h>

/* BG_API marks functions that libbreakgraph_nccl also calls. */

/* Sets this thread's bg_last_error() and returns status. */
BG_API bg_status bg__fail(bg_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As bg__fail, for a CUDA call that returned `error`: the text has the call's name, the error's name and what to do,
 * and the returned status follows from the error. Clears CUDA's last error, unless the program's own error was pending
 * there. */
BG_API bg_status bg__fail_cuda(cudaError_t error, const char *call);

/* The CUDA error that caused this thread's last failure; cudaSuccess if CUDA did not cause it. */
cudaError_t bg__error_cuda_cause(void);
void bg__error_clear_cuda_cause(void);

/* Prepends the place of a failure to bg_last_error(), with a colon. */
void bg__error_add_location(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Appends advice to bg_last_error(). It replaces the general advice of bg__fail_cuda if the sentence ends with that. */
void bg__error_set_advice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether the sentence already names the call that failed; outer calls then add nothing. bg__fail resets this. */
bool bg__error_has_location(void);
void bg__error_set_located(void);

/* The first function empties the sentence before a body runs, to tell whether the body sets its own; the second
 * restores it after a success. */
char bg__error_set_aside(void);
void bg__error_restore(char hidden);
/* Sets the sentence to a saved one, which already names its call. */
void bg__error_set_text(const char *text);

/* The first function records whether CUDA's last error is the program's, so that the library does not clear it. Every
 * public function that calls CUDA begins with it, except bg_replay, where it costs too much, and bg_op_call, which
 * calls it before its first CUDA call, since a captured op usually makes none. The second assumes that CUDA's last
 * error is not the program's. */
BG_API void bg__foreign_error_note(void);
void bg__foreign_error_forget(void);

/* Clears CUDA's last error after a call that may fail without harm. */
BG_API void bg__clear_cuda_error(cudaError_t error);

/* Whether error means that there is nothing left to release: the CUDA context is lost, or the process is exiting. */
bool bg__device_is_gone(cudaError_t error);

/* Reports the failure of a call that releases something as a line on standard error, unless the device is gone. */
BG_API void bg__warn_if_not_released(cudaError_t error, const char *call);
#define BG__RELEASE(expression) bg__warn_if_not_released(expression, #expression)

/* A line on standard error. */
BG_API void bg__warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define BG__TRY(expression)                                                                                            \
    do {                                                                                                               \
        status = (expression);                                                                                         \
        if (status != BG_OK)                                                                                           \
            goto done;                                                                                                 \
    } while (0)
/* Fails with bg__fail, and goes to `done:`. */
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
