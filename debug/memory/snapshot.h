/* Copies memory ranges into other device memory. The ranges can be restored from these copies. */
#ifndef BG_DEBUG_SNAPSHOT_H
#define BG_DEBUG_SNAPSHOT_H

#include "chunks.h"
#include "spans.h"

typedef struct bg__snapshot_piece {
    uintptr_t begin, end;
    void *copy;
    uint64_t generation; /* generation of the allocation that holds `begin`; 0: the driver knows none */
} bg__snapshot_piece;

/* Disjoint pieces, in order of their addresses. Starts zeroed. */
typedef struct bg__snapshot {
    bg__snapshot_piece *list;
    size_t count, capacity;
    bg__spans all;
    bg__chunks copies;
} bg__snapshot;

/* Queues on `stream` copies of the parts of [begin, end) that the snapshot lacks. */
bg_status bg__snapshot_add(bg__snapshot *snapshot, uintptr_t begin, uintptr_t end, cudaStream_t stream);
bg_status bg__snapshot_add_all(bg__snapshot *snapshot, const bg__spans *spans, cudaStream_t stream);
bool bg__snapshot_has(const bg__snapshot *snapshot, uintptr_t begin, uintptr_t end);
/* Queues copies of the current contents of all pieces, and drops pieces whose memory was freed. */
bg_status bg__snapshot_refresh(bg__snapshot *snapshot, cudaStream_t stream);
/* Restores all pieces and waits. Skips pieces that overlap `except` (NULL: none), and pieces whose memory was freed or
 * replaced. Continues after a failure, and returns the first one. */
bg_status bg__snapshot_restore(const bg__snapshot *snapshot, const bg__spans *except, cudaStream_t stream);
/* Returns the copy of [begin, end), or NULL if the range is not in one piece. */
const void *bg__snapshot_find(const bg__snapshot *snapshot, uintptr_t begin, uintptr_t end);
void bg__snapshot_free(bg__snapshot *snapshot);

#endif
