/* From two orders with different results to the two nodes that make the difference. Between the orders lies a chain of
 * orders in which the nodes come one by one to the places that they have in the second one. */
#include "runs.h"

#include <stdlib.h>
#include <string.h>

#include "debug/memory/allocate.h"

typedef struct search {
    bg__runs *runs;
    const size_t *other; /* the second order */
    size_t count;
    bool *placed;         /* steps among the first of the second order */
    size_t *steps, *next; /* room for orders */
} search;

/* The first k of the second order, and the others as in the first one. */
static void mix_orders(search *s, size_t k, size_t *steps)
{
    size_t at = 0;

    memset(s->placed, 0, s->count * sizeof *s->placed);
    for (; at < k; at++) {
        steps[at] = s->other[at];
        s->placed[s->other[at]] = true;
    }
    for (size_t i = 0; i < s->count; i++)
        if (!s->placed[s->runs->steps[i]])
            steps[at++] = s->runs->steps[i];
}

/* steps with the one at `from` moved to `to`, before it. */
static void move_step(const search *s, const size_t *steps, size_t from, size_t to, size_t *moved)
{
    memcpy(moved, steps, s->count * sizeof *moved);
    memmove(moved + to + 1, steps + to, (from - to) * sizeof *moved);
    moved[to] = steps[from];
}

static bg_status differs(search *s, const size_t *steps, bool *is)
{
    bg__spans differing = {0};
    bg_status status = bg__runs_compare(s->runs, steps, &differing);
    *is = differing.count > 0;
    bg__spans_free(&differing);
    return status;
}

/* *low: the number of the second order's first steps that leave the result as it is; with one more it differs. */
static bg_status find_step(search *s, size_t *low)
{
    size_t high = s->count;
    bg_status status = BG_OK;

    *low = 0;
    while (high - *low > 1) {
        size_t middle = *low + (high - *low) / 2;
        bool is;
        mix_orders(s, middle, s->steps);
        BG__TRY(differs(s, s->steps, &is));
        if (is)
            high = middle;
        else
            *low = middle;
    }
done:
    return status;
}

/* In s->steps the step at `from` may come to `to`, and the result differs then. *low: the last place to which it must
 * come for that. */
static bg_status find_place(search *s, size_t from, size_t to, size_t *low)
{
    size_t same = from;
    bg_status status = BG_OK;

    *low = to;
    while (same - *low > 1) {
        size_t middle = *low + (same - *low) / 2;
        bool is;
        move_step(s, s->steps, from, middle, s->next);
        BG__TRY(differs(s, s->next, &is));
        if (is)
            *low = middle;
        else
            same = middle;
    }
done:
    return status;
}

/* Both orders once more, next to each other: s->steps moved. */
static bg_status confirm(search *s, size_t from, size_t to, bool *found)
{
    bool before, after;
    bg_status status;

    move_step(s, s->steps, from, to + 1, s->next);
    BG__TRY(differs(s, s->next, &before));
    move_step(s, s->steps, from, to, s->next);
    BG__TRY(differs(s, s->next, &after));
    *found = !before && after;
done:
    return status;
}

static bg_status find(search *s, bg__pair *pair, bool *found)
{
    size_t low, from, to = 0;
    bg_status status;

    BG__TRY(find_step(s, &low));
    mix_orders(s, low, s->steps);
    for (from = low; s->steps[from] != s->other[low];)
        from++;
    *found = false;
    if (from == low) /* the same order with another result */
        goto done;
    BG__TRY(find_place(s, from, low, &to));
    BG__TRY(confirm(s, from, to, found));
    if (!*found)
        goto done;
    pair->earlier = s->steps[to];
    pair->later = s->steps[from];
    pair->count = to;
    BG__TRY(BG__ALLOCATE(pair->before, to, "nodes"));
    memcpy(pair->before, s->steps, to * sizeof *pair->before);
done:
    return status;
}

bg_status bg__runs_find_pair(bg__runs *runs, const size_t *other, bg__pair *pair, bool *found)
{
    search s = {.runs = runs, .other = other, .count = runs->order.count};
    bg_status status;

    *pair = (bg__pair){0};
    BG__TRY(BG__ALLOCATE(s.placed, s.count, "nodes"));
    BG__TRY(BG__ALLOCATE(s.steps, s.count, "nodes"));
    BG__TRY(BG__ALLOCATE(s.next, s.count, "nodes"));
    BG__TRY(find(&s, pair, found));
done:
    free(s.placed);
    free(s.steps);
    free(s.next);
    return status;
}
