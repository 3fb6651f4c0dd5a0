/* Variables of the program that the command line sets: -e NAME=VALUE, and flags that stand for a variable. */
#ifndef BG_CLI_ASSIGN_H
#define BG_CLI_ASSIGN_H

#include "base/text.h"
#include "base/variables.h"
#include "command.h"
#include "debug/cli/output/exits.h"

/* Checks the NAME=VALUE of -e. A variable of breakgraph or the host device must be in the table of variables, and the
 * table must allow its value; other variables pass. Call it before the first CUDA call. */
cli_status cli_assignment_check(const char *text);
/* Whether the name has a prefix of breakgraph's or the host device's variables and is not in their table. hint: as
 * bg__nearest_hint writes it. */
bool cli_variable_is_unknown(const char *name, char hint[BG__HINT_BYTES]);
/* Sets the variables of flags and of -e in this process, in the order of the command line; the program inherits
 * them. */
cli_status cli_set_variables(const cli_arguments *arguments);

#endif
