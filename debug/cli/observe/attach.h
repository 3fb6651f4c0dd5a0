/* --attach: the tools in a program that was not written for breakgraph. */
#ifndef BG_CLI_ATTACH_H
#define BG_CLI_ATTACH_H

#include <limits.h>

#include "debug/cli/arguments/command.h"
#include "debug/cli/output/exits.h"

/* The flag, for commands that have it. */
extern const cli_flag cli_attach_flags[];

/* The size of a reason why --attach does not work. */
enum { CLI_ATTACH_WHY = 2 * PATH_MAX };
/* Whether the program's calls would run on the host device though there is a GPU; why: says so. */
bool cli_attach_bypasses_gpu(char why[CLI_ATTACH_WHY]);
/* Finds the folder of the libraries that are preloaded, and the driver behind them. false: `why` says what is
 * missing. */
bool cli_attach_find(char folder[PATH_MAX], char driver[PATH_MAX], char why[CLI_ATTACH_WHY]);

/* If the flag is given: sets what preloads the shim in this process's environment, which the program inherits. With a
 * message: NOT_STARTED if something is missing; NOT_LINKED if nothing can be preloaded into the program. */
cli_status cli_attach_prepare(const cli_arguments *arguments);

#endif
