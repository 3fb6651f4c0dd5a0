/* Sites where memory was freed, as far as a hook saw it, for findings on freed memory. */
#ifndef BG_DEBUG_FREE_SITES_H
#define BG_DEBUG_FREE_SITES_H

#include <breakgraph/op.h>
#include <stddef.h>
#include <stdint.h>

/* Records that the bytes from base on were freed at site, whose text must live as long as the process. The last frees
 * are kept. */
void bg__frees_record(uintptr_t base, size_t bytes, bg_site site);
/* The site of the last free of an allocation that contained address. file NULL: none was recorded. */
bg_site bg__frees_find(uintptr_t address);

#endif
