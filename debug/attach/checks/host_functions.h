/* The host functions of the program's graphs, which may not call CUDA ("host-function"). */
#ifndef BG_ATTACH_HOST_FUNCTIONS_H
#define BG_ATTACH_HOST_FUNCTIONS_H

#include <breakgraph/attach.h>
#include <cuda.h>

#include "debug/graph/nodes.h"

/* Replaces each host function in `exec` by a wrapper that calls the program's function. `exec` was made from `source`;
 * `graph` has the op calls of `source`, and `nodes` its nodes. The program's graph is unchanged, and CUDA has no call
 * that reads the parameters of `exec`. Host nodes in child graphs, and host functions that the program sets in `exec`
 * later, are not wrapped. A failure leaves some functions unwrapped, and is also printed. Errors: CUDA,
 * OUT_OF_MEMORY. */
bg_status bg__host_functions_wrap(CUgraphExec exec, cudaGraph_t source, const bg_graph *graph, const bg__nodes *nodes);

#endif
