/* Pictures of a graph: a timeline of one replay, and its segments as DOT.
 * Threads: as bg_replay. */
#ifndef BREAKGRAPH_TRACE_H
#define BREAKGRAPH_TRACE_H

#include <breakgraph/capture.h>

BG_BEGIN_C_

/* Replays graph once on stream, with a CUDA event before and after each step, then once more node by node, and writes
 * a timeline to path. The format is the trace event format (JSON), which Perfetto (ui.perfetto.dev) and
 * chrome://tracing show; all times are in microseconds. Tracks:
 *   - CPU: when the host issued each segment, eager call and copy, and for how long.
 *   - GPU: when each of these ran. A step's time includes the time in which the GPU waits for the host.
 *   - Op calls inside each segment, each with the sum of its nodes' times when each node runs alone.
 *   - Nodes, one after the other.
 * A segment that bg_step cannot run node by node has no such op calls and nodes; otherData.notes says so. The graph is
 * replayed twice, and what the replays change is not restored. The file is written whole or not at all.
 * Errors: those of bg_replay and bg_step, IO, INVALID_ARGUMENT, OUT_OF_MEMORY. */
BG_API bg_status bg_trace(bg_graph *graph, cudaStream_t stream, const char *path);

/* Writes a segment of graph, 0 <= segment < segments, to path ("-": standard output) as a directed graph in DOT, the
 * language of Graphviz: each node with its kind, kernel and dimensions, the nodes of an op call in a cluster with its
 * site. A file is written whole or not at all.
 * Errors: INVALID_ARGUMENT, NOT_FOUND (no such segment), IO, OUT_OF_MEMORY, CUDA. */
BG_API bg_status bg_graph_write_dot(const bg_graph *graph, int segment, const char *path);

BG_END_C_

#endif
