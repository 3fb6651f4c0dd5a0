/* The names of functions and sizes of variables, from the symbol table of the file that they were loaded from; and
 * which functions are kernels. */
#ifndef HOSTCUDA_SYMBOLS_H
#define HOSTCUDA_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

/* The name, mangled as the compiler did; the caller frees it. NULL: stripped, or unreadable. */
char *hc_symbol_name(const void *function);
/* kernel_shim.h has marked the function as a kernel. */
bool hc_symbol_is_kernel(const void *function);
/* Of the variable that begins there, without those on stacks and heaps, and static ones of files without kernels. 0:
 * there is none, or the file is stripped. */
size_t hc_symbol_bytes(const void *variable);

#endif
