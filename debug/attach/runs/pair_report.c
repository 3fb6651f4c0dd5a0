/* Which bytes two unordered nodes share, found by running them in both orders. */
#include "runs.h"

#include <stdio.h>
#include <stdlib.h>

#include "debug/attach/nodes/reachable_memory.h"
#include "debug/memory/tensors.h"
#include "node_text.h"
#include "rounding.h"

/* Digests of what one of the two may reach: of every word where that is little. */
enum { PAGES_MAX = 1 << 16, WORD = 8, NAME_BYTES = BG__NODE_TEXT };

typedef struct sharing {
    bg__runs *runs;
    const bg__pair *pair;
    const bg__node *earlier, *later;
    bg__spans reach, of_earlier, of_later; /* what both may reach, and each */
    size_t page;
    bg__digests before, between, after;   /* of the first order: before both, between them, after both */
    bg__digests reversed, reversed_after; /* of the other one: between them, after both */
    bg__spans shared;
    bool both_write;
    bool rounding;   /* both add to it, and the orders differ by rounding alone */
    const char *how; /* printf format of "%s writes what %s reads" */
} sharing;

static void free_sharing(sharing *s)
{
    bg__spans_free(&s->reach);
    bg__spans_free(&s->of_earlier);
    bg__spans_free(&s->of_later);
    bg__spans_free(&s->shared);
    bg__digests_free(&s->before);
    bg__digests_free(&s->between);
    bg__digests_free(&s->after);
    bg__digests_free(&s->reversed);
    bg__digests_free(&s->reversed_after);
}

static bg_status run_one(sharing *s, size_t step, bg__digests *digests)
{
    bg_status status;
    BG__TRY(bg__serial_run(&s->runs->order, &step, 1, s->runs->stream));
    BG__TRY(bg__digests_compute(digests, &s->reach, s->page, s->runs->stream));
done:
    return status;
}

static bg_status run_before(sharing *s)
{
    bg_status status;
    BG__TRY(bg__image_restore(&s->runs->image, s->runs->stream));
    BG__TRY(bg__serial_run(&s->runs->order, s->pair->before, s->pair->count, s->runs->stream));
done:
    return status;
}

static bg_status run_both_ways(sharing *s)
{
    size_t page;
    bg_status status;

    BG__TRY(bg__reachable_add_node(&s->of_earlier, s->earlier));
    BG__TRY(bg__reachable_add_node(&s->of_later, s->later));
    BG__TRY(bg__spans_add_all(&s->reach, &s->of_earlier));
    BG__TRY(bg__spans_add_all(&s->reach, &s->of_later));
    page = bg__spans_bytes(&s->reach) / PAGES_MAX / WORD * WORD;
    s->page = page > WORD ? page : WORD;
    BG__TRY(run_before(s));
    BG__TRY(bg__digests_compute(&s->before, &s->reach, s->page, s->runs->stream));
    BG__TRY(run_one(s, s->pair->earlier, &s->between));
    BG__TRY(run_one(s, s->pair->later, &s->after));
    BG__TRY(run_before(s));
    BG__TRY(run_one(s, s->pair->later, &s->reversed));
    BG__TRY(run_one(s, s->pair->earlier, &s->reversed_after));
done:
    return status;
}

/* ---- rounding --------------------------------------------------------------------------------------------------- */

static bg_status run_and_read(sharing *s, const bg__spans *differing, size_t step, unsigned char *to)
{
    bg_status status;
    BG__TRY(bg__serial_run(&s->runs->order, &step, 1, s->runs->stream));
    BG__TRY(bg__spans_read(differing, to, s->runs->stream));
done:
    return status;
}

static bg_status read_states(sharing *s, const bg__spans *differing, unsigned char *const states[BG__SUM_STATES])
{
    bg_status status;

    BG__TRY(run_before(s));
    BG__TRY(bg__spans_read(differing, states[BG__BEFORE], s->runs->stream));
    BG__TRY(run_and_read(s, differing, s->pair->earlier, states[BG__AFTER_ONE]));
    BG__TRY(run_and_read(s, differing, s->pair->later, states[BG__AFTER_BOTH]));
    BG__TRY(run_before(s));
    BG__TRY(run_and_read(s, differing, s->pair->later, states[BG__AFTER_OTHER]));
    BG__TRY(run_and_read(s, differing, s->pair->earlier, states[BG__AFTER_REVERSED]));
done:
    return status;
}

/* Where both write all that differs. */
static bg_status look_at_rounding(sharing *s)
{
    enum { MOST = 1 << 22 };
    unsigned char *states[BG__SUM_STATES], *all = NULL;
    bg__spans differing = {0};
    size_t bytes = 0;
    bg_status status;

    BG__TRY(bg__digests_compare(&s->after, &s->reversed_after, &s->reach, &differing));
    for (size_t i = 0; i < differing.count; i++)
        if (!s->both_write || !bg__spans_cover(&s->shared, differing.list[i].begin, differing.list[i].end))
            goto done;
    bytes = bg__spans_bytes(&differing);
    all = bytes > 0 && bytes <= MOST ? malloc(BG__SUM_STATES * bytes) : NULL;
    if (all == NULL) /* it is not known */
        goto done;
    for (int i = 0; i < BG__SUM_STATES; i++)
        states[i] = all + (size_t)i * bytes;
    BG__TRY(read_states(s, &differing, states));
    s->rounding = bg__are_sums((const unsigned char *const *)states, bytes);
done:
    free(all);
    bg__spans_free(&differing);
    return status;
}

