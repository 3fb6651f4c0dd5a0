/* The runs of calls that rules have fused in a program's graphs, among which bisect --compiled searches. */
#ifndef BG_CLI_BISECT_FUSIONS_H
#define BG_CLI_BISECT_FUSIONS_H

#include "bisection.h"
#include "debug/cli/observe/gathered.h"

/* Lists the runs that are fused in any graph, in order of the pass, each name ("add_rms_norm#3") once. only: patterns
 * of names; NULL: all. NO_MATCH: there is none. */
cli_status cli_fusions_collect(const cli_gathered *gathered, const char *only, cJSON *calls);

#endif
