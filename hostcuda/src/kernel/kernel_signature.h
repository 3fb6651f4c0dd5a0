/* Kernels that the program names by their address alone: what they take stands in their mangled names. */
#ifndef HOSTCUDA_SIGNATURE_H
#define HOSTCUDA_SIGNATURE_H

#include <hostcuda/kernel_abi.h>

#include <stdbool.h>

/* How to call a function whose parameters are numbers and pointers. It is never freed. NULL: the name is not one of
 * C++, there is no memory, or a parameter is of another type, which is then written to `unknown`, with what is missing.
 */
const struct hostcuda_kernel_type *hc_signature_read(const void *function, char *unknown, size_t unknown_bytes);
/* Such a type's invoke takes the type in place of the function. */
bool hc_signature_is(const struct hostcuda_kernel_type *type);

#endif
