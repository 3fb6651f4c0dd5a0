/* What a graph's memory holds before a launch, for tools that run its nodes more than once. */
#ifndef BG_ATTACH_IMAGE_H
#define BG_ATTACH_IMAGE_H

#include "debug/attach/nodes/reachable_memory.h"
#include "debug/memory/digests.h"
#include "debug/memory/snapshot.h"

/* Starts zeroed. */
typedef struct bg__image {
    bg__spans reach;     /* all that the nodes may read or write, and that may be restored */
    bg__spans watched;   /* what the nodes may write besides, and is never restored: others may write there, too */
    char obstacle[160];  /* why the nodes must not run: "it has ..."; "": they may */
    bg__snapshot copy;   /* of reach, or of those of its blocks that an earlier launch wrote into */
    bg__digests digests; /* of reach, before the launch */
    size_t page;         /* of all digests of reach */
    bg__digests around;  /* of watched, before the launch */
} bg__image;

/* Reads BG_ATTACH_SNAPSHOT_LIMIT. INVALID_ARGUMENT. */
bg_status bg__image_begin(void);

/* Waits for the device, and takes reach and its digests, unless there is an obstacle. Call bg__image_free also after a
 * failure. */
bg_status bg__image_look(bg__image *image, const bg__nodes *nodes, cudaStream_t stream);
/* Copies these blocks, which are parts of reach. *fits: they are no larger than the limit: half of the memory that is
 * free, or BG_ATTACH_SNAPSHOT_LIMIT. */
bg_status bg__image_copy(bg__image *image, const bg__spans *blocks, bool *fits, cudaStream_t stream);
/* Adds to blocks those of reach whose contents have changed since bg__image_look. */
bg_status bg__image_changed_blocks(const bg__image *image, bg__spans *blocks, cudaStream_t stream);
/* *contained: what has changed since bg__image_look lies in the copy. */
bg_status bg__image_contains_changes(const bg__image *image, const bg__digests *now, bool *contained);
/* *changed: something in watched has changed since bg__image_look. */
bg_status bg__image_is_watched_changed(const bg__image *image, bool *changed, cudaStream_t stream);
bg_status bg__image_restore(const bg__image *image, cudaStream_t stream);
void bg__image_free(bg__image *image);

#endif
