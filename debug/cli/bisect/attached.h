/* bisect --attach: which nodes must run outside of their graphs for a fault to vanish. */
#ifndef BG_CLI_ATTACHED_H
#define BG_CLI_ATTACHED_H

#include "bisection.h"

/* All trials. FAILED with culprits, each of which has a member "behind", the name of the node that it must come behind,
 * and "ordered", whether the graph says so, where that was found. */
cli_status cli_attached_search(cli_bisection *b);

#endif
