/* Maps a driver function to the API function that the program called. */
#ifndef BG_ATTACH_FUNCTION_NAMES_H
#define BG_ATTACH_FUNCTION_NAMES_H

#include "stacks.h"

/* Whether `function` is `name`, with or without a suffix for a version or a default stream. */
bool bg__function_has_name(const char *function, const char *name);
/* Returns the runtime function that calls this driver function, or NULL if there is none. */
const char *bg__function_runtime_name(const char *function);
/* Returns the function that the program called when it called `function` from the stack `from`: the runtime's,
 * "cudaMalloc", if the runtime made the driver call; else the driver's without suffixes, "cuMemAlloc", written into
 * text. */
const char *bg__function_api_name(const char *function, const bg__stack *from, char *text, size_t bytes);

#endif
