/* The commands that start a program or read what one left. */
#ifndef BG_CLI_COMMANDS_H
#define BG_CLI_COMMANDS_H

#include "debug/cli/arguments/command.h"

extern const cli_command cli_run, cli_check, cli_step, cli_report;

#endif
