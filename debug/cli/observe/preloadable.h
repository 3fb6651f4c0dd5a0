/* Finds out from a program's file whether the shim can be preloaded into the program. */
#ifndef BG_CLI_PRELOADABLE_H
#define BG_CLI_PRELOADABLE_H

#include <limits.h>

#include "debug/cli/output/exits.h"

/* NOT: nothing can be preloaded, not even into programs that it starts. STARTED: only into programs that it starts.
 * NONE: there is no such program. */
typedef enum cli_preload {
    CLI_PRELOAD_WORKS,
    CLI_PRELOAD_NEVER,
    CLI_PRELOAD_STARTED_ONLY,
    CLI_PRELOAD_MISSING
} cli_preload;

/* Examines the file that PATH finds for `program`, and a script's interpreter. If the result is not WORKS, `text` says
 * why and what to do. A file that cannot be read counts as WORKS: the start reports what is wrong. */
enum { CLI_PRELOAD_TEXT = 2 * PATH_MAX };
cli_preload cli_program_examine(const char *program, char text[CLI_PRELOAD_TEXT]);

/* Prints that text, except for a missing program, which the start reports. Returns CLI_NOT_LINKED if the result is
 * NOT. */
cli_status cli_program_check_preload(const char *program);

#endif
