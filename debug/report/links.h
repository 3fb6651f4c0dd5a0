/* Symbolic links, and what other users may have left under a name. */
#ifndef BG_DEBUG_LINKS_H
#define BG_DEBUG_LINKS_H

#include <stdbool.h>

/* The file that is written through links, whether it is there or not: a file that took a link's name would leave what
 * the link names as it was. The caller frees it. NULL with errno: EACCES for a link that is foreign. */
char *bg__link_resolve(const char *path);

/* Whether what is at path, a link itself and not what it names, was put by another user into a directory that all
 * share, like /tmp: the kernel's rule for the links that it follows there (proc(5), protected_symlinks). */
bool bg__link_is_foreign(const char *path);

#endif
