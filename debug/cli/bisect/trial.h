/* One trial of a bisect: runs of the program, and a verdict. */
#ifndef BG_CLI_TRIAL_H
#define BG_CLI_TRIAL_H

#include <breakgraph/bisect.h>

#include "bisection.h"

/* Runs the program with the marked calls eager (NULL: none). Takes the verdict from the state if it is there; else adds
 * it to the state. A run that cannot be judged is a failure; in SEARCH and CONFIRM it has the verdict SKIP. */
cli_status cli_trial_run(cli_bisection *b, cli_trial_purpose why, const bool *eager, bg_verdict *verdict);
/* The same with all nodes outside of their graphs; the marked ones are launched before all that they do not depend
 * on. */
cli_status cli_trial_run_first(cli_bisection *b, cli_trial_purpose why, const bool *first, bg_verdict *verdict);

/* Makes two trials, which must agree. *bad: both were bad. */
cli_status cli_trial_run_twice(cli_bisection *b, cli_trial_purpose why, bool *bad);

/* Prints the last output of --check, which may explain why it judges all runs bad. */
void cli_trial_show_check(const cli_bisection *b);

#endif
