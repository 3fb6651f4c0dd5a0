/* bisect --attach: which nodes must run outside of their graphs for a fault to vanish. */
#ifndef BG_CLI_ATTACHED_H
#define BG_CLI_ATTACHED_H

#include "bisection.h"

/* All trials. FAILED with culprits. Where it was found, each has a member "behind", the call that it must come behind
 * or not run beside, and "ordered", whether the graph has a path from there. */
cli_status cli_attached_search(cli_bisection *b);

#endif
