#include "base/ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- the table ---- */

static bg_status check_functions(const bg_ranks *table, const char *place)
{
    const struct {
        const char *name;
        bool missing;
    } needed[] = {{"barrier", table->barrier == NULL},
                  {"agree", table->agree == NULL},
                  {"any", table->any == NULL},
                  {"retain", table->retain == NULL && table->release != NULL},
                  {"release", table->release == NULL && table->retain != NULL},
                  {"enter", table->enter == NULL && (table->step != NULL || table->leave != NULL)},
                  {"step", table->step == NULL && table->enter != NULL},
                  {"leave", table->leave == NULL && table->enter != NULL}};

    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (needed[i].missing)
            return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s->%s is NULL%s", place, needed[i].name,
                            i < 3
                                ? "; set it in every bg_ranks"
                                : "; set both retain and release or neither, and all of enter, step and leave or none");
    return BG_OK;
}

bg_status bg__ranks_copy_table(bg__ranks *ranks, const bg_ranks *from, const char *place)
{
    bg_ranks *table = &ranks->table;
    bg_status status = BG_OK;

    *ranks = (bg__ranks){.table = BG_RANKS_INIT};
    if (from == NULL)
        return BG_OK;
    BG__TRY(bg__struct_copy_in(table, from, sizeof *table, sizeof *table, place, "BG_RANKS_INIT"));
    if (table->size < 1 || table->rank < 0 || table->rank >= table->size)
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "%s->rank is %d and %s->size is %d; a rank must be 0 to size - 1", place,
                 table->rank, place, table->size);
    BG__TRY(check_functions(table, place));
    ranks->there = true;
done:
    return status;
}

/* ---- its functions ---- */

/* The table's functions may be unable to set bg_last_error(), so a failure without a sentence gets one here. */
static bg_status finish_table_call(bg_status status, char hidden, const char *what, const char *why)
{
    bg__foreign_error_note(); /* the table's function may have left a CUDA error of its own */
    if (status != BG_OK && bg_last_error()[0] == '\0')
        bg__fail(status, "%s: %s (%s)", what, why, bg_status_name(status));
    if (status == BG_OK)
        bg__error_restore(hidden);
    return status;
}

bg_status bg__ranks_barrier(bg__ranks *ranks, const char *what)
{
    bg_status status;
    char hidden;

    if (!ranks->there)
        return BG_OK;
    hidden = bg__error_set_aside();
    status = finish_table_call(ranks->table.barrier(ranks->table.user, what), hidden, what,
                               "not all ranks reached this call");
    ranks->parted |= status != BG_OK;
    return status;
}

bg_status bg__ranks_agree(bg__ranks *ranks, const char *what, const char *text)
{
    char hidden;

    if (!ranks->there)
        return BG_OK;
    hidden = bg__error_set_aside();
    return finish_table_call(ranks->table.agree(ranks->table.user, what, text), hidden, what, "the ranks disagree");
}

bg_status bg__ranks_agree_after(bg__ranks *ranks, const char *what, const char *text, bg_status status)
{
    char own[1024], brief[600];

    if (status == BG_OK || !ranks->there)
        return status != BG_OK ? status : bg__ranks_agree(ranks, what, text);
    snprintf(own, sizeof own, "%s", bg_last_error());
    bg__shorten_with_digest(own, brief, sizeof brief);
    (void)bg__ranks_agree(ranks, what, brief); /* this rank's own failure comes first */
    bg__error_set_text(own);
    return status;
}

bg_status bg__ranks_any(bg__ranks *ranks, const char *what, bool *flag)
{
    bool mine = *flag;
    bg_status status;
    char hidden;

    if (!ranks->there)
        return BG_OK;
    hidden = bg__error_set_aside();
    status = finish_table_call(ranks->table.any(ranks->table.user, what, mine, flag), hidden, what,
                               "not all ranks reached this call");
    ranks->parted |= status != BG_OK;
    return status;
}

/* ---- its watchdog ---- */

bg_status bg__ranks_enter(const bg__ranks *ranks, const char *name, uint64_t replay, int steps)
{
    char hidden;

    if (!bg__ranks_has_watchdog(ranks))
        return BG_OK;
    hidden = bg__error_set_aside();
    return finish_table_call(ranks->table.enter(ranks->table.user, name, replay, steps), hidden, "ranks->enter",
                             "it failed");
}

bg_status bg__ranks_step(const bg__ranks *ranks, int step, const char *text, cudaStream_t stream)
{
    char hidden;

    if (!bg__ranks_has_watchdog(ranks))
        return BG_OK;
    hidden = bg__error_set_aside();
    return finish_table_call(ranks->table.step(ranks->table.user, step, text, stream), hidden, "ranks->step",
                             "it failed");
}

/* ---- failures ---- */

bg_status bg__ranks_share_failure(bg__ranks *ranks, const char *what, bg_status status)
{
    bool failed = status != BG_OK;
    char text[1024], brief[600], parted[400];
    bg_status shared;

    if (!ranks->there)
        return status;
    snprintf(text, sizeof text, "%s", bg_last_error());
    shared = bg__ranks_any(ranks, what, &failed);
    if (shared != BG_OK && status != BG_OK) { /* one may be the cause of the other */
        bg__shorten_with_digest(bg_last_error(), parted, sizeof parted);
        bg__shorten_with_digest(text, brief, sizeof brief);
        snprintf(text, sizeof text, "%s; then %s", brief, parted);
    }
    if (shared == BG_OK && failed) {
        bg__shorten_with_digest(status == BG_OK ? "it succeeded" : text, brief, sizeof brief);
        shared = bg__ranks_agree(ranks, what, brief);
        if (shared == BG_OK && status == BG_OK)
            shared = bg__fail(BG_ERROR_RANKS, "%s: another rank failed", what);
    }
    if (status == BG_OK)
        return shared;
    bg__error_set_text(text);
    return status;
}

bg_status bg__ranks_barrier_after(bg__ranks *ranks, const char *what, bg_status status)
{
    char text[1024], brief[600], where[800];

    if (!ranks->there || ranks->parted)
        return status;
    snprintf(where, sizeof where, "%s", what);
    if (status == BG_OK)
        return bg__ranks_barrier(ranks, where);
    snprintf(text, sizeof text, "%s", bg_last_error());
    bg__shorten_with_digest(text, brief, sizeof brief);
    snprintf(where, sizeof where, "%.160s, which failed: %s", what, brief);
    (void)bg__ranks_barrier(ranks, where); /* this rank's own failure comes first */
    bg__error_set_text(text);
    return status;
}

/* ---- texts ---- */

void bg__shorten_with_digest(const char *text, char *brief, size_t bytes)
{
    enum { TAIL = 48 }; /* room for the digest */
    size_t length = strlen(text);

    if (length < bytes)
        memcpy(brief, text, length + 1);
    else
        snprintf(brief, bytes, "%.*s... (%zu characters, %016" PRIx64 ")", (int)(bytes - TAIL - 1), text, length,
                 bg__text_hash(text));
}
