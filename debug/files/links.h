/* Symbolic links, and files that other users may have created. */
#ifndef BG_DEBUG_LINKS_H
#define BG_DEBUG_LINKS_H

#include <stdbool.h>

/* The path that path leads to through symbolic links, whether that file exists or not: a new file must replace the
 * link's target, not the link. The caller frees it. NULL with errno; EACCES: a link is foreign. */
char *bg__link_resolve(const char *path);

/* Whether another user created path (a link itself, not its target) in a shared directory like /tmp: the kernel's rule
 * for links that it does not follow there (proc(5), protected_symlinks). */
bool bg__link_is_foreign(const char *path);

#endif
