/* Stepping: a replay that goes node by node, waits and looks after each, and so names the one that is at fault.
 *
 * BG_DEBUG=step in the environment (or options.debug) makes every replay of a graph one of these. Then BG_STEP_STOP
 * stops it after a call ("rope#3") or after the node of that number, from 0, and BG_STEP_DUMP=DIR dumps the tensors of
 * the process's first such replay. All are read when a capture begins.
 *
 * Threads: as bg_replay. */
#ifndef BREAKGRAPH_STEP_H
#define BREAKGRAPH_STEP_H

#include <breakgraph/capture.h>
#include <breakgraph/report.h>

BG_BEGIN_C_

/* What has just run: a node of a segment, an eager call, or a copy or event between them. The strings live until the
 * callback returns; those that do not apply are "". */
typedef struct bg_step_info {
    size_t struct_size;
    int index, total;   /* from 0, of all that a replay may run; a write-back that is not needed is passed over, and a
                         * node that is disabled */
    const char *node;   /* "segment 0, node 3 (kernel scale)"; a node's number is its place in cudaGraphGetNodes' list,
                         * one inside a child graph is "3.1" */
    const char *call;   /* the innermost op call that it comes from */
    cudaError_t error;  /* what CUDA said of it */
    uint64_t nan, inf;  /* elements of the call's outputs, where this was the call's last node; f32, f64, f16, bf16 */
    const char *kernel; /* as CUDA names it, mangled */
    const char *file;   /* where the call stands */
    int line;
    int segment; /* -1: it is in none */
    unsigned grid[3], block[3];
} bg_step_info;

#define BG_STEP_INFO_INIT                                                                                              \
    {                                                                                                                  \
        sizeof(bg_step_info), 0, 0, NULL, NULL, cudaSuccess, 0, 0, NULL, NULL, 0, -1, {0, 0, 0},                       \
        {                                                                                                              \
            0, 0, 0                                                                                                    \
        }                                                                                                              \
    }

/* Replays graph on stream one node after the other: in an order that the dependencies allow, of those that are ready
 * the one that was made first; eager calls and copies in their places. Each node runs in a CUDA graph of its own, and
 * is waited for. The results are those of bg_replay, bit for bit. A segment that cannot be taken apart (memory nodes,
 * conditional nodes) is launched as a whole, of which a note tells. Of a graph of bg_graph_wrap with an executable
 * graph of the program's, nodes run as the source has them, of which a note tells, too: parameters that were set in the
 * executable graph cannot be read; its disabled nodes do not run, but for those in child graphs. each (NULL: none) is
 * called after every one; where it returns false the replay ends there, with a note. Of a graph that was captured with
 * ranks all ranks step at once; where one ends, for whatever reason, the others end after that segment or eager call.
 *
 * BG_OK: the tool worked, *report is the caller's to destroy, and what it found is in it ("fault", "nan-origin",
 * "inf-origin", "stopped", "not-stepped", "from-source", "not-counted": docs/findings.md). A fault ends the replay;
 * after one that took the device, too, the report is whole and can be written. Errors, with *report NULL: those of
 * bg_replay, INVALID_ARGUMENT, OUT_OF_MEMORY, UNSUPPORTED, CUDA. */
BG_API bg_status bg_step(bg_graph *graph, cudaStream_t stream, bool (*each)(void *user, const bg_step_info *info),
                         void *user, bg_report **report);

/* The same without a callback; after each op call all its tensors are written to directory, which is made where it is
 * missing: NNNN_CALL.FIELD.npy, in NumPy's format 1.0 (long names are cut off, and equal ones end in _2, _3), and at
 * the end index.json, which lists them: call, field, role, dtype, shape, file. bf16, which NumPy does not know, is
 * written as 16-bit unsigned integers of the same bits; a tensor that is not in memory that the device reaches has no
 * file (null). Every file is written whole or not at all; an index is never overwritten. After a fault the index lists
 * what was written before it. Errors: those of bg_step, IO, INVALID_ARGUMENT (directory has an index). */
BG_API bg_status bg_step_dump(bg_graph *graph, cudaStream_t stream, const char *directory, bg_report **report);

BG_END_C_

#endif
