/* Symbolic links, and files that other users may have created. */
#ifndef BG_DEBUG_LINKS_H
#define BG_DEBUG_LINKS_H

#include <stdbool.h>

/* Follows symbolic links to the final path, whether that file exists or not: a new file must replace the target of the
 * link, not the link. The caller frees the result. NULL with errno; EACCES: a link is foreign. */
char *bg__link_resolve(const char *path);

/* Whether another user created path (a link itself, not its target) in a shared directory like /tmp. The kernel follows
 * no such links there (proc(5), protected_symlinks). */
bool bg__path_is_foreign(const char *path);

#endif
