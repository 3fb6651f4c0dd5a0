/* The nodes of a program's graphs, among which bisect --attach searches. */
#ifndef BG_CLI_NODES_H
#define BG_CLI_NODES_H

#include "bisection.h"
#include "debug/cli/observe/gathered.h"

/* Adds the nodes of all graphs to the calls of b, graph by graph, in an order that the graph allows. NO_MATCH: there is
 * none. */
cli_status cli_nodes_collect(const cli_gathered *gathered, cJSON *calls);
/* Records in the calls of b the stacks of nodes that ran outside of their graph. of_all: all nodes were requested; then
 * also records in its root how many graphs have such nodes ("outside"), and how many notes name nodes that could not
 * ("not_split"). */
void cli_nodes_record_outside(cli_bisection *b, const cli_gathered *gathered, bool of_all);
/* Whether the program's graphs have other names than in the first start, so that no pattern has chosen any of the
 * marked nodes. */
bool cli_nodes_are_renamed(const cli_bisection *b, const cli_gathered *gathered, const bool *marks);

/* The value of BG_ATTACH_BREAK for these nodes; the caller frees it. NULL: out of host memory. names: a node is given
 * by its name, if that is a pattern of it alone. */
char *cli_nodes_patterns(const cli_bisection *b, const bool *outside, bool names);
/* The value for all nodes outside; the nodes in `first` are launched before all that they do not depend on. The caller
 * frees it. NULL: out of host memory. names: as above, for the nodes in `first`. */
char *cli_nodes_patterns_first(const cli_bisection *b, const bool *first, bool names);
/* Whether the graph has a path from one call of b to a later one. */
bool cli_nodes_are_ordered(const cli_bisection *b, size_t from, size_t to);
/* Whether a node of the graph of these calls, after `from` and up to `to`, may begin before a node that it waits for
 * has ended (a programmatic dependency). */
bool cli_nodes_may_be_early(const cli_bisection *b, size_t from, size_t to);

#endif
