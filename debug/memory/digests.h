/* Digests of memory, page by page, to find the pages that have changed. */
#ifndef BG_DEBUG_DIGESTS_H
#define BG_DEBUG_DIGESTS_H

#include "spans.h"

/* Digests of the pages of spans. Each span begins at a multiple of 8. Starts zeroed. */
typedef struct bg__digests {
    unsigned long long *list;
    size_t count, capacity;
    size_t page; /* bytes */
} bg__digests;

/* Computes the digests and waits for the stream. Digests that are compared must have the same spans. page: a multiple
 * of 8. Call bg__digests_free also after a failure. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__digests_compute(bg__digests *digests, const bg__spans *spans, size_t page, cudaStream_t stream);
/* Adds to `differing` the pages whose digests differ. `a` and `b` must have the same page size. Errors:
 * OUT_OF_MEMORY. */
bg_status bg__digests_compare(const bg__digests *a, const bg__digests *b, const bg__spans *spans, bg__spans *differing);
void bg__digests_free(bg__digests *digests);

#endif
