/* Records the sites where memory was freed, for findings on freed memory. Only frees that a hook saw are recorded. */
#ifndef BG_DEBUG_FREE_SITES_H
#define BG_DEBUG_FREE_SITES_H

#include <breakgraph/op.h>
#include <stddef.h>
#include <stdint.h>

/* Records that `bytes` bytes from `base` on were freed at `site`. The text of `site` must live as long as the process.
 * Only the last frees are kept. */
void bg__frees_record(uintptr_t base, size_t bytes, bg_site site);
/* The site of the last free of an allocation that contained `address`. file NULL: no such free was recorded. */
bg_site bg__frees_find(uintptr_t address);

#endif
