/* BG_CHECK=padding: the nodes of a launch, one after the other, with other floats in the padding rows that the program
 * tells (bg_attach_rows). What it tells to be rows of the batch, or memory without padding, must be the same then. */
#include <stdio.h>
#include <stdlib.h>

#include "graph/debug_table.h"
#include "debug/attach/memory/batch_rows.h"
#include "debug/attach/nodes/reachable_memory.h"
#include "debug/attach/runs/node_text.h"
#include "debug/attach/runs/runs.h"
#include "debug/report/process_report.h"
#include "launches.h"
#include "live_rows.h"

enum {
    LAUNCHES = 3, /* of each graph, with padding that it reaches */
    TRIED = 16,   /* while rows of something are padding */
    REPEATS = 3,
    WORD = 8
};

/* Starts zeroed, but for runs, which have begun. */
typedef struct padded {
    bg__runs *runs;
    bg__batch_rows *told; /* of which the graph reaches some bytes */
    size_t count;
    bg__spans padding;            /* of floats, of all that is told and reached */
    const bg__batch_rows *varied; /* whose padding alone makes a difference; NULL: all of them together */
    bg__live_rows live;
    bg__live_state usual; /* behind all steps, with the padding that the program has left */
} padded;

static uintptr_t end_of(const bg__batch_rows *t)
{
    return t->base + (size_t)t->rows * t->row;
}

static uintptr_t live_end_of(const bg__batch_rows *t)
{
    return t->base + (size_t)t->live * t->row;
}

static bool is_padded(const bg__batch_rows *t)
{
    return t->floats && t->live < t->rows;
}

