/* The culprits of bisect --attach, as text. */
#ifndef BG_CLI_ATTACHED_RESULT_H
#define BG_CLI_ATTACHED_RESULT_H

#include "bisection.h"

/* The program, with these nodes outside of their graphs; NULL: as it is. The caller frees it. NULL: out of host memory.
 */
char *cli_attached_line(const cli_bisection *b, const bool *outside);
/* The program with the culprits before the nodes that they must come behind, so that it is bad by that order. "": they
 * are not known. The caller frees it. NULL: out of host memory. */
char *cli_attached_bad_line(const cli_bisection *b);
/* A culprit as the JSON has it, with the node that it must come behind; the caller deletes it. */
cJSON *cli_attached_culprit(const cli_bisection *b, size_t index);
void cli_attached_print_culprits(const cli_bisection *b, const char *good, const char *bad, double seconds);

#endif
