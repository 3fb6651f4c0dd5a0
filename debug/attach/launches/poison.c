/* BG_CHECK=poison: the nodes of a launch, one after the other, with patterns in memory that holds nothing when the
 * graph begins. A result that depends on the pattern reads what no node has written. */
#include "poison.h"

#include "graph/debug_table.h"
#include "debug/report/process_report.h"
#include "launches.h"
#include "debug/attach/checks/block_uses.h"

enum { LAUNCHES = 3 }; /* of each graph: the first one may compute what is not there yet */

static bg_status find_empty(bg__poisoned *p)
{
    bg__spans all = {0};
    bg_status status;

    BG__TRY(bg__block_uses_add_uninitialized(p->runs->attached->blocks, &all));
    BG__TRY(bg__spans_add_common(&p->empty, &all, &p->runs->image.reach));
    BG__TRY(bg__cells_take(&p->cells, &p->empty, &p->runs->nodes));
done:
    bg__spans_free(&all);
    return status;
}

static void note_unrepeatable(const bg__runs *r, const bg__spans *differing)
{
    bg__report_add(
        r->attached->report, "not-repeatable", BG_NOTE, NULL, (const void *)differing->list[0].begin,
        "make its kernels deterministic (in PyTorch: torch.use_deterministic_algorithms), and check again",
        "two runs of the same nodes with the same patterns differ in %zu bytes, the first at %p: what depends on "
        "patterns cannot be told",
        bg__spans_bytes(differing), (const void *)differing->list[0].begin);
}

/* One more run with so many cells marked, whose result was `before`. *is: it is the same one. */
static bg_status repeats(const bg__poisoned *p, size_t marked, const bg__spans *compared, const bg__digests *before,
                         bool *is)
{
    bg__digests again = {0};
    bg__spans differing = {0};
    bg_status status;

    BG__TRY(bg__poisoned_run(p, marked, p->runs->order.count));
    BG__TRY(bg__digests_compute(&again, compared, p->runs->image.page, p->runs->stream));
    BG__TRY(bg__digests_compare(before, &again, compared, &differing));
    *is = differing.count == 0;
    if (!*is)
        note_unrepeatable(p->runs, &differing);
done:
    bg__digests_free(&again);
    bg__spans_free(&differing);
    return status;
}

static bg_status compare_patterns(bg__poisoned *p, bg__seen *s)
{
    const bg__runs *r = p->runs;
    bg__digests marked = {0}, clear = {0};
    bg__spans compared = {0}, differing = {0};
    bool same;
    bg_status status;

    BG__TRY(bg__poisoned_rest(p, &p->empty, &compared));
    BG__TRY(bg__poisoned_run(p, 0, r->order.count));
    BG__TRY(bg__poisoned_guess(p));
    BG__TRY(bg__digests_compute(&clear, &compared, r->image.page, r->stream));
    BG__TRY(bg__poisoned_run(p, p->cells.count, r->order.count));
    BG__TRY(bg__digests_compute(&marked, &compared, r->image.page, r->stream));
    BG__TRY(bg__digests_compare(&marked, &clear, &compared, &differing));
    if (differing.count == 0)
        goto done;
    BG__TRY(repeats(p, p->cells.count, &compared, &marked, &same));
    if (same)
        BG__TRY(repeats(p, 0, &compared, &clear, &same));
    s->done = true;
    if (same)
        BG__TRY(bg__poisoned_report(p, &compared, &clear, &differing));
done:
    bg__digests_free(&marked);
    bg__digests_free(&clear);
    bg__spans_free(&compared);
    bg__spans_free(&differing);
    return status;
}

/* Only where an order is open can a launch differ from its nodes one after the other. */
static bg_status compare_launch(bg__poisoned *p, bg__seen *s)
{
    bool found = false;
    bg_status status = BG_OK;

    if (p->runs->ordered)
        return BG_OK;
    BG__TRY(bg__poisoned_find_written(p));
    if (p->cells.count + p->written.count > 0 && !bg__serial_is_seen(&p->runs->nodes))
        BG__TRY(bg__poisoned_launch(p, &found));
    s->done = found;
done:
    return status;
}

static void not_looked(const bg__seen *s, const bg__runs *r, const char *why)
{
    if (s->launches == 1)
        bg__process_report_add_unchecked("poison", bg__graph_name(r->attached->graph), why);
}

static void count_looked(bg__seen *s, const bg__poisoned *p)
{
    const bg__runs *r = p->runs;
    bool known = bg__block_uses_are_known(r->attached->blocks);

    if (known || p->written.count > 0)
        bg__seen_count(s, r);
    if (!known)
        not_looked(s, r, "no allocator tells which memory is free when it begins");
    else if (!r->ordered && bg__serial_is_seen(&r->nodes))
        not_looked(s, r,
                   "its nodes ran with patterns one after the other, but not its launch, which the program would "
                   "see: it has host functions or records events");
}

static bg_status run_patterns(bg__poisoned *p, bg__seen *s)
{
    bg_status status;

    BG__TRY(find_empty(p));
    if (p->cells.count > 0)
        BG__TRY(compare_patterns(p, s));
    if (!s->done)
        BG__TRY(compare_launch(p, s));
    count_looked(s, p);
done:
    return status;
}

static bg_status look(bg__runs *r, bg__seen *s)
{
    bg__poisoned poisoned = {.runs = r};
    bg_status status = run_patterns(&poisoned, s), restored = bg__image_restore(&r->image, r->stream);

    bg__poisoned_free(&poisoned);
    return status != BG_OK ? status : restored;
}

static bool launch(bg__tracked_graph *a, cudaStream_t stream, CUresult *result)
{
    static const bg__fusions_check check = {"poison", LAUNCHES, .whole = true, .look = look};
    return bg__runs_launch(a, stream, result, &check);
}

bg_status bg__attach_poison_begin(const bg__launcher **launcher)
{
    static const bg__launcher this = {.name = "poison", .launch = launch, .drop = bg__seen_drop, .end = bg__runs_end};
    unsigned checks;
    bg_status status;

    BG__TRY(bg__env_choices("BG_CHECK", &checks));
    if ((checks & BG__CHECK_POISON) == 0)
        goto done;
    BG__TRY(bg__image_begin());
    bg__block_uses_include_own();
    *launcher = &this;
done:
    return status;
}
