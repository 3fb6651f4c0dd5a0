/* Variables of the program that the command line sets: -e NAME=VALUE, and flags that stand for a variable. */
#ifndef BG_CLI_ASSIGN_H
#define BG_CLI_ASSIGN_H

#include "base/text.h"
#include "base/variables.h"
#include "command.h"
#include "debug/cli/output/exits.h"

/* What -e is given. Names of breakgraph and the host device, and their values, must be in the table of variables;
 * others pass. Before the first CUDA call. */
cli_status cli_assignment_check(const char *text);
/* Whether a name begins as ours do and is not in the table; hint: as of bg__nearest_hint. */
bool cli_variable_is_unknown(const char *name, char hint[BG__HINT_BYTES]);
/* Sets in this process, whose environment the program gets, what flags and -e say, in the order of the command line. */
cli_status cli_assign(const cli_arguments *arguments);

#endif
