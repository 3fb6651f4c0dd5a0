/* How programs write the driver's functions. */
#ifndef BG_ATTACH_FUNCTION_NAMES_H
#define BG_ATTACH_FUNCTION_NAMES_H

#include "stacks.h"

/* function is name, with or without the suffix of a version or a default stream. */
bool bg__function_is(const char *function, const char *name);
/* What programs that use the runtime have written. NULL: nothing of it is one call of the driver. */
const char *bg__function_runtime_name(const char *function);
/* What the program has written that called function from there: the runtime's name, "cudaMalloc", where the runtime
 * made the call, and there is one; else the driver's without suffixes, "cuMemAlloc", which goes into text. */
const char *bg__function_written(const char *function, const bg__stack *from, char *text, size_t bytes);

#endif
