/* One line on a terminal that is written again and again. */
#ifndef BG_CLI_PROGRESS_H
#define BG_CLI_PROGRESS_H

#include "bisection.h"

void cli_progress_print(const cli_bisection *b, cli_trial_purpose why);
void cli_progress_clear(void);

#endif
