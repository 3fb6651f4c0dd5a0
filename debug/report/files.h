/* Files that are written whole or not at all. */
#ifndef BG_DEBUG_FILES_H
#define BG_DEBUG_FILES_H

#include <stdio.h>

#include "base/base.h"

/* What write puts out becomes the file at path, at once, or goes to standard output for "-", or into what is no file,
 * like /dev/null; links are written through. Where write or the file system fails, what was at path stays. fresh: IO
 * where path exists. Errors: IO, OUT_OF_MEMORY, write's. */
typedef bg_status (*bg__file_writer)(void *user, FILE *out);
bg_status bg__file_write(const char *path, bool fresh, bg__file_writer write, void *user);

/* A file of two parts. */
bg_status bg__file_write_bytes(const char *path, bool fresh, const void *head, size_t head_bytes, const void *body,
                               size_t body_bytes);

#endif
