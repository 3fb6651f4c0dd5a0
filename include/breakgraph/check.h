/* Is every address that a graph touches still what it was when the graph was captured?
 *
 * The ledger knows who owns an address: an allocation of the driver's, a block of a bg_pool, or a block of another
 * allocator that tells its own with bg_ledger_alloc and bg_ledger_free (breakgraph/memory.h). It cannot see pointers
 * that lie in device memory or in descriptors. */
#ifndef BREAKGRAPH_CHECK_H
#define BREAKGRAPH_CHECK_H

#include <breakgraph/capture.h>
#include <breakgraph/report.h>
#include <breakgraph/status.h>

BG_BEGIN_C_

/* ---- checks --------------------------------------------------------------------------------------------------- */

/* What bg_check looks at. docs/findings.md describes the kinds of findings.
 *   ADDRESSES: the tensors of all op calls, and the static buffers of a runner's graph, against what their addresses
 *              meant at capture: freed, reused, moved, shrunk, out-of-range. Of an eager call the arguments that its
 *              next replay would get: what bg_graph_args changed must be valid now
 *   NODES:     the addresses in kernel, memcpy and memset nodes, in child graphs too: those that point into memory
 * which has been freed since the graph was first looked at ("dangling") HOST_MEMORY: copies from and to host memory
 * that CUDA does not know ("pageable-copy", "stack-copy") OVERLAP:   outputs of a call that overlap other tensors of
 * that call, bridge buffers that overlap anything, and captured calls that share bytes which one of them writes, and
 * that neither streams nor events order
 *              ("race")
 *   LEAKS:     captured calls that have outputs, but left no work in the graph, as on the default stream, a stream that
 *              was not forked, or a library handle's other stream ("leak"). A call that left some of its work there is
 *              told by bg_check_recapture alone */
enum {
    BG_CHECK_ADDRESSES = 1,
    BG_CHECK_NODES = 2,
    BG_CHECK_HOST_MEMORY = 4,
    BG_CHECK_OVERLAP = 8,
    BG_CHECK_LEAKS = 16,
    BG_CHECK_ALL = 31
};

/* Looks for faults of these sorts in a graph; what is found is in *report, which the caller destroys, and which is
 * empty for a clean graph. It launches nothing. Errors: INVALID_ARGUMENT (a NULL, no such check), OUT_OF_MEMORY, CUDA.
 */
BG_API bg_status bg_check(bg_graph *graph, unsigned what, bg_report **report);

/* Captures forward(user, stream) twice without launching anything, with change(user) in between (NULL: nothing), and
 * compares what the two captures hold. What differs is frozen in a graph: numbers in node parameters and in the
 * arguments of eager calls ("frozen-value"), addresses ("unstable-pointer"), which ops are called and which nodes they
 * make ("frozen-control-flow"). change sets what may differ between two replays: other inputs in the same buffers,
 * other host state. Memory that the capture itself gives (bridge buffers, scratch, cudaMallocAsync) counts as the same
 * where it has the same place in the pass. What ran in the second capture, though nothing was launched, is in no
 * segment ("leak"): the outputs of captured calls are overwritten before it and compared after it, and hold what they
 * held before when this returns; of the calls with an output there those without nodes are named, or else the first.
 * Outputs in memory of the capture's own (bridge buffers), and those of eager ops whose bodies run without a launch,
 * are not looked at, nor are outputs whose memory is freed or moved between the captures. This takes as much device
 * memory again as the outputs, and waits for the device; no other work may use them meanwhile. The report is the
 * caller's.
 *
 * No segment is launched and eager bodies do not run, but for those of ops whose outputs' shapes cannot be known
 * without (bg_op_attributes.shape). What forward does on the host happens twice. Errors: INVALID_ARGUMENT (a NULL),
 * those of bg_capture_forward, BUSY (another thread captures), OUT_OF_MEMORY, UNSUPPORTED (a driver before CUDA 12.4).
 * What forward itself keeps of a pass, such as the address of a bridge buffer, is then of a capture that is gone: check
 * before the capture that counts. */
BG_API bg_status bg_check_recapture(bg_forward forward, void *user, void (*change)(void *user), cudaStream_t stream,
                                    bg_report **report);

/* Replays graph with different patterns in what nobody should read: the calls' scratch and bridge buffers, outputs of
 * calls that no call reads before one has written them, released blocks and padding of the graph's pool, and the given
 * outputs (count of them, in memory that the device reaches). An output that then differs, bit for bit, depends on
 * what nobody wrote: "unwritten-output" where it, or an output on its way there, still holds the pattern; else
 * "reads-unwritten" with the first op call whose outputs differ while its inputs do not, found by replays that step
 * (bg_step). An output that also differs between two replays with the same pattern gives the note "not-repeatable". An
 * op that keeps a part of what an output held has to declare it BG_INOUT.
 *
 * There are 3 replays, up to 7 where something is found, and eager bodies run in each. Each begins with the tensors of
 * all op calls as they are now, and when it returns they hold that again; of the state that lies elsewhere nothing is
 * known. That takes as much device memory again as those tensors, and waits for the device. An index that is read from
 * unwritten memory may lead anywhere: such a replay may fault. Where an address is no longer what it was at capture,
 * nothing is replayed, and the report has the findings of BG_CHECK_ADDRESSES. *report is the caller's.
 *
 * Errors: INVALID_ARGUMENT (a NULL, a bad tensor), BUSY (another thread captures), OUT_OF_MEMORY, those of bg_replay
 * and bg_step. */
BG_API bg_status bg_check_poison(bg_graph *graph, const bg_tensor *outputs, size_t count, cudaStream_t stream,
                                 bg_report **report);

BG_END_C_

#endif
