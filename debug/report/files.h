/* Files that are written whole or not at all, and never into what somebody else left in their place. */
#ifndef BG_DEBUG_FILES_H
#define BG_DEBUG_FILES_H

#include <breakgraph/status.h>
#include <stdio.h>

/* Whose idea a file's name is. */
typedef enum bg__file_name {
    BG__FILE_GIVEN, /* the user's: symbolic links are written through, pipes and devices written into, and "-" is
                     * standard output; but for links and pipes that another user put into a directory that all share */
    BG__FILE_MADE,  /* the library's or the command's: a new file takes the name, whatever had it */
    BG__FILE_FRESH, /* the same, but IO where anything has the name */
} bg__file_name;

/* What write puts out becomes the file at path, at once. Where write or the file system fails, what was at path stays.
 * Errors: IO, OUT_OF_MEMORY, write's. */
typedef bg_status (*bg__file_writer)(void *user, FILE *out);
bg_status bg__file_write(const char *path, bg__file_name name, bg__file_writer write, void *user);

/* A file of two parts. */
bg_status bg__file_write_bytes(const char *path, bg__file_name name, const void *head, size_t head_bytes,
                               const void *body, size_t body_bytes);

/* A new and empty file of this user alone takes the name path, as with BG__FILE_MADE: its descriptor, which appends; -1
 * with errno. */
int bg__file_create(const char *path);

/* A directory at path, made where there is none. IO where something else is there, or a link or a directory that
 * another user put into a directory that all share. */
bg_status bg__directory_make(const char *path);

#endif
