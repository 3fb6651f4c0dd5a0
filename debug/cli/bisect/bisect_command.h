/* breakgraph bisect: runs a program to find the op calls that must be eager for a fault to vanish. */
#ifndef BG_CLI_BISECT_H
#define BG_CLI_BISECT_H

#include "debug/cli/arguments/command.h"

extern const cli_command cli_bisect;

#endif
