/* --attach: the tools in a program that was not written for breakgraph. */
#ifndef BG_CLI_ATTACH_H
#define BG_CLI_ATTACH_H

#include "debug/cli/arguments/command.h"
#include "debug/cli/output/exits.h"

/* The flag, for commands that have it. */
extern const cli_flag cli_attach_flags[];

/* Where the flag is given: sets in this process, whose environment the program gets, what preloads the shim. Says what
 * is missing: NOT_STARTED. */
cli_status cli_attach(const cli_arguments *arguments);

#endif
