/* breakgraph bisect: which op calls must be eager for a fault to vanish, by starts of the program. */
#ifndef BG_CLI_BISECT_H
#define BG_CLI_BISECT_H

#include "debug/cli/arguments/command.h"

extern const cli_command cli_bisect;

#endif
