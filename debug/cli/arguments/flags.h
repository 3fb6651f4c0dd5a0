/* Reads command lines by the flags of their commands. */
#ifndef BG_CLI_FLAGS_H
#define BG_CLI_FLAGS_H

#include "command.h"
#include "debug/cli/output/exits.h"

/* A whole command: its command line read, run with it unless it was only help, and given back. argv[0] is the name. */
int cli_command_run(const cli_command *command, int argc, char **argv);
/* The value that was given last; NULL: none. */
const char *cli_value(const cli_arguments *arguments, const char *flag);
/* A program is there; else says so. */
cli_status cli_need_program(const cli_arguments *arguments);
/* "--timeout", 0 where it is not given. */
cli_status cli_timeout(const cli_arguments *arguments, double *seconds);

#endif
