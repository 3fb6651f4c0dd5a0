/* Whether the shim can be preloaded into a program, from its file. */
#ifndef BG_CLI_PROGRAM_H
#define BG_CLI_PROGRAM_H

#include <limits.h>

#include "debug/cli/output/exits.h"

/* NOT: neither into what it starts. STARTED: only into programs that it starts. NONE: there is no such program. */
typedef enum cli_preload { CLI_PRELOAD_WORKS, CLI_PRELOAD_NOT, CLI_PRELOAD_STARTED, CLI_PRELOAD_NONE } cli_preload;

/* Looks at what PATH finds for program, and at a script's interpreter. Where the answer is not WORKS, text says why and
 * what to do. What cannot be read, works: starting it says what is wrong. */
enum { CLI_PRELOAD_TEXT = 2 * PATH_MAX };
cli_preload cli_program_examine(const char *program, char text[CLI_PRELOAD_TEXT]);

/* Says it, but that there is no program: the start does. NOT_LINKED where the answer is NOT. */
cli_status cli_program_preloads(const char *program);

#endif
