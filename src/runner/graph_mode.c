/* What the modes mean, and which of them the ops allow. */
#include "runner/config.h"

#include <stdio.h>
#include <string.h>

/* A mode says how decode batches run, and how mixed ones do, as in vLLM's CUDAGraphMode. */
typedef struct mode_row {
    const char *name;
    bg_mode decode, mixed;
} mode_row;

static const mode_row mode_rows[] = {
    [BG_MODE_NONE] = {"none", BG_MODE_NONE, BG_MODE_NONE},
    [BG_MODE_PIECEWISE] = {"piecewise", BG_MODE_PIECEWISE, BG_MODE_PIECEWISE},
    [BG_MODE_FULL] = {"full", BG_MODE_FULL, BG_MODE_FULL},
    [BG_MODE_FULL_DECODE_ONLY] = {"full_decode_only", BG_MODE_FULL, BG_MODE_NONE},
    [BG_MODE_FULL_AND_PIECEWISE] = {"full_and_piecewise", BG_MODE_FULL, BG_MODE_PIECEWISE},
};
enum { MODES = sizeof mode_rows / sizeof *mode_rows };

bool bg__mode_is_valid(bg_mode mode)
{
    return (int)mode >= 0 && (int)mode < MODES;
}

static const mode_row *find_mode_row(bg_mode mode)
{
    return &mode_rows[bg__mode_is_valid(mode) ? mode : BG_MODE_NONE];
}

bg_mode bg_mode_decode(bg_mode mode)
{
    return find_mode_row(mode)->decode;
}

bg_mode bg_mode_mixed(bg_mode mode)
{
    return find_mode_row(mode)->mixed;
}

bg_mode bg_mode_highest(bg_mode mode)
{
    const mode_row *row = find_mode_row(mode);
    return row->decode > row->mixed ? row->decode : row->mixed;
}

bool bg_mode_has_full(bg_mode mode)
{
    return bg_mode_highest(mode) == BG_MODE_FULL;
}

bool bg_mode_has_piecewise(bg_mode mode)
{
    const mode_row *row = find_mode_row(mode);
    return row->decode == BG_MODE_PIECEWISE || row->mixed == BG_MODE_PIECEWISE;
}

bool bg_mode_separate(bg_mode mode)
{
    const mode_row *row = find_mode_row(mode);
    return row->decode != row->mixed;
}

const char *bg__mode_name(bg_mode mode)
{
    return find_mode_row(mode)->name;
}

/* ---- what the ops allow ---- */

static const char *support_text(bg_support support)
{
    switch (support) {
    case BG_SUPPORT_UNIFORM_BATCH: return "only full graphs of uniform batches";
    case BG_SUPPORT_SINGLE_TOKEN_DECODE: return "only full graphs of decode batches with one token per request";
    case BG_SUPPORT_NEVER: return "no full graph";
    default: return "full graphs of all batches";
    }
}

/* Returns the first op with the least support; NULL: there is no op. */
static const bg_op *find_weakest(const bg_op *const *ops, size_t count)
{
    const bg_op *weakest = NULL;
    for (size_t i = 0; i < count; i++)
        if (weakest == NULL || ops[i]->attributes_.graph_support > weakest->attributes_.graph_support)
            weakest = ops[i];
    return weakest;
}

static bg_mode without_full_decode(bg_mode mode)
{
    return mode == BG_MODE_FULL_DECODE_ONLY ? BG_MODE_NONE : BG_MODE_PIECEWISE;
}

/* Writes "1,4", as far as there is room. */
static void list_query_lens(const bg__scope *scope, char *text, size_t bytes)
{
    size_t used = 0;
    for (int i = 0; i < scope->query_len_count && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%d", i > 0 ? "," : "", scope->query_lens[i]);
}

/* Writes what is lowered, and to what. */
static void format_lowered(const bg__scope *before, const bg__scope *now, char *text, size_t bytes)
{
    const char *alone = "";
    if (bg_mode_separate(now->mode) && now->query_len_count < before->query_len_count)
        alone = " with full graphs only for query length 1";
    if (now->mode != before->mode)
        snprintf(text, bytes, "mode %s is lowered to %s%s", bg__mode_name(before->mode), bg__mode_name(now->mode),
                 alone);
    else
        snprintf(text, bytes, "mode %s runs%s", bg__mode_name(now->mode), alone);
}

static void lower_to_support(bg__scope *scope, bg_support support)
{
    bool decode = support <= BG_SUPPORT_UNIFORM_BATCH;

    if (support == BG_SUPPORT_SINGLE_TOKEN_DECODE && scope->query_lens[0] == 1) {
        decode = true;
        scope->query_len_count = 1;
    }
    if (!decode)
        scope->mode = without_full_decode(scope->mode);
    else if (bg_mode_mixed(scope->mode) == BG_MODE_FULL && support != BG_SUPPORT_ALWAYS)
        scope->mode = BG_MODE_FULL_AND_PIECEWISE;
}

bool bg__scope_lower(bg__scope *scope, const bg_op *const *ops, size_t count, char *why, size_t bytes)
{
    const bg_op *weakest = find_weakest(ops, count);
    const bg__scope before = *scope;
    char lowered[160], lens[80];

    if (bytes > 0)
        why[0] = '\0';
    if (!bg__mode_is_valid(scope->mode))
        scope->mode = BG_MODE_NONE;
    if (!bg_mode_has_full(scope->mode) || weakest == NULL)
        return false;
    lower_to_support(scope, weakest->attributes_.graph_support);
    if (scope->mode == before.mode && scope->query_len_count == before.query_len_count)
        return false;
    format_lowered(&before, scope, lowered, sizeof lowered);
    list_query_lens(&before, lens, sizeof lens);
    snprintf(why, bytes, "%s: op \"%s\" supports %s (max_query_len is %s)", lowered, weakest->name,
             support_text(weakest->attributes_.graph_support), lens);
    return true;
}
