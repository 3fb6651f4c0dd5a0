/* Names of functions that the loader does not know, from the symbol table in the file: static functions, and those of
 * the program itself. */
#ifndef BG_ATTACH_SYMBOLS_H
#define BG_ATTACH_SYMBOLS_H

#include <dlfcn.h>
#include <stddef.h>

/* Returns the name of the function that has address, which the caller frees, and the offset of address in it. about: as
 * dladdr has filled it in. NULL: the file has no such symbol, or cannot be read. */
char *bg__find_symbol(const Dl_info *about, const void *address, size_t *offset);

#endif
