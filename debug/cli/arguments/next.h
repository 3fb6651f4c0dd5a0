/* The command to type next. */
#ifndef BG_CLI_NEXT_H
#define BG_CLI_NEXT_H

#include <stdio.h>

#include "command.h"

/* "breakgraph COMMAND -- PROGRAM ARG...", with the -e, --ranks, --oversubscribe and --timeout of the command line that
 * was given, and the seed and memory of the host device. command: its name and flags, as text for a shell. The caller
 * frees it. NULL: out of host memory. */
char *cli_next_command(const cli_arguments *given, const char *command);
/* Prints "LEAD: " and that command as a line. */
void cli_next_print(FILE *out, const char *lead, const cli_arguments *given, const char *command);

#endif
