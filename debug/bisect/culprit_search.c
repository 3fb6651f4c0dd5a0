/* The search of a bisect: finds which calls must be eager for a trial to be good. */
#include "culprit_search.h"

#include <breakgraph/bisect.h>
#include <string.h>

#include "debug/memory/allocate.h"

enum { NO_CALL = -1 };

/* The verdict on a set of eager calls. */
typedef struct known_verdict {
    struct known_verdict *next;
    bg_verdict verdict;
    bool eager[];
} known_verdict;

typedef struct culprit_search {
    const char *const *calls;
    size_t count;
    bg_search_trial trial;
    void *user;
    long *parents;      /* the call around each call; NO_CALL: it is an outermost call */
    bool *eager;        /* the current set of eager calls; between steps it is the set of culprits, which is GOOD */
    const char **names; /* names of the calls in a trial's set */
    size_t *units;      /* the calls that find_culprits searches; none is inside another */
    known_verdict *tried;
} culprit_search;

/* ---- trials ---- */

static bg_status store_verdict(culprit_search *s, bg_verdict verdict)
{
    known_verdict *k = malloc(sizeof *k + s->count * sizeof *k->eager);
    if (k == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_search: out of host memory for a trial's result");
    k->next = s->tried;
    k->verdict = verdict;
    memcpy(k->eager, s->eager, s->count * sizeof *k->eager);
    s->tried = k;
    return BG_OK;
}

/* Returns the verdict on the current set; a known set is not tried again. */
static bg_status try_marked_calls(culprit_search *s, bg_verdict *verdict)
{
    size_t names = 0;
    bg_status status;

    for (const known_verdict *k = s->tried; k != NULL; k = k->next)
        if (memcmp(k->eager, s->eager, s->count * sizeof *k->eager) == 0) {
            *verdict = k->verdict;
            return BG_OK;
        }
    for (size_t i = 0; i < s->count; i++)
        if (s->eager[i])
            s->names[names++] = s->calls[i];
    *verdict = BG_SKIP;
    BG__TRY(s->trial(s->user, s->names, names, verdict));
    BG__TRY(store_verdict(s, *verdict));
done:
    return status;
}

/* ---- calls inside calls ---- */

bool bg__is_call_inside(const char *call, const char *outer)
{
    size_t length = strlen(outer);
    return strncmp(call, outer, length) == 0 && call[length] == '/';
}

static void find_parents(culprit_search *s)
{
    for (size_t i = 0; i < s->count; i++) {
        long outer = (long)i - 1;
        while (outer != NO_CALL && !bg__is_call_inside(s->calls[i], s->calls[outer]))
            outer = s->parents[outer];
        s->parents[i] = outer;
    }
}

static size_t list_inner_calls(culprit_search *s, long outer)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->parents[i] == outer)
            s->units[count++] = i;
    return count;
}

static void mark_units(culprit_search *s, size_t from, size_t to, bool eager)
{
    for (size_t i = from; i < to; i++)
        s->eager[s->units[i]] = eager;
}

/* ---- the search ---- */

static bg_status judge_prefix(culprit_search *s, size_t length, bg_verdict *verdict)
{
    bg_status status;
    mark_units(s, 0, length, true);
    status = try_marked_calls(s, verdict);
    mark_units(s, 0, length, false);
    return status;
}

/* Finds the prefix nearest to the middle between `bad` and `good` that is not SKIP; *at is `good` if all are SKIP. */
static bg_status judge_middle(culprit_search *s, long bad, long good, long *at, bg_verdict *verdict)
{
    long middle = bad + (good - bad) / 2;
    bg_status status = BG_OK;

    for (long step = 0; step < good - bad; step++)
        for (int side = 0; side < (step > 0 ? 2 : 1); side++) {
            *at = side == 0 ? middle - step : middle + step;
            if (*at <= bad || *at >= good)
                continue;
            BG__TRY(judge_prefix(s, (size_t)*at, verdict));
            if (*verdict != BG_SKIP)
                goto done;
        }
    *at = good;
done:
    return status;
}

/* Adds culprits to the set. The set with all of the first `count` units is GOOD. The first culprit is the end of the
 * shortest GOOD prefix. The next culprit is the end of the shortest prefix before it that is needed as well, and so on.
 * If all prefixes are SKIP, they count as BAD. */
