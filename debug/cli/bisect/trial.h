/* One trial of a bisect: runs of the program, and a verdict. */
#ifndef BG_CLI_TRIAL_H
#define BG_CLI_TRIAL_H

#include <breakgraph/bisect.h>

#include "bisection.h"

/* Runs the program with the marked calls eager (NULL: none). A kept verdict is taken from the state; a new one is
 * added. A run that cannot be judged is a failure, but in SEARCH and CONFIRM the verdict SKIP. */
cli_status cli_trial(cli_bisection *b, cli_why why, const bool *eager, bg_verdict *verdict);
/* The same with all nodes outside of their graphs, the marked ones before all that they do not depend on. */
cli_status cli_trial_first(cli_bisection *b, cli_why why, const bool *first, bg_verdict *verdict);

/* Two trials of the program as why says that agree; *bad is their verdict. */
cli_status cli_trial_twice(cli_bisection *b, cli_why why, bool *bad);

/* Prints the last output of --check, which may explain why it judges all runs bad. */
void cli_trial_show_check(const cli_bisection *b);

#endif
