/* Host functions of graphs that ran, captures that were open, and graphs that hung, when their program ended. */
#ifndef BG_CLI_RUNNING_H
#define BG_CLI_RUNNING_H

#include "debug/cli/output/exits.h"
#include "debug/cli/process/keeper.h"
#include "gathered.h"

enum { CLI_RUNNING_BYTES = 2048 }; /* of a place in the file: BG__RUNNING_BYTES of the tools */

/* Adds a report with a finding for each in the files DIRECTORY/running-PID that a program has left there:
 * "host-function" where a signal of a crash has ended it, or the function ran for more than a second,
 * "capture-not-ended" where it captured nothing more for as long; "hang" where the command has killed it. began: when
 * the program was started, on the monotonic clock, in seconds. timeout: after which it is killed; 0: what hangs was not
 * looked for. Errors:
 * CLI_UNREADABLE, CLI_FAILED. */
cli_status cli_running_add(cli_gathered *gathered, const char *directory, const cli_end *end, double began,
                           double timeout);

#endif
