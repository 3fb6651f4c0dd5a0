/* Writes files completely or not at all, and never into files or links that another user has created. */
#ifndef BG_DEBUG_FILES_H
#define BG_DEBUG_FILES_H

#include <breakgraph/status.h>
#include <stdio.h>

/* Where the name of a file comes from. */
typedef enum bg__file_origin {
    BG__FILE_FROM_USER, /* from the user: symbolic links are followed, pipes and devices are written into, and "-" is
                         * standard output. Links and pipes that another user created in a shared directory are refused
                         */
    BG__FILE_GENERATED, /* from the library or the command: a new file replaces any file of that name */
    BG__FILE_EXCLUSIVE, /* as BG__FILE_GENERATED, but fails with IO if the name exists */
} bg__file_origin;

/* Replaces the file at `path` by the output of `write`, in one step. If `write` or the file system fails, the file is
 * unchanged. Errors: IO, OUT_OF_MEMORY, those of `write`. */
typedef bg_status (*bg__file_writer)(void *user, FILE *out);
bg_status bg__file_write(const char *path, bg__file_origin name, bg__file_writer write, void *user);

/* Replaces the file at `path`, in the same way, by `head` followed by `body`. */
bg_status bg__file_write_bytes(const char *path, bg__file_origin name, const void *head, size_t head_bytes,
                               const void *body, size_t body_bytes);

/* Creates an empty file that only this user may access. The name is as for BG__FILE_GENERATED. Returns a descriptor
 * that appends, or -1 with errno. */
int bg__file_create(const char *path);

/* Creates a directory at `path` unless it exists. Errors: IO if `path` is not a directory, or if it is a link or
 * directory that another user created in a shared directory. */
bg_status bg__directory_make(const char *path);

#endif
