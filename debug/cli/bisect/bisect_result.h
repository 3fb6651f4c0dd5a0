/* Prints the result of a bisect, as text or as JSON. */
#ifndef BG_CLI_BISECT_RESULT_H
#define BG_CLI_BISECT_RESULT_H

#include "bisection.h"

/* The trials in the form of a report; the caller deletes it. */
cJSON *cli_bisect_trials(const cli_bisection *b);
void cli_bisect_print(const cli_bisection *b, cli_status status, double seconds);

#endif
