/* What memory held, in device memory beside it: more can be added at any time, as long as it is as it was. */
#ifndef BG_DEBUG_SNAPSHOT_H
#define BG_DEBUG_SNAPSHOT_H

#include "spans.h"

typedef struct bg__snapshot_piece {
    uintptr_t begin, end;
    void *copy;
    uint64_t generation; /* of the allocation; 0: the driver knows none */
} bg__snapshot_piece;

/* Disjoint pieces. Starts zeroed. */
typedef struct bg__snapshot {
    bg__snapshot_piece *list;
    size_t count, capacity;
    bg__spans all;
} bg__snapshot;

/* What of [begin, end) is not in it yet is copied on stream, which may still run when this returns. */
bg_status bg__snapshot_add(bg__snapshot *snapshot, uintptr_t begin, uintptr_t end, cudaStream_t stream);
bg_status bg__snapshot_add_all(bg__snapshot *snapshot, const bg__spans *spans, cudaStream_t stream);
bool bg__snapshot_has(const bg__snapshot *snapshot, uintptr_t begin, uintptr_t end);
/* Takes all of it again, as it is now; what has been freed meanwhile is dropped. Queued on stream. */
bg_status bg__snapshot_refresh(bg__snapshot *snapshot, cudaStream_t stream);
/* Puts all back but what has been freed or replaced. Queued on stream; goes on where a part fails. */
bg_status bg__snapshot_restore(const bg__snapshot *snapshot, cudaStream_t stream);
/* The copy of what lies at begin; NULL where [begin, end) is not one piece, or a part of one. */
const void *bg__snapshot_find(const bg__snapshot *snapshot, uintptr_t begin, uintptr_t end);
void bg__snapshot_free(bg__snapshot *snapshot);

#endif
