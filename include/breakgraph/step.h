/* Stepping: a replay that runs node by node, and waits and checks after each, so that it names the node at fault.
 * BG_DEBUG=step in the environment (or options.debug) makes every replay of a graph such a replay. BG_STEP_STOP then
 * stops it after a call ("rope#3"), or after the node, eager call, copy or event of this index (bg_step_info.index).
 * BG_STEP_FROM=CALL steps the process's first such replay from that call or index on (bg_step_from), and
 * BG_STEP_DUMP=DIR dumps its tensors. These variables are read when a capture begins. Stepping without a callback shows
 * on a terminal (standard error) how many nodes are done. SIGINT and SIGTERM end such a replay, and bg_step_dump,
 * between two nodes, with a note, unless they are ignored. Where the program has no handler for it, the signal ends the
 * program after the report is written; a fourth signal ends it at once. Threads: as bg_replay. */
#ifndef BREAKGRAPH_STEP_H
#define BREAKGRAPH_STEP_H

#include <breakgraph/capture.h>
#include <breakgraph/report.h>

BG_BEGIN_C_

/* What has just run: a node of a segment, an eager call, or a copy or event between them. The strings are valid until
 * the callback returns; those that do not apply are "". */
typedef struct bg_step_info {
    size_t struct_size; /* set by bg_step */
    int index, total;   /* its index in the replay, from 0, and the number of all. Disabled nodes, and nodes of
                         * write-backs that are not needed, are counted, but do not run, and the callback is not called
                         * for them */
    const char *node;   /* "segment 0, node 3 (kernel scale)"; a node's number is its index in the list of
                         * cudaGraphGetNodes, or "3.1" inside a child graph */
    const char *call;   /* the innermost op call that it comes from */
    cudaError_t error;  /* CUDA's error */
    uint64_t nan, inf;  /* number of such elements in the call's outputs of type f32, f64, f16 or bf16, where this was
                         * the call's last node; in a padded run of a runner, tensors by tokens count only
                         * with the batch's rows */
    const char *kernel; /* as the source writes it: "scale(float*, int)"; a C name stays as it is */
    const char *file;   /* where the call is */
    int line;
    int segment; /* -1: not in a segment */
    unsigned grid[3], block[3];
} bg_step_info;

#define BG_STEP_INFO_INIT                                                                                              \
    {                                                                                                                  \
        sizeof(bg_step_info), 0, 0, NULL, NULL, cudaSuccess, 0, 0, NULL, NULL, 0, -1, {0, 0, 0},                       \
        {                                                                                                              \
            0, 0, 0                                                                                                    \
        }                                                                                                              \
    }

/* Replays graph on stream node by node, each node in a CUDA graph of its own, and waits for each. Nodes run in an
 * order that the dependencies allow: of the nodes that are ready, the one that was created first. Eager calls and
 * copies run at their places. The results are those of bg_replay, bit for bit.
 * each: a callback, called after every node, eager call, copy and event that has run, or failed. If it returns false,
 * the replay ends there, with a note. NULL: no callback. The caller owns *report.
 * A segment with nodes that cannot run alone (memory nodes, conditional nodes) is launched as a whole, with a note. In
 * a graph of bg_graph_wrap with an executable graph, nodes run with the parameters of the source, with a note, since
 * those set in the executable graph cannot be read; its disabled nodes do not run, except those in child graphs. For a
 * graph captured with ranks, all ranks must call bg_step at the same time. If the replay ends early on one rank, the
 * others end after the same segment or eager call.
 * Returns BG_OK if the tool worked, whatever it found ("fault", "nan-origin", "inf-origin", "stopped", "not-stepped",
 * "from-source", "not-counted": docs/findings.md). A fault ends the replay; the report is complete and can be written,
 * even where the fault made the device unusable.
 * Errors: those of bg_replay, INVALID_ARGUMENT, OUT_OF_MEMORY, UNSUPPORTED, CUDA. *report is NULL after an error. */
BG_API bg_status bg_step(bg_graph *graph, cudaStream_t stream, bool (*each)(void *user, const bg_step_info *info),
                         void *user, bg_report **report);

/* As bg_step, but steps from the first node of the call `from` ("rope#3") on, or from the node, eager call, copy or
 * event of this index ("17", a bg_step_info.index): what comes before runs as in a replay, segments as a whole, without
 * checks. NaN in an op call that begins before is not reported to originate there. Use this to continue a stepped
 * replay that was stopped; it is a new replay, which changes the program's state once more.
 * Errors: those of bg_step, NOT_FOUND (the graph runs no such call, or has fewer nodes). */
BG_API bg_status bg_step_from(bg_graph *graph, cudaStream_t stream, const char *from,
                              bool (*each)(void *user, const bg_step_info *info), void *user, bg_report **report);

/* Replays graph as bg_step does, without a callback, and after each op call writes all its tensors to directory, which
 * is created if needed. Files: NNNN_CALL.FIELD.npy, in NumPy's format 1.0 (long names are truncated, and equal names
 * end in _2, _3), and at the end index.json, which lists call, field, role, dtype, shape and file of each.
 * bf16, which NumPy does not support, is written as 16-bit unsigned integers of the same bits. A tensor in memory that
 * the device cannot access has no file (null). Every file is written whole or not at all; an existing index is never
 * overwritten. After a fault the index lists what was written before it. A dump that was stopped (by a signal, or
 * BG_STEP_STOP) has an index with the member "next": the next dump of the same graph into its directory goes on there,
 * as bg_step_from does, and writes the index that it would have had.
 * Errors: those of bg_step, IO, INVALID_ARGUMENT (directory has an index of another kind, graph or replay, or of other
 * shapes; its index was changed, or a file that it lists is gone). */
BG_API bg_status bg_step_dump(bg_graph *graph, cudaStream_t stream, const char *directory, bg_report **report);

BG_END_C_

#endif
