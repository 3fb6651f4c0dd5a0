/* Kernels that the program passes only by address: their parameter types are read from their mangled names. */
#ifndef HOSTCUDA_SIGNATURE_H
#define HOSTCUDA_SIGNATURE_H

#include <hostcuda/kernel_abi.h>

#include <stdbool.h>

/* Returns how to call a function whose parameters are numbers and pointers; the result is never freed. Returns NULL if
 * the name is not a C++ name, there is no memory, or a parameter has another type; the type is then written to
 * `unknown`, with the reason. */
const struct hostcuda_kernel_type *hc_signature_read(const void *function, char *unknown, size_t unknown_bytes);
/* Whether hc_signature_read made the type. The function `invoke` of such a type takes the type in place of the kernel's
 * address. */
bool hc_signature_made_type(const struct hostcuda_kernel_type *type);

#endif
