/* Checks of a graph: whether each address in it still belongs to the same allocation as at capture, and whether the
 * graph contains races, leaks, frozen values or reads of unwritten memory.
 * The ledger knows who owns an address: an allocation of the driver's, a block of a bg_pool, or a block that another
 * allocator reports by bg_ledger_alloc and bg_ledger_free (breakgraph/memory.h). Checks of addresses do not see
 * pointers that are stored in device memory or in descriptors. */
#ifndef BREAKGRAPH_CHECK_H
#define BREAKGRAPH_CHECK_H

#include <breakgraph/capture.h>
#include <breakgraph/report.h>
#include <breakgraph/status.h>

BG_BEGIN_C_

/* ---- checks --------------------------------------------------------------------------------------------------- */

/* The checks of bg_check. docs/findings.md describes the kinds of findings.
 *   ADDRESSES:   compares the tensors of all op calls, and the static buffers of a runner's graph, with the
 *                allocations of the capture: "freed", "reused", "moved", "shrunk", "out-of-range". For an eager call
 *                it checks the arguments of the next replay, so what was changed through bg_graph_args must be valid
 *                now. Closures (breakgraph/eager.h) that point into the stack of a function that has returned:
 *                "dangling"
 *   NODES:       addresses in kernel, memcpy and memset nodes, in child graphs too, that point into memory which was
 *                freed since the graph was first checked: "dangling", "reused"
 *   HOST_MEMORY: copies from and to host memory that CUDA does not know: "pageable-copy", "stack-copy"
 *   OVERLAP:     outputs of a call that overlap other tensors of that call, and bridge buffers that overlap anything;
 *                captured calls that share bytes, if one of the calls writes them and no stream or event orders the
 *                calls: "race"
 *   LEAKS:       captured calls that have outputs but left no work in the graph: "leak". For example, they launched
 *                it on the default stream, on a stream that was not forked, or through a library handle that is set to
 *                another stream. This check does not find a call that left only a part of its work in the graph;
 *                bg_check_recapture does */
enum {
    BG_CHECK_ADDRESSES = 1,
    BG_CHECK_NODES = 2,
    BG_CHECK_HOST_MEMORY = 4,
    BG_CHECK_OVERLAP = 8,
    BG_CHECK_LEAKS = 16,
    BG_CHECK_ALL = 31
};

/* Looks for faults of the given sorts in a graph, and launches nothing. what: a combination of BG_CHECK_ values. The
 * caller owns *report, which is empty for a graph without faults.
 * After the device has failed, the data of the ledger and of the capture are still checked; CUDA is asked only if they
 * give no finding.
 * Errors: INVALID_ARGUMENT (a NULL, no check, an unknown check), IO (HOST_MEMORY: /proc/self/maps cannot be read),
 * OUT_OF_MEMORY, CUDA. */
BG_API bg_status bg_check(bg_graph *graph, unsigned what, bg_report **report);

/* Captures forward(user, stream) twice without launching anything, calls change(user) in between, and compares the two
 * captures. What differs is frozen in a graph: "frozen-value" for numbers in node parameters and in arguments of eager
 * calls, "unstable-pointer" for addresses, "frozen-control-flow" for which ops are called and which nodes they make.
 * `change` sets what may differ between two replays: other inputs in the same buffers, other host state. NULL: none.
 * The caller owns *report.
 * Memory that the capture itself allocates (bridge buffers, scratch, cudaMallocAsync) counts as equal where it has the
 * same place in the pass.
 * These captures launch nothing, so work that really ran during the second one is in no segment: "leak". To find it,
 * the outputs of captured calls are overwritten before that capture and compared after it; they are restored at the
 * end. The finding names the calls that have an output in the changed memory and made no nodes. If all of these calls
 * made nodes, it names the first. Not checked: bridge buffers; outputs of eager ops whose body or capture stub runs in
 * these captures; outputs whose memory is freed or moved between the captures.
 * Takes as much additional device memory as the outputs, and about as much host memory. Waits for the device; no other
 * work may use the outputs meanwhile. No segment is launched. Of an eager op only the capture stub runs, or the body if
 * an output's shape needs it (bg_op_attributes). What `forward` does on the host happens twice. Values that `forward`
 * saves during this check, such as a bridge buffer's address, are invalid afterwards: run it before you capture the
 * graph that you will use.
 * Errors: INVALID_ARGUMENT (a NULL), those of bg_capture_forward, BUSY (another thread captures), OUT_OF_MEMORY. */
BG_API bg_status bg_check_recapture(bg_forward forward, void *user, void (*change)(void *user), cudaStream_t stream,
                                    bg_report **report);

/* Replays graph with different patterns in memory that no op may read before another has written it: the calls' scratch
 * and bridge buffers, outputs that are written before any call reads them, released blocks of the graph's pool, the
 * unused bytes at the ends of its blocks, and the given outputs. An output that then differs, bit for bit, depends on
 * unwritten memory: "unwritten-output" if that output, or an earlier output that it is computed from, still holds the
 * pattern; else "reads-unwritten" at the first op call whose outputs differ while its inputs do not, found by replays
 * that step (bg_step). An output that also differs between two replays with the same pattern gives the finding
 * "not-repeatable", of severity NOTE. An op that keeps a part of its output's old contents must declare it BG_INOUT. In
 * a padded run of a runner (BG_CHECK=poison), only the batch's rows of tensors by tokens are compared. A runner's
 * static buffers are never filled with patterns.
 * outputs: count tensors in memory that the device can access. The caller owns *report.
 * There are 3 replays, up to 7 where something is found, and eager bodies run in each. Each replay begins with the
 * current contents of the tensors of all op calls, which are restored at the end; other state is not restored. Takes as
 * much additional device memory as those tensors, plus at most an eighth of that and 16 MiB. Waits for the device. An
 * index that is read from unwritten memory may be out of range, so a replay may fault. If an address no longer belongs
 * to the allocation that it had at capture, nothing is replayed, and the report has the findings of BG_CHECK_ADDRESSES.
 * Errors: INVALID_ARGUMENT (a NULL, a bad tensor), BUSY (another thread captures), OUT_OF_MEMORY, those of bg_replay
 * and bg_step. */
BG_API bg_status bg_check_poison(bg_graph *graph, const bg_tensor *outputs, size_t count, cudaStream_t stream,
                                 bg_report **report);

BG_END_C_

#endif