/* ---- what they share -------------------------------------------------------------------------------------------- */

/* Adds to shared what lies in both, and says how; *found: there is something. */
static bg_status share(sharing *s, const bg__spans *one, const bg__spans *other, const char *how, bool *found)
{
    bg_status status = bg__spans_add_common(&s->shared, one, other);
    *found = s->shared.count > 0;
    s->how = how;
    return status;
}

/* What each of the two changes, alone and after the other one. */
typedef struct changes {
    bg__spans earlier, later; /* in the first order */
    bg__spans later_first, earlier_last;
} changes;

static bg_status compare_ways(sharing *s, changes *c)
{
    bg_status status;
    BG__TRY(bg__digests_compare(&s->before, &s->between, &s->reach, &c->earlier));
    BG__TRY(bg__digests_compare(&s->between, &s->after, &s->reach, &c->later));
    BG__TRY(bg__digests_compare(&s->before, &s->reversed, &s->reach, &c->later_first));
    BG__TRY(bg__digests_compare(&s->reversed, &s->reversed_after, &s->reach, &c->earlier_last));
done:
    return status;
}

/* Where a node's result is another one after the other node, it has read what that one writes. */
static bg_status find_shared(sharing *s)
{
    changes c = {0};
    bg__spans all_later = {0}, all_earlier = {0};
    bool found;
    bg_status status;

    BG__TRY(compare_ways(s, &c));
    BG__TRY(bg__spans_add_all(&all_later, &c.later));
    BG__TRY(bg__spans_add_all(&all_later, &c.later_first));
    BG__TRY(bg__spans_add_all(&all_earlier, &c.earlier));
    BG__TRY(bg__spans_add_all(&all_earlier, &c.earlier_last));
    BG__TRY(share(s, &all_earlier, &all_later, "both write", &found));
    s->both_write = found;
    if (found)
        goto done;
    BG__TRY(share(s, &all_earlier, &s->of_later, "%1$s writes, and %2$s may read,", &found));
    if (found)
        goto done;
    BG__TRY(share(s, &all_later, &s->of_earlier, "%2$s writes, and %1$s may read,", &found));
done:
    bg__spans_free(&c.earlier);
    bg__spans_free(&c.later);
    bg__spans_free(&c.later_first);
    bg__spans_free(&c.earlier_last);
    bg__spans_free(&all_later);
    bg__spans_free(&all_earlier);
    return status;
}

/* ---- the finding ---- */

/* "scale#3 at model.py:31" */
static const char *placed_name(const bg__node *node, char *text, size_t bytes)
{
    const bg_site *site = node->call != NULL ? &node->call->site : NULL;
    char name[NAME_BYTES];

    bg__node_text(node, name, sizeof name);
    if (site == NULL || site->file == NULL)
        snprintf(text, bytes, "%s", name);
    else if (site->line > 0)
        snprintf(text, bytes, "%s at %.250s:%d", name, site->file, site->line);
    else
        snprintf(text, bytes, "%s at %.250s", name, site->file);
    return text;
}

static const char *shared_text(const sharing *s, char *text, size_t bytes)
{
    char one[NAME_BYTES + 70], other[NAME_BYTES + 70], earlier[NAME_BYTES], later[NAME_BYTES];
    uintptr_t first;
    size_t used;

    if (s->shared.count == 0) {
        snprintf(text, bytes, "which bytes they share was not found");
        return text;
    }
    first = s->shared.list[0].begin;
    bg__node_parameter_text(s->earlier, first, one, sizeof one);
    bg__node_parameter_text(s->later, first, other, sizeof other);
    used = (size_t)snprintf(text, bytes, s->how, bg__node_text(s->earlier, earlier, sizeof earlier),
                            bg__node_text(s->later, later, sizeof later));
    if (used < bytes)
        snprintf(text + used, bytes - used, "%s %zu bytes, the first at %p%s%s", s->page > WORD ? " up to" : "",
                 bg__spans_bytes(&s->shared), (const void *)first, one, other);
    return text;
}

bg_status bg__runs_report_pair(bg__runs *runs, const bg__pair *pair, const char *how, bg_report *report)
{
    sharing s = {.runs = runs,
                 .pair = pair,
                 .earlier = runs->order.nodes[pair->earlier],
                 .later = runs->order.nodes[pair->later]};
    char later[NAME_BYTES], earlier[NAME_BYTES + 270], shared[1200];
    bg_status status;

    BG__TRY(run_both_ways(&s));
    BG__TRY(find_shared(&s));
    BG__TRY(look_at_rounding(&s));
    bg__report_add(report, "race", s.rounding ? BG_NOTE : BG_WARNING, s.later->call,
                   s.shared.count > 0 ? (const void *)s.shared.list[0].begin : NULL,
                   "let the stream of one wait for the other, where the graph is captured (an event, or wait_stream "
                   "of PyTorch)",
                   "%s and %s have no order in the graph, and its result depends on which one runs first%s: %s (%s)",
                   bg__node_text(s.later, later, sizeof later), placed_name(s.earlier, earlier, sizeof earlier),
                   s.rounding ? ", by rounding alone, which is right if both add to it by atomics" : "",
                   shared_text(&s, shared, sizeof shared), how);
done:
    free_sharing(&s);
    return status;
}
