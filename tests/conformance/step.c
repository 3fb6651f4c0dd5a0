#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "step.h"

void conformance_step(cudaError_t error, const char *call, const char *file, int line)
{
    if (error)
        print_error("%s:%d: %s gives %s\n", file, line, call, cudaGetErrorName(error));
    _assert_true(!error, call, file, line);
}
