/* Agreement of this process with the other ranks of its job. Without ranks every function here succeeds at once. */
#ifndef BG_BASE_RANKS_H
#define BG_BASE_RANKS_H

#include <breakgraph/ranks.h>

#include "base/base.h"

/* Starts zeroed: this process alone. */
typedef struct bg__ranks {
    bg_ranks table; /* the program's, all of this version's members */
    bool there;
    bool parted; /* `barrier` or `any` failed: the ranks are no longer in step */
} bg__ranks;

/* Copies the program's table; NULL: this process alone. `place` names the table in messages ("options.ranks"). Errors:
 * INVALID_ARGUMENT (the message names the wrong member). */
bg_status bg__ranks_copy_table(bg__ranks *ranks, const bg_ranks *from, const char *place);
/* Returns the table, or NULL if this process is alone. */
static inline const bg_ranks *bg__ranks_table(const bg__ranks *ranks)
{
    return ranks->there ? &ranks->table : NULL;
}

/* Call the table's functions. A failure sets bg_last_error(); a success leaves it unchanged. */
bg_status bg__ranks_barrier(bg__ranks *ranks, const char *what);
bg_status bg__ranks_agree(bg__ranks *ranks, const char *what, const char *text);
/* As bg__ranks_agree, after work whose result is status. If that is a failure, this rank sends its bg_last_error()
 * instead of text, and the function returns status. */
bg_status bg__ranks_agree_after(bg__ranks *ranks, const char *what, const char *text, bg_status status);
/* *flag is this rank's flag at the call, and becomes true if it is true on any rank. */
bg_status bg__ranks_any(bg__ranks *ranks, const char *what, bool *flag);

/* Report the progress of a replay to the table's watchdog; without one they return BG_OK. A failure sets
 * bg_last_error(). */
static inline bool bg__ranks_has_watchdog(const bg__ranks *ranks)
{
    return ranks->there && ranks->table.enter != NULL;
}
bg_status bg__ranks_enter(const bg__ranks *ranks, const char *name, uint64_t replay, int steps);
bg_status bg__ranks_step(const bg__ranks *ranks, int step, const char *text, cudaStream_t stream);

/* Makes a failure of one rank a failure of all ranks: returns this rank's own failure, or RANKS with the messages of
 * the others. All ranks call it, also those that have failed. */
bg_status bg__ranks_share_failure(bg__ranks *ranks, const char *what, bg_status status);
/* As bg__ranks_share_failure, at the end of work that the ranks do together. A rank that fails may call it early, while
 * the others are in another call, which then fails. */
bg_status bg__ranks_barrier_after(bg__ranks *ranks, const char *what, bg_status status);

/* Copies text to brief. A text that does not fit is cut, and a digest of the whole text is appended. */
void bg__shorten_with_digest(const char *text, char *brief, size_t bytes);

#endif
