/* For the analyzer: failures return the status that they are given, and bg__fail_cuda some error. */
#include "base/base.h"
static inline void bg__tidy(const char *format, ...)
{
    (void)format;
}
#define bg__fail(status, ...) (bg__tidy(__VA_ARGS__), (status))
#define bg__fail_cuda(error, call) (bg__tidy(call), (void)(error), BG_ERROR_CUDA)
