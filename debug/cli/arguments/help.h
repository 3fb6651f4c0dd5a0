/* Prints help, from the descriptions of commands. */
#ifndef BG_CLI_HELP_H
#define BG_CLI_HELP_H

#include <stdio.h>

#include "command.h"

/* Prints the help of one command. */
void cli_help_print(const cli_command *command, FILE *out);
/* Prints the short help: the five main uses. */
void cli_help_print_short(FILE *out);
/* Prints all commands, environment variables and exit statuses. */
void cli_help_print_all(const cli_command *const *commands, size_t count, FILE *out);

#endif
