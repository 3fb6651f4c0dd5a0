/* Allocates arrays for the tools. */
#ifndef BG_DEBUG_ALLOCATE_H
#define BG_DEBUG_ALLOCATE_H

#include <stdlib.h>

#include "base/base.h"

/* Sets `list` to a new array of `count` zeroed elements, with room for one more, so that it is not NULL if `count` is
 * 0. what: the elements, for the message ("nodes"). Errors: OUT_OF_MEMORY; `list` is NULL then. */
#define BG__ALLOCATE(list, count, what)                                                                                \
    (((list) = calloc((size_t)(count) + 1, sizeof *(list))) != NULL                                                    \
         ? BG_OK                                                                                                       \
         : bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu %s", (size_t)(count), what))

#endif
