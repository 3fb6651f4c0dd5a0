/* The nodes of the graphs of a program that does not use the library: what bisect --attach searches among. */
#ifndef BG_CLI_NODES_H
#define BG_CLI_NODES_H

#include "bisection.h"
#include "debug/cli/observe/gathered.h"

/* Adds the nodes of all graphs to the calls of b, graph by graph, in an order that the graph allows. NO_MATCH: there is
 * none. */
cli_status cli_nodes_collect(const cli_gathered *gathered, cJSON *calls);
/* Notes in the calls of b the stacks of nodes that ran outside of their graph. of_all: all were asked for; then in its
 * root, too, of how many graphs there are such nodes ("outside"), and how many notes say which could not ("not_split").
 */
void cli_nodes_note_outside(cli_bisection *b, const cli_gathered *gathered, bool of_all);
/* Whether the program has made graphs of other names than in the first start, and none of those of the marked nodes, so
 * that no pattern has chosen any of these. */
bool cli_nodes_are_gone(const cli_bisection *b, const cli_gathered *gathered, const bool *marks);

/* BG_ATTACH_BREAK for these nodes; the caller frees it. NULL: out of host memory. names: by name where that is one. */
char *cli_nodes_list(const cli_bisection *b, const bool *outside, bool names);
/* The same for all nodes, these before all that they do not depend on. */
char *cli_nodes_list_first(const cli_bisection *b, const bool *first, bool names);
/* Whether a path leads in the graph from one call of b to another one behind it. */
bool cli_nodes_are_ordered(const cli_bisection *b, size_t from, size_t to);
/* Whether a node of that graph behind the first call, up to the other one, may begin before one that it waits for has
 * ended (a programmatic dependency). */
bool cli_nodes_may_be_early(const cli_bisection *b, size_t from, size_t to);

#endif
