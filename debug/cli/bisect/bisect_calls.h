/* The calls in a program's graphs, and those that match a pattern. */
#ifndef BG_CLI_CALLS_H
#define BG_CLI_CALLS_H

#include "debug/cli/observe/gathered.h"
#include "debug/cli/output/exits.h"

/* Lists the captured calls of all graphs that match `only` (NULL: all calls), in order of the pass, each once. The
 * message of CLI_NO_MATCH lists similar names. */
cli_status cli_calls_collect(const cli_gathered *gathered, const char *only, cJSON *calls);

/* Whether the last pattern of the list that matches a call's name is one without '!'. */
bool cli_calls_match(const char *list, const char *call);

#endif
