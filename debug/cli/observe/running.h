/* Host functions of graphs that ran when their program ended. */
#ifndef BG_CLI_RUNNING_H
#define BG_CLI_RUNNING_H

#include "debug/cli/output/exits.h"
#include "debug/cli/process/keeper.h"
#include "gathered.h"

enum { CLI_RUNNING_BYTES = 1024 }; /* of a place in the file: BG__RUNNING_BYTES of the tools */

/* Adds a report with a finding "host-function" for each in the files DIRECTORY/running-PID that a program has left
 * there: where a signal of a crash has ended it, or the function ran for more than a second. Errors: CLI_UNREADABLE,
 * CLI_FAILED. */
cli_status cli_running_add(cli_gathered *gathered, const char *directory, const cli_end *end);

#endif
