/* The culprits of bisect --attach, as text. */
#ifndef BG_CLI_BISECT_ATTACHED_RESULT_H
#define BG_CLI_BISECT_ATTACHED_RESULT_H

#include "bisection.h"

/* The command line of the program with these nodes outside of their graphs; NULL: with none. The caller frees it. NULL:
 * out of host memory. */
char *cli_attached_command_line(const cli_bisection *b, const bool *outside);
/* The command line that launches the culprits before the nodes that they must come after, so that this order makes the
 * program bad. "": those nodes are not known. The caller frees it. NULL: out of host memory. */
char *cli_attached_bad_command_line(const cli_bisection *b);
/* A culprit for the JSON, with the node that it must come after; the caller deletes it. */
cJSON *cli_attached_culprit(const cli_bisection *b, size_t index);
void cli_attached_print_culprits(const cli_bisection *b, const char *good, const char *bad, double seconds);

#endif
