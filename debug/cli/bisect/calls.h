/* Which calls a program's graphs hold, and which of them a pattern means. */
#ifndef BG_CLI_CALLS_H
#define BG_CLI_CALLS_H

#include "debug/cli/observe/gathered.h"
#include "debug/cli/output/exits.h"

/* The captured calls of all graphs, in order of the pass, each once; those that only matches. CLI_NO_MATCH names near
 * ones. */
cli_status cli_calls_collect(const cli_gathered *gathered, const char *only, cJSON *calls);

#endif
