/* Pictures of a graph: a timeline of one replay, and its segments as DOT.
 *
 * Threads: as bg_replay. */
#ifndef BREAKGRAPH_TRACE_H
#define BREAKGRAPH_TRACE_H

#include <breakgraph/capture.h>

BG_BEGIN_C_

/* Replays graph once on stream, with an event of CUDA's on either side of each step, then once more node by node, and
 * writes a timeline to path, in the trace event format (JSON) that Perfetto (ui.perfetto.dev) and chrome://tracing
 * show: on a CPU track when the host issued each segment, eager call and copy, and for how long; on a GPU track when
 * each ran; on tracks of their own the op calls inside each segment, on the GPU, with the sum of their nodes' times
 * when each node runs alone, and the nodes, one after the other. All times in microseconds; a step's time on the GPU
 * holds what the GPU waits there for the host. A segment that bg_step cannot take apart has no such op calls and nodes,
 * of which otherData.notes tells. What the replays change stays changed, twice.
 *
 * The file is written whole or not at all. Errors: those of bg_replay and bg_step, IO, INVALID_ARGUMENT, OUT_OF_MEMORY.
 */
BG_API bg_status bg_trace(bg_graph *graph, cudaStream_t stream, const char *path);

/* Writes a segment of graph, 0 <= segment < segments, to path ("-": standard output) as a directed graph in DOT, the
 * language of Graphviz: one node for each node, named by its kind, kernel and dimensions, in a cluster for each op call
 * with its site. Written whole or not at all. Errors: INVALID_ARGUMENT, NOT_FOUND (no such segment), IO, OUT_OF_MEMORY,
 * CUDA. */
BG_API bg_status bg_graph_write_dot(const bg_graph *graph, int segment, const char *path);

BG_END_C_

#endif
