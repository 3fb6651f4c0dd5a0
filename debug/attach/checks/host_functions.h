/* Host functions of the program's graphs, while they run. */
#ifndef BG_ATTACH_HOST_FUNCTIONS_H
#define BG_ATTACH_HOST_FUNCTIONS_H

#include <breakgraph/attach.h>
#include <cuda.h>

#include "graph/inspect.h"
#include "debug/attach/shim/shim.h"

/* exec was made from source, of which graph has the calls: puts a function in front of each host function in exec,
 * which calls the program's own. The program's graph stays as it is, and exec cannot be asked for it. Host nodes in
 * child graphs, and those that the program sets in exec later, are left alone. */
void bg__host_functions_watch(CUgraphExec exec, cudaGraph_t source, const bg_graph *graph);

/* Before a call of the driver: none may be made in a host function. Adds a finding "host-function" if this one is. */
void bg__host_function_calls(const bg__driver_call *call);

#endif
