/* The command to type next. */
#ifndef BG_CLI_NEXT_COMMAND_H
#define BG_CLI_NEXT_COMMAND_H

#include <stdio.h>

#include "command.h"

/* Returns "breakgraph COMMAND -- PROGRAM ARG...", with the -e, --ranks, --oversubscribe and --timeout of the given
 * command line, and the seed and memory of the host device. command: its name and flags, quoted for a shell. The caller
 * frees the result. NULL: out of host memory. */
char *cli_make_next_command(const cli_arguments *given, const char *command);
/* Prints a line: "LEAD: " and that command. */
void cli_print_next_command(FILE *out, const char *lead, const cli_arguments *given, const char *command);

#endif
