/* Reads the symbol tables of loaded files: names of functions, sizes of variables, and which functions are kernels. */
#ifndef HOSTCUDA_SYMBOLS_H
#define HOSTCUDA_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the mangled name, which the caller frees. NULL: the file is stripped or unreadable. */
char *hc_symbol_name(const void *function);
/* Whether kernel_shim.h has marked the function as a kernel. */
bool hc_symbol_is_kernel(const void *function);
/* Returns the size of the variable that begins at this address. Returns 0 if there is none, if the file is stripped, or
 * for static variables of files without kernels. Stack and heap are not variables. */
size_t hc_symbol_bytes(const void *variable);

#endif
