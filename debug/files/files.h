/* Writes files completely or not at all, and never into files or links that another user created in their place. */
#ifndef BG_DEBUG_FILES_H
#define BG_DEBUG_FILES_H

#include <breakgraph/status.h>
#include <stdio.h>

/* Where a file's name comes from. */
typedef enum bg__file_name {
    BG__FILE_GIVEN, /* from the user: symbolic links are followed, pipes and devices written into, and "-" is standard
                     * output; except links and pipes that another user created in a shared directory */
    BG__FILE_MADE,  /* from the library or the command: a new file replaces whatever has the name */
    BG__FILE_FRESH, /* the same, but IO if anything has the name */
} bg__file_name;

/* Replaces the file at path, in one step, by what write writes. If write or the file system fails, path is unchanged.
 * Errors: IO, OUT_OF_MEMORY, those of write. */
typedef bg_status (*bg__file_writer)(void *user, FILE *out);
bg_status bg__file_write(const char *path, bg__file_name name, bg__file_writer write, void *user);

/* The same for a file of two parts: head, then body. */
bg_status bg__file_write_bytes(const char *path, bg__file_name name, const void *head, size_t head_bytes,
                               const void *body, size_t body_bytes);

/* Creates an empty file that only this user may access, as with BG__FILE_MADE. Returns a descriptor that appends; -1
 * with errno. */
int bg__file_create(const char *path);

/* Creates a directory at path unless there is one. IO if path is something else, or a link or directory that another
 * user created in a shared directory. */
bg_status bg__directory_make(const char *path);

#endif
