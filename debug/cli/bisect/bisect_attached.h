/* bisect --attach: finds the nodes that must run outside of their graphs for a fault to vanish. */
#ifndef BG_CLI_BISECT_ATTACHED_H
#define BG_CLI_BISECT_ATTACHED_H

#include "bisection.h"

/* Runs all trials. CLI_FAILED: there are culprits. The call of a culprit gets two members if they were found: "behind",
 * the node that the culprit must come after or not run beside, and "ordered", whether the graph has a path from this
 * node to the culprit. */
cli_status cli_attached_search(cli_bisection *b);

#endif
