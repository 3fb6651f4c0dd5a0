/* One trial of a bisect: starts of the program, and a verdict. */
#ifndef BG_CLI_TRIAL_H
#define BG_CLI_TRIAL_H

#include <breakgraph/bisect.h>

#include "bisection.h"

/* With those of calls eager that eager marks (NULL: none); a verdict that is kept is taken from the state, a new one
 * goes there. What keeps a program from being judged is a status, but in SEARCH and CONFIRM a SKIP. */
cli_status cli_trial(cli_bisection *b, cli_why why, const bool *eager, bg_verdict *verdict);

/* What --check said last, which may be why it finds all bad. */
void cli_trial_show_check(const cli_bisection *b);

#endif
