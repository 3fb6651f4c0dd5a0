/* Parses the command line of a command. */
#ifndef BG_CLI_FLAGS_H
#define BG_CLI_FLAGS_H

#include "command.h"
#include "debug/cli/output/exits.h"

/* Parses the command line, and runs the command unless the line asks for help. argv[0] is the command's name. Returns
 * the exit status. */
int cli_command_run(const cli_command *command, int argc, char **argv);
/* The value of the last such flag; NULL: the flag is not given. */
const char *cli_given_value(const cli_arguments *arguments, const char *flag);
/* CLI_OK if a program is given; else prints an error and returns CLI_USAGE. */
cli_status cli_require_program(const cli_arguments *arguments);
/* Reads --timeout into *seconds; 0: not given. CLI_USAGE, with a message: the value is wrong. */
cli_status cli_read_timeout(const cli_arguments *arguments, double *seconds);

#endif
