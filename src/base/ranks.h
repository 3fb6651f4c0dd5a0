/* What this process agrees on with the other ranks of its job. Without ranks all here is agreed on at once. */
#ifndef BG_BASE_RANKS_H
#define BG_BASE_RANKS_H

#include <breakgraph/ranks.h>

#include "base/base.h"

/* Starts zeroed: this process alone. */
typedef struct bg__ranks {
    bg_ranks table; /* the program's, all of this version's members */
    bool there;
    bool parted; /* a call failed in which ranks cannot disagree: they are no longer in step */
} bg__ranks;

/* Copies the program's table (NULL: alone), which stands in `place` ("options.ranks"). INVALID_ARGUMENT with the member
 * that is wrong. */
bg_status bg__ranks_take(bg__ranks *ranks, const bg_ranks *from, const char *place);
/* As the program gets it; NULL: alone. */
static inline const bg_ranks *bg__ranks_table(const bg__ranks *ranks)
{
    return ranks->there ? &ranks->table : NULL;
}

/* The table's functions. A failure has a sentence; after a success bg_last_error() is as before. */
bg_status bg__ranks_barrier(bg__ranks *ranks, const char *what);
bg_status bg__ranks_agree(bg__ranks *ranks, const char *what, const char *text);
/* The same after what may have failed: then this rank says its bg_last_error() instead, and its own failure is what
 * comes back. */
bg_status bg__ranks_agree_after(bg__ranks *ranks, const char *what, const char *text, bg_status status);
/* *flag: this rank's, then whether some rank's is set. */
bg_status bg__ranks_any(bg__ranks *ranks, const char *what, bool *flag);

/* For its watchdog, where the table has one (else BG_OK). A failure has a sentence. */
static inline bool bg__ranks_watch(const bg__ranks *ranks)
{
    return ranks->there && ranks->table.enter != NULL;
}
bg_status bg__ranks_enter(const bg__ranks *ranks, const char *name, uint64_t replay, int steps);
bg_status bg__ranks_step(const bg__ranks *ranks, int step, const char *text, cudaStream_t stream);

/* The failure of one rank becomes one of all: this rank's own, or RANKS with the sentences of the others. All ranks
 * call it, those that have failed too. */
bg_status bg__ranks_share(bg__ranks *ranks, const char *what, bg_status status);
/* The same at the end of what ranks do together, but one that fails may come here early, while the others are at
 * something else, which fails then. */
bg_status bg__ranks_finish(bg__ranks *ranks, const char *what, bg_status status);

/* A text that is long is cut, and gets a digest of all of it. */
void bg__ranks_shorten(const char *text, char *brief, size_t bytes);

#endif
