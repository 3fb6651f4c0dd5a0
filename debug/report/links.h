/* Symbolic links. */
#ifndef BG_DEBUG_LINKS_H
#define BG_DEBUG_LINKS_H

/* The file that is written through links, whether it is there or not: a file that took a link's name would leave what
 * the link names as it was. The caller frees it. NULL with errno. */
char *bg__link_resolve(const char *path);

#endif
