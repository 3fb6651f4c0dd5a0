/* The pages of help, made from what commands are. */
#ifndef BG_CLI_HELP_H
#define BG_CLI_HELP_H

#include <stdio.h>

#include "command.h"

/* The page of one command. */
void cli_help_print(const cli_command *command, FILE *out);
/* The five things that one can do, and where more is told. */
void cli_help_print_short(FILE *out);
/* The page of all commands, variables and exit statuses. */
void cli_help_print_all(const cli_command *const *commands, size_t count, FILE *out);

#endif
