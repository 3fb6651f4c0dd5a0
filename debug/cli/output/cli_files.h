/* Files of the command: a temporary directory, and files that are written completely or not at all. */
#ifndef BG_CLI_FILES_H
#define BG_CLI_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "debug/files/files.h"

/* "DIR/name", which the caller frees; NULL: out of host memory. */
char *cli_join_path(const char *directory, const char *name);

/* Creates a directory in $TMPDIR; the caller frees the name. NULL after a message. */
char *cli_temporary_directory_create(void);
/* Removes the directory with its contents. NULL is allowed. */
void cli_temporary_directory_remove(const char *directory);
/* Removes all directories of cli_temporary_directory_create that still exist, without messages: for a process that
 * outlives the command. */
void cli_temporary_directories_remove(void);
/* Makes a directory empty, or creates it. */
bool cli_directory_recreate(const char *directory);

/* Returns the contents of a file, ended by a zero, as bg__file_read does; the caller frees them. NULL with
 * bg_last_error and errno. */
char *cli_file_read(const char *path, bool links, size_t *bytes);
/* Writes text as the file, as bg__file_write_bytes does; false with bg_last_error. */
bool cli_file_write(const char *path, bg__file_origin name, const char *text);
/* Prints the last lines of a file on standard error, each indented by two blanks. */
void cli_file_show_end(const char *path);

#endif
