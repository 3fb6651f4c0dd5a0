/* Variables of the program that the command line sets: -e NAME=VALUE, and flags that stand for a variable. */
#ifndef BG_CLI_ASSIGN_H
#define BG_CLI_ASSIGN_H

#include "base/variables.h"
#include "command.h"
#include "debug/cli/output/exits.h"

/* What -e is given. Names of breakgraph and the host device, and their values, must be in the table of variables;
 * others pass. Before the first CUDA call. */
cli_status cli_assignment_check(const char *text);
/* The Levenshtein distance of the first a_length bytes of a from b: insertions, deletions and replacements. */
size_t cli_distance(const char *a, size_t a_length, const char *b);
/* For a name that begins as ours do and is not in the table: the nearest that is. NULL: the name is in it, or begins
 * otherwise. */
const bg__variable *cli_variable_meant(const char *name);
/* Sets in this process, whose environment the program gets, what flags and -e say, in the order of the command line. */
cli_status cli_assign(const cli_arguments *arguments);

#endif
