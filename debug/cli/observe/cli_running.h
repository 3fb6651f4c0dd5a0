/* Findings on a program that has ended: host functions that still ran, captures that were open, graphs that hung. */
#ifndef BG_CLI_RUNNING_H
#define BG_CLI_RUNNING_H

#include "debug/cli/output/exits.h"
#include "debug/cli/process/supervisor.h"
#include "gathered.h"

enum { CLI_RUNNING_BYTES = 2048 }; /* size of a row in the file: BG__RUNNING_BYTES of the tools */

/* Reads the files DIRECTORY/running-PID that a program has left, and adds a report for each finding: "host-function" if
 * a signal of a crash ended the program in the function, or the function ran for more than a second;
 * "capture-not-ended" if an open capture got nothing more for more than a second; "hang" if the command has killed the
 * program. began: when the program was started, in seconds of the monotonic clock. timeout: seconds after which the
 * program is killed; 0: hangs were not looked for. Errors: CLI_UNREADABLE, CLI_FAILED. */
cli_status cli_running_add_findings(cli_gathered *gathered, const char *directory, const cli_end *end, double began,
                                    double timeout);

#endif
