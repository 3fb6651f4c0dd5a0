/* Where memory was freed, as far as somebody saw it: for findings about what is gone. */
#ifndef BG_DEBUG_FREES_H
#define BG_DEBUG_FREES_H

#include <breakgraph/op.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes from base on have just been freed at site, whose text lives as long as the process. The last ones are kept.
 */
void bg__frees_note(uintptr_t base, size_t bytes, bg_site site);
/* Of the last free that contains address. file NULL: nobody saw one. */
bg_site bg__frees_find(uintptr_t address);

#endif
