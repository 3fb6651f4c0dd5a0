/* Watches the host functions of the program's graphs while they run. */
#ifndef BG_ATTACH_HOST_FUNCTIONS_H
#define BG_ATTACH_HOST_FUNCTIONS_H

#include <breakgraph/attach.h>
#include <cuda.h>

#include "graph/inspect.h"
#include "debug/attach/shim/shim.h"

/* Replaces each host function in exec by a wrapper that calls the program's function. exec was made from source; graph
 * has the calls of source. The program's graph is unchanged, and no call of CUDA reads the parameters of exec. Host
 * nodes in child graphs, and host functions that the program sets in exec later, are not wrapped. */
void bg__host_functions_wrap(CUgraphExec exec, cudaGraph_t source, const bg_graph *graph);

/* Call it before each call of the driver. Adds a finding "host-function" if the thread runs a host function, which must
 * not call CUDA. */
void bg__host_function_check_call(const bg__driver_call *call);

#endif
