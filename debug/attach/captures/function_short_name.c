#include "captures.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "debug/attach/nodes/node_calls.h"

/* A launch accepts a CUfunction or a CUkernel, and nothing shows which one it is. */
char *bg__function_short_name(void *function)
{
    CUresult (*name_of[2])(const char **, void *);
    void *address[2] = {bg__shim->real("cuFuncGetName"), bg__shim->real("cuKernelGetName")};
    const char *symbol = NULL, *begin;
    char *name = NULL, *own;
    size_t bytes;

    memcpy(name_of, address, sizeof address);
    for (int i = 0; i < 2 && symbol == NULL; i++)
        if (name_of[i] == NULL || name_of[i](&symbol, function) != CUDA_SUCCESS)
            symbol = NULL;
    if (symbol == NULL)
        return NULL;
    name = bg__demangle(symbol);
    bytes = bg__kernel_short_name(name != NULL ? name : symbol, &begin);
    own = strndup(begin, bytes);
    free(name);
    return own;
}