/* Adds what the graph reaches of [begin, end). */
static bg_status add_reached(const padded *p, uintptr_t begin, uintptr_t end, bg__spans *spans)
{
    bg__spans all = {0};
    bg_status status = BG_OK;

    if (begin < end)
        BG__TRY(bg__spans_add(&all, begin, end));
    BG__TRY(bg__spans_add_common(spans, &all, &p->runs->image.reach));
done:
    bg__spans_free(&all);
    return status;
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

static bg_status take_told(padded *p)
{
    const bg__runs *r = p->runs;
    bg__spans live = {0};
    size_t kept = 0;
    bg_status status;

    BG__TRY(bg__rows_copy(&p->told, &p->count));
    for (size_t i = 0; i < p->count; i++) {
        const bg__batch_rows t = p->told[i];
        if (!bg__spans_overlap(&r->image.reach, t.base, end_of(&t)))
            continue;
        BG__TRY(add_reached(p, t.base, live_end_of(&t), &live));
        if (is_padded(&t))
            BG__TRY(add_reached(p, live_end_of(&t), end_of(&t), &p->padding));
        p->told[kept++] = t;
    }
    p->count = kept;
    for (size_t i = 0; i < live.count; i++)
        BG__TRY(bg__live_rows_add(&p->live, live.list[i].begin, live.list[i].end, &r->unstable));
    bg__live_rows_end(&p->live);
done:
    bg__spans_free(&live);
    return status;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* BG__PATTERNS: as the program has left it. */
static bg_status fill(const padded *p, bg__pattern pattern)
{
    bg__spans rows = {0};
    bg_status status;

    BG__TRY(bg__image_restore(&p->runs->image, p->runs->stream));
    if (pattern == BG__PATTERNS)
        goto done;
    if (p->varied != NULL)
        BG__TRY(add_reached(p, live_end_of(p->varied), end_of(p->varied), &rows));
    else
        BG__TRY(bg__spans_add_all(&rows, &p->padding));
    BG__TRY(bg__pattern_fill(pattern, &rows, p->runs->stream));
done:
    bg__spans_free(&rows);
    return status;
}

/* The first `steps` nodes, from the same memory but for the pattern. */
static bg_status run(const padded *p, bg__pattern pattern, size_t steps)
{
    bg_status status;
    BG__TRY(fill(p, pattern));
    BG__TRY(bg__serial_run(&p->runs->order, p->runs->steps, steps, p->runs->stream));
done:
    return status;
}

static bg_status take(const padded *p, bg__pattern pattern, size_t steps, bg__live_state *state)
{
    bg_status status;
    BG__TRY(run(p, pattern, steps));
    BG__TRY(bg__live_state_take(state, &p->live, p->runs->stream));
done:
    return status;
}

/* Adds what a pattern makes different in so many steps. */
static bg_status compare(const padded *p, bg__pattern pattern, size_t steps, bg__spans *differing)
{
    const bool is_whole = steps == p->runs->order.count;
    bg__live_state usual = {0}, other = {0};
    bg_status status = BG_OK;

    if (!is_whole)
        BG__TRY(take(p, BG__PATTERNS, steps, &usual));
    BG__TRY(take(p, pattern, steps, &other));
    BG__TRY(bg__live_state_compare(is_whole ? &p->usual : &usual, &other, &p->live, differing));
done:
    bg__live_state_free(&usual);
    bg__live_state_free(&other);
    return status;
}

static bg_status differs(const padded *p, bg__pattern pattern, size_t steps, bool *is)
{
    bg__spans differing = {0};
    bg_status status = compare(p, pattern, steps, &differing);
    *is = differing.count > 0;
    bg__spans_free(&differing);
    return status;
}

/* *same: runs of so many steps with the pattern leave the same, REPEATS times. */
static bg_status repeats(const padded *p, bg__pattern pattern, size_t steps, bool *same)
{
    const bg__runs *r = p->runs;
    bg__live_state one = {0}, other = {0};
    bg__spans differing = {0};
    bg_status status;

    BG__TRY(take(p, pattern, steps, &one));
    for (int i = 0; i < REPEATS && differing.count == 0; i++) {
        BG__TRY(take(p, pattern, steps, &other));
        BG__TRY(bg__live_state_compare(&one, &other, &p->live, &differing));
    }
    *same = differing.count == 0;
    if (!*same)
        bg__report_add(
            r->attached->report, "not-repeatable", BG_NOTE, NULL, (const void *)differing.list[0].begin,
            "make its kernels deterministic (in PyTorch: torch.use_deterministic_algorithms), and check again",
            "two runs of the same nodes from the same memory differ in up to %zu bytes, the first at %p: what "
            "depends on padding rows cannot be told",
            bg__spans_bytes(&differing), (const void *)differing.list[0].begin);
done:
    bg__live_state_free(&one);
    bg__live_state_free(&other);
    bg__spans_free(&differing);
    return status;
}

/* ---- the first node that lets it in ------------------------------------------------------------------------------ */

typedef struct search {
    padded *padded;
    bg__pattern pattern;
    size_t step;         /* the first behind which live rows differ, from 1 */
    bg__spans differing; /* behind it */
    uintptr_t carried;   /* what it may read differed before, in memory of which nothing is told; 0: nothing did */
    bool reads_padding;  /* as far as its parameters tell */
} search;

static bg_status find_varied(search *s)
{
    padded *p = s->padded;
    bool is = false;
    bg_status status = BG_OK;

    for (size_t i = 0; i < p->count && !is; i++) {
        if (!is_padded(&p->told[i]))
            continue;
        p->varied = &p->told[i];
        BG__TRY(differs(p, s->pattern, p->runs->order.count, &is));
    }
done:
    if (!is)
        p->varied = NULL;
    return status;
}

static bg_status find_step(search *s)
{
    size_t low = 0;
    bg_status status = BG_OK;

    s->step = s->padded->runs->order.count;
    while (s->step - low > 1) {
        const size_t middle = low + (s->step - low) / 2;
        bool is = false;
        BG__TRY(differs(s->padded, s->pattern, middle, &is));
        if (is)
            s->step = middle;
        else
            low = middle;
    }
    BG__TRY(compare(s->padded, s->pattern, s->step, &s->differing));
done:
    return status;
}

/* Adds to padding what of the told padding lies in what the node reaches, and to ignored the same in whole words, and
 * what is not compared. */
static bg_status split_padding(const padded *p, const bg__spans *reached, bg__spans *padding, bg__spans *ignored)
{
    bg__spans told = {0};
    bg_status status;

    BG__TRY(bg__spans_add_all(ignored, &p->runs->unstable));
    for (size_t i = 0; i < p->count; i++) {
        const uintptr_t begin = live_end_of(&p->told[i]), end = end_of(&p->told[i]);
        if (begin == end)
            continue;
        BG__TRY(bg__spans_add(&told, begin, end));
        BG__TRY(bg__spans_add(ignored, begin / WORD * WORD, (end + WORD - 1) / WORD * WORD));
    }
    BG__TRY(bg__spans_add_common(padding, &told, reached));
done:
    bg__spans_free(&told);
    return status;
}

/* *first: where rows differ before the step; 0: nowhere. */
static bg_status compare_before(search *s, const bg__spans *spans, const bg__spans *without, uintptr_t *first)
{
    const padded *p = s->padded;
    bg__live_rows rows = {.page = 0};
    bg__live_state usual = {0}, other = {0};
    bg__spans differing = {0};
    bg_status status = BG_OK;

    for (size_t i = 0; i < spans->count; i++)
        BG__TRY(bg__live_rows_add(&rows, spans->list[i].begin, spans->list[i].end, without));
    bg__live_rows_end(&rows);
    BG__TRY(run(p, BG__PATTERNS, s->step - 1));
    BG__TRY(bg__live_state_take(&usual, &rows, p->runs->stream));
    BG__TRY(run(p, s->pattern, s->step - 1));
    BG__TRY(bg__live_state_take(&other, &rows, p->runs->stream));
    BG__TRY(bg__live_state_compare(&usual, &other, &rows, &differing));
    *first = differing.count > 0 ? differing.list[0].begin : 0;
done:
    bg__live_state_free(&usual);
    bg__live_state_free(&other);
    bg__live_rows_free(&rows);
    bg__spans_free(&differing);
    return status;
}

/* Which of what the node may have read differed before it: padding, or something else. Then another node lets it in. */
static bg_status find_carried(search *s, const bg__node *node)
{
    const bg__spans none = {0};
    bg__spans reached = {0}, padding = {0}, ignored = {0};
    uintptr_t first;
    bg_status status;

    BG__TRY(bg__reachable_add_node(&reached, node));
    BG__TRY(split_padding(s->padded, &reached, &padding, &ignored));
    BG__TRY(compare_before(s, &padding, &none, &first));
    s->reads_padding = first != 0;
    BG__TRY(compare_before(s, &reached, &ignored, &s->carried));
done:
    bg__spans_free(&reached);
    bg__spans_free(&padding);
    bg__spans_free(&ignored);
    return status;
}

/* ---- the finding ------------------------------------------------------------------------------------------------- */

/* "row 2 of 8 at 0x7f..." */
static void row_text(const padded *p, uintptr_t address, char *text, size_t bytes)
{
    text[0] = '\0';
    for (size_t i = 0; i < p->count; i++) {
        const bg__batch_rows *t = &p->told[i];
        if (t->base <= address && address < end_of(t))
            snprintf(text, bytes, ", in row %lld of the %lld at %p", (long long)((address - t->base) / t->row),
                     (long long)t->rows, (const void *)t->base);
    }
}

static void padding_text(const padded *p, char *text, size_t bytes)
{
    const bg__batch_rows *t = p->varied;
    if (t == NULL)
        snprintf(text, bytes, "all padding rows together");
    else if (t->rows - t->live == 1)
        snprintf(text, bytes, "row %lld of the %lld at %p", (long long)t->live, (long long)t->rows,
                 (const void *)t->base);
    else
        snprintf(text, bytes, "rows %lld to %lld of the %lld at %p", (long long)t->live, (long long)t->rows - 1,
                 (long long)t->rows, (const void *)t->base);
}

static void report(const search *s, const bg__node *node)
{
    const padded *p = s->padded;
    const uintptr_t first = s->differing.list[0].begin;
    char name[BG__NODE_TEXT] = "a node", padding[120], row[120], carried[200] = "";
    const bool is_certain = node != NULL && s->reads_padding && s->carried == 0;

    if (node != NULL)
        bg__node_text(node, name, sizeof name);
    padding_text(p, padding, sizeof padding);
    row_text(p, first, row, sizeof row);
    if (s->carried != 0)
        snprintf(carried, sizeof carried,
                 ". It may have read what differed before it, at %p, of which no rows are told: then an earlier "
                 "node lets padding in",
                 (const void *)s->carried);
    else if (!is_certain)
        snprintf(carried, sizeof carried,
                 ". None of its parameters points to padding rows that differ: another node lets them in");
    bg__report_add(
        p->runs->attached->report, "padding", BG_WARNING, is_certain ? node->call : NULL, (const void *)first,
        is_certain ? "let it skip rows beyond the batch; to multiply by 0 does not, since 0 times NaN is NaN"
                   : "tell the rows of intermediate tensors, too (breakgraph.rows, bg_attach_rows), and check again",
        "%s %s: with other floats in %s, up to %zu bytes differ behind it, the first at %p%s%s", name,
        is_certain ? "carries padding rows into live memory" : "writes what depends on padding rows", padding,
        bg__spans_bytes(&s->differing), (const void *)first, row, carried);
}

static bg_status search_node(padded *p, bg__pattern pattern)
{
    search s = {.padded = p, .pattern = pattern};
    const bg__node *node;
    bool same;
    bg_status status;

    BG__TRY(find_varied(&s));
    BG__TRY(find_step(&s));
    BG__TRY(repeats(p, pattern, s.step, &same));
    if (!same || s.differing.count == 0) /* it was there in one run, and is not in another */
        goto done;
    node = p->runs->order.nodes[p->runs->steps[s.step - 1]];
    if (node != NULL)
        BG__TRY(find_carried(&s, node));
    report(&s, node);
done:
    bg__spans_free(&s.differing);
    return status;
}

/* ---- the launch -------------------------------------------------------------------------------------------------- */

static bg_status compare_patterns(padded *p, bg__seen *s)
{
    bool is = false, same = true;
    bg_status status;

    BG__TRY(take(p, BG__PATTERNS, p->runs->order.count, &p->usual));
    for (bg__pattern pattern = BG__ONES; pattern < BG__PATTERNS && !is; pattern++) {
        BG__TRY(differs(p, pattern, p->runs->order.count, &is));
        if (!is)
            continue;
        s->done = true;
        BG__TRY(repeats(p, BG__PATTERNS, p->runs->order.count, &same));
        if (same)
            BG__TRY(repeats(p, pattern, p->runs->order.count, &same));
        if (same)
            BG__TRY(search_node(p, pattern));
    }
done:
    return status;
}

static bg_status look(bg__runs *r, bg__seen *s)
{
    padded p = {.runs = r};
    bg_status status, restored;

    BG__TRY(take_told(&p));
    if (p.padding.count > 0) {
        BG__TRY(compare_patterns(&p, s));
        bg__seen_count(s, r);
        s->done = s->done || ++s->useful == LAUNCHES;
    }
done:
    restored = bg__image_restore(&r->image, r->stream);
    bg__live_rows_free(&p.live);
    bg__live_state_free(&p.usual);
    bg__spans_free(&p.padding);
    free(p.told);
    return status != BG_OK ? status : restored;
}

static bool launch(bg__tracked_graph *a, cudaStream_t stream, CUresult *result)
{
    static const bg__fusions_check check = {"padding", TRIED, .whole = true, .wanted = bg__rows_are_padded,
                                            .look = look};
    return bg__runs_launch(a, stream, result, &check);
}

static void end(bg__tracked_graph *a)
{
    const bg__seen *s = a->kept;
    if (!s->counted && !s->done)
        bg__process_report_add_unchecked("padding", bg__graph_name(a->graph),
                                         s->busy ? "whenever it was launched with padding rows, a stream was captured"
                                                 : "when it was launched, no padding rows of floats were told that "
                                                   "it uses (breakgraph.rows, bg_attach_rows)");
}

bg_status bg__attach_padding_begin(const bg__launcher **launcher)
{
    static const bg__launcher this = {.name = "padding", .launch = launch, .drop = bg__seen_drop, .end = end};
    unsigned checks;
    bg_status status;

    BG__TRY(bg__env_choices("BG_CHECK", &checks));
    if ((checks & BG__CHECK_PADDING) == 0)
        goto done;
    BG__TRY(bg__image_begin());
    *launcher = &this;
done:
    return status;
}
