/* Checks of what a graph's nodes were given at capture. docs/findings-nodes.md lists the kinds of findings.
 *
 * Threads: as for the graph that is checked. */
#ifndef BREAKGRAPH_NODES_H
#define BREAKGRAPH_NODES_H

#include <breakgraph/capture.h>
#include <breakgraph/report.h>

BG_BEGIN_C_

/* Looks at the addresses in a graph's nodes: those that point to memory which has been freed since the first check
 * ("dangling"), and copies from and to host memory that CUDA does not know ("pageable-copy", "stack-copy"). The report
 * is the caller's, empty where nothing is wrong. Works on a wrapped graph, too. Errors: INVALID_ARGUMENT (a NULL),
 * OUT_OF_MEMORY, IO (/proc/self/maps), UNSUPPORTED (a driver before CUDA 12.4), CUDA. */
BG_API bg_status bg_check_graph_nodes(bg_graph *graph, bg_report **report);

/* Captures forward(user, stream) twice without launching anything, with change(user) in between (NULL: nothing), and
 * compares what the two captures hold. What differs is frozen in a graph: numbers in node parameters and in the
 * arguments of eager calls ("frozen-value"), addresses ("unstable-pointer"), which ops are called and which nodes they
 * make ("frozen-control-flow"). change sets what may differ between two replays: other inputs in the same buffers,
 * other host state. Memory that the capture itself gives (bridge buffers, scratch, cudaMallocAsync) counts as the same
 * where it has the same place in the pass. The report is the caller's.
 *
 * No segment is launched and eager bodies do not run, but for those of ops whose outputs' shapes cannot be known
 * without (bg_op_set_shape). What forward does on the host happens twice. Errors: INVALID_ARGUMENT (a NULL), those of
 * bg_capture_forward, OUT_OF_MEMORY, UNSUPPORTED (a driver before CUDA 12.4). */
BG_API bg_status bg_check_twice(bg_forward forward, void *user, void (*change)(void *user), cudaStream_t stream,
                                bg_report **report);

BG_END_C_

#endif
