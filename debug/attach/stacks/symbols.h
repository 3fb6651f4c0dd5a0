/* Names of functions that the loader does not know: static ones, and those of a program, whose names are in its file.
 */
#ifndef BG_ATTACH_SYMBOLS_H
#define BG_ATTACH_SYMBOLS_H

#include <dlfcn.h>
#include <stddef.h>

/* The function that has address, in the file of *about, which dladdr has filled: its name, which the caller frees, and
 * where in it address is. NULL: the file has no symbols, or cannot be read. */
char *bg__symbol_find(const Dl_info *about, const void *address, size_t *offset);

#endif
