/* Files of the command: a temporary directory, and files that are written completely or not at all. */
#ifndef BG_CLI_PLACE_H
#define BG_CLI_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "debug/files/files.h"

/* "DIR/name", which the caller frees; NULL: out of host memory. */
char *cli_path(const char *directory, const char *name);

/* Creates a directory in $TMPDIR; the caller frees the name. NULL after a message. */
char *cli_place_make(void);
/* Removes it with its contents. Takes NULL. */
void cli_place_remove(const char *directory);
/* Removes all that were made and are still there, and says nothing: for a process that outlives the command. */
void cli_places_remove(void);
/* Makes a directory empty, or creates it. */
bool cli_place_renew(const char *directory);

/* What a file holds, ended by a zero, as bg__file_read has it; the caller frees it. NULL with bg_last_error and errno.
 */
char *cli_file_read(const char *path, bool links, size_t *bytes);
/* text becomes the file, as bg__file_write has it; false with bg_last_error. */
bool cli_file_write(const char *path, bg__file_name name, const char *text);
/* The last lines of a file on standard error, each behind two blanks. */
void cli_file_show_end(const char *path);

#endif
