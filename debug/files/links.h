/* Symbolic links, and files that other users may have created. */
#ifndef BG_DEBUG_LINKS_H
#define BG_DEBUG_LINKS_H

#include <stdbool.h>

/* Follows symbolic links to the final path, which need not exist. A new file must replace the target of a link, not the
 * link. The caller frees the result. Returns NULL with errno after a failure; EACCES: a link is foreign. */
char *bg__link_resolve(const char *path);

/* Whether another user created `path` in a shared directory like /tmp. If `path` is a link, this is about the link
 * itself, not its target. The kernel does not follow such links there (proc(5), protected_symlinks). */
bool bg__path_is_foreign(const char *path);

#endif
