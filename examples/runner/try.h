/* Shared by the examples of this folder: a function cleans up at done:, where TRY and CUDA go if a call fails. */
#ifndef EXAMPLES_RUNNER_TRY_H
#define EXAMPLES_RUNNER_TRY_H

#include <breakgraph/breakgraph.h>
#include <stdio.h>

static inline bg_status check_cuda(cudaError_t error)
{
    return error == cudaSuccess ? BG_OK
                                : bg_report_failure(BG_ERROR_CUDA, "a CUDA call", cudaGetErrorName(error),
                                                    "run the program in a debugger to find the call");
}

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        status = (call);                                                                                               \
        if (status != BG_OK)                                                                                           \
            goto done;                                                                                                 \
    } while (0)
#define CUDA(call) TRY(check_cuda(call))

/* For the end of main: prints what failed, and returns the exit status. */
static inline int report_status(bg_status status)
{
    if (status != BG_OK)
        fprintf(stderr, "%s: %s\n", bg_status_name(status), bg_last_error());
    return status != BG_OK;
}

#endif