static bg_status find_culprits(culprit_search *s, size_t count)
{
    long good = (long)count, bad, at;
    bg_verdict verdict = BG_BAD;
    bg_status status = BG_OK;

    while (good > 0) {
        BG__TRY(judge_prefix(s, 0, &verdict));
        if (verdict == BG_GOOD)
            break;
        bad = 0;
        while (good - bad > 1) {
            BG__TRY(judge_middle(s, bad, good, &at, &verdict));
            if (at == good)
                break;
            *(verdict == BG_GOOD ? &good : &bad) = at;
        }
        mark_units(s, (size_t)bad, (size_t)good, true);
        good = bad;
    }
done:
    return status;
}

static size_t count_eager(const culprit_search *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += s->eager[i];
    return count;
}

/* Tries the set without each culprit, until every culprit is needed. */
static bg_status remove_unneeded_calls(culprit_search *s)
{
    bg_verdict verdict;
    bg_status status = BG_OK;
    bool fewer = true;

    while (fewer) {
        fewer = false;
        for (size_t i = 0; i < s->count && count_eager(s) > 1; i++) {
            if (!s->eager[i])
                continue;
            s->eager[i] = false;
            BG__TRY(try_marked_calls(s, &verdict));
            s->eager[i] = verdict != BG_GOOD;
            fewer = fewer || verdict == BG_GOOD;
        }
    }
done:
    return status;
}

/* Replaces a culprit by calls inside it if these calls suffice. The inner calls come later in the list, so the loop
 * narrows them, too. */
static bg_status narrow_to_inner_calls(culprit_search *s)
{
    bg_verdict verdict;
    bg_status status = BG_OK;

    for (size_t i = 0; i < s->count; i++) {
        size_t inside = s->eager[i] ? list_inner_calls(s, (long)i) : 0;
        if (inside == 0)
            continue;
        s->eager[i] = false;
        BG__TRY(judge_prefix(s, inside, &verdict));
        if (verdict == BG_GOOD)
            BG__TRY(find_culprits(s, inside));
        else
            s->eager[i] = true;
    }
    status = remove_unneeded_calls(s);
done:
    return status;
}

/* The set of all outermost calls is GOOD, and the empty set is BAD. */
static bg_status search_culprits(culprit_search *s)
{
    size_t outermost;
    bg_status status;

    BG__TRY(store_verdict(s, BG_BAD));
    outermost = list_inner_calls(s, NO_CALL);
    mark_units(s, 0, outermost, true);
    BG__TRY(store_verdict(s, BG_GOOD));
    mark_units(s, 0, outermost, false);
    BG__TRY(find_culprits(s, outermost));
    BG__TRY(remove_unneeded_calls(s));
    BG__TRY(narrow_to_inner_calls(s));
done:
    return status;
}

static bg_status allocate_search(culprit_search *s)
{
    bg_status status;
    BG__TRY(BG__ALLOCATE(s->parents, s->count, "calls"));
    BG__TRY(BG__ALLOCATE(s->eager, s->count, "calls"));
    BG__TRY(BG__ALLOCATE(s->names, s->count, "calls"));
    BG__TRY(BG__ALLOCATE(s->units, s->count, "calls"));
done:
    return status;
}

static void free_search(culprit_search *s)
{
    known_verdict *next;
    for (known_verdict *k = s->tried; k != NULL; k = next) {
        next = k->next;
        free(k);
    }
    free(s->units);
    free(s->names);
    free(s->eager);
    free(s->parents);
}

static bg_status check_names(const char *const *calls, size_t count)
{
    if (count == 0)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_search: there are no calls; give it at least one");
    for (size_t i = 0; i < count; i++)
        if (calls[i] == NULL)
            return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_search: calls[%zu] is NULL", i);
    return BG_OK;
}

bg_status bg_search(const char *const *calls, size_t count, bg_search_trial trial, void *user, size_t *culprits,
                    size_t *found)
{
    culprit_search s = {.calls = calls, .count = count, .trial = trial, .user = user};
    bg_status status;

    BG__NEED(calls);
    BG__NEED(trial);
    BG__NEED(culprits);
    BG__NEED(found);
    *found = 0;
    BG__TRY(check_names(calls, count));
    BG__TRY(allocate_search(&s));
    find_parents(&s);
    BG__TRY(search_culprits(&s));
    for (size_t i = 0; i < count; i++)
        if (s.eager[i])
            culprits[(*found)++] = i;
done:
    free_search(&s);
    return status;
}
