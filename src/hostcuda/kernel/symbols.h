/* The names of functions, from the symbol table of the file that they were loaded from. */
#ifndef HOSTCUDA_SYMBOLS_H
#define HOSTCUDA_SYMBOLS_H

/* The name, mangled as the compiler did; the caller frees it. NULL: stripped, or unreadable. */
char *hc_symbol_name(const void *function);

#endif
