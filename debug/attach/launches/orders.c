/* BG_CHECK=orders: the nodes of a launch, one after the other in several orders that the graph allows. A result that
 * depends on the order is a race. */
#include "launches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/variables.h"
#include "capture/tools.h"
#include "debug/attach/captures/captures.h"
#include "debug/attach/report/found.h"
#include "debug/graph/tools.h"
#include "debug/memory/allocate.h"
#include "debug/report/process_report.h"
#include "kernels/mix.h"
#include "runs.h"

enum {
    LAUNCHES = 3, /* of each graph: the first may compute what is there already */
    PAIRS = 8,    /* that are found in one launch */
    BRANCHES = 64,
    SEEDS = 2,
};
static int wanted; /* BG_ATTACH_ORDERS */

/* What is known of a graph after its first launches. */
typedef struct seen {
    int launches;
    bool done;         /* not to be looked at, or there is nothing to be ordered */
    bool counted;      /* as looked at */
    bg__spans written; /* blocks that a launch has changed, where there is no room for a copy of all */
} seen;

static void drop_seen(void *kept)
{
    seen *s = kept;
    bg__spans_free(&s->written);
    free(s);
}

/* ---- the check of one launch ---- */

static void not_judged(seen *s, const bg__runs *r, const char *why)
{
    s->done = true;
    bg__process_report_not_checked("orders", bg__graph_name(r->attached->graph), why);
}

static void note_unstable(const bg__runs *r)
{
    if (r->unstable.count == 0)
        return;
    bg__report_add(r->attached->report, "not-repeatable", BG_NOTE, NULL, (const void *)r->unstable.list[0].begin,
                   "make its kernels deterministic (in PyTorch: torch.use_deterministic_algorithms), and check again",
                   "two runs of the same nodes in the same order differ in %zu bytes, the first at %p: there no order "
                   "is compared",
                   bg__spans_bytes(&r->unstable), (const void *)r->unstable.list[0].begin);
}

/* Each pair that is found has an order from then on, so that others are found. */
static bg_status search_order(bg__runs *r, const uint64_t *keys, const char *how, int *pairs)
{
    size_t *other = NULL;
    bg__pair pair = {0};
    bg__spans differing = {0};
    bool found = true;
    bg_status status;

    BG__TRY(BG__ALLOCATE(other, r->order.count, "nodes"));
    while (found && *pairs < PAIRS) {
        BG__TRY(bg__order_list(&r->order, keys, other));
        if (memcmp(other, r->steps, r->order.count * sizeof *other) == 0)
            goto done;
        bg__spans_free(&differing);
        BG__TRY(bg__runs_compare(r, other, &differing));
        if (differing.count == 0)
            goto done;
        free(pair.before);
        pair.before = NULL;
        BG__TRY(bg__runs_find_pair(r, other, &pair, &found));
        if (!found)
            goto done;
        BG__TRY(bg__runs_report_pair(r, &pair, how, r->attached->report));
        BG__TRY(bg__order_add(&r->order, pair.earlier, pair.later));
        ++*pairs;
    }
done:
    bg__spans_free(&differing);
    free(pair.before);
    free(other);
    return status;
}

/* The keys of the index-th order, from 1. */
static void choose_keys(const bg__runs *r, const int *lane, int lanes, int index, uint64_t *keys)
{
    for (size_t i = 0; i < r->order.count; i++)
        keys[i] = index <= lanes ? lane[i] == index - 1 : bgk_mix((uint64_t)(index - lanes) + bgk_mix(i));
}

/* How many orders a graph with so many branches gets. */
static int count_orders(const seen *s, const bg__runs *r, int lanes)
{
    char why[120];
    int orders = wanted > 0 ? wanted : (lanes < BRANCHES ? lanes : BRANCHES) + 1 + SEEDS;

    if (orders > lanes || s->counted)
        return orders;
    snprintf(why, sizeof why, "it has %d branches, and %d of them were tried in another order (--orders=%d tries all)",
             lanes, orders - 1, lanes + 1);
    bg__process_report_not_checked("orders", bg__graph_name(r->attached->graph), why);
    return orders;
}

static bg_status compare_orders(bg__runs *r, const seen *s, int *pairs)
{
    uint64_t *keys = NULL;
    int *lane = NULL, lanes, orders;
    char how[64];
    bg_status status;

    BG__TRY(BG__ALLOCATE(keys, r->order.count, "nodes"));
    BG__TRY(BG__ALLOCATE(lane, r->order.count, "nodes"));
    BG__TRY(bg__order_lanes(&r->order, lane, &lanes));
    orders = count_orders(s, r, lanes);
    for (int i = 1; i < orders; i++) {
        choose_keys(r, lane, lanes, i, keys);
        snprintf(how, sizeof how, i <= lanes ? "order %d of %d" : "order %d of %d, seed %d", i + 1, orders, i - lanes);
        BG__TRY(search_order(r, keys, how, pairs));
    }
done:
    free(keys);
    free(lane);
    return status;
}

/* Whether the graph leaves the order of no two nodes open. */
static bg_status is_ordered(const bg__order *order, bool *is)
{
    int *lane = NULL, lanes;
    bg_status status;

    BG__TRY(BG__ALLOCATE(lane, order->count, "nodes"));
    BG__TRY(bg__order_lanes(order, lane, &lanes));
    *is = lanes <= 1;
done:
    free(lane);
    return status;
}

static void count_looked(seen *s, const bg__runs *r)
{
    if (!s->counted)
        bg__process_report_checked("orders", 0, r->nodes.count);
    s->counted = true;
}

static bg_status run_orders(bg__runs *r, seen *s)
{
    bool contained;
    int pairs = 0;
    bg_status status, restored;

    BG__TRY(bg__runs_begin(r, &contained));
    if (!contained) {
        not_judged(s, r, "it wrote into memory that its first launch had not changed, of which there is no copy");
        goto done;
    }
    note_unstable(r);
    BG__TRY(compare_orders(r, s, &pairs));
    s->done = pairs > 0;
    count_looked(s, r);
done:
    restored = bg__image_restore(&r->image, r->stream);
    return status != BG_OK ? status : restored;
}

/* *launched: the graph has been launched, to see what it writes. */
static bg_status learn(bg__runs *r, seen *s, bool *launched, CUresult *result)
{
    bg_status status = BG_OK;

    *launched = true;
    *result = (CUresult)cudaGraphLaunch((cudaGraphExec_t)r->attached->exec, r->stream);
    if (*result == CUDA_SUCCESS)
        BG__TRY(bg__image_changed_blocks(&r->image, &s->written, r->stream));
done:
    return status;
}

static bg_status check(bg__runs *r, seen *s, bool *launched, CUresult *result)
{
    const char *obstacle;
    bool ordered, fits;
    bg_status status;

    BG__TRY(bg__nodes_take(r->attached->graph, &r->nodes));
    obstacle = bg__serial_obstacle(&r->nodes);
    if (obstacle != NULL) {
        not_judged(s, r, obstacle);
        goto done;
    }
    BG__TRY(bg__order_take(&r->order, r->attached->source, &r->nodes));
    BG__TRY(is_ordered(&r->order, &ordered));
    if (ordered) {
        s->done = true;
        count_looked(s, r);
        goto done;
    }
    BG__TRY(bg__image_look(&r->image, &r->nodes, r->stream));
    BG__TRY(bg__image_copy(&r->image, s->written.count > 0 ? &s->written : &r->image.reach, &fits, r->stream));
    if (fits)
        BG__TRY(run_orders(r, s));
    else if (s->written.count == 0)
        BG__TRY(learn(r, s, launched, result));
    else
        not_judged(s, r, "a copy of what it writes does not fit into the device's free memory (--snapshot-limit)");
done:
    return status;
}

static bool launch(bg__attached *a, cudaStream_t stream, CUresult *result)
{
    bg__runs runs = {.attached = a, .stream = stream != NULL ? stream : cudaStreamLegacy};
    bool launched = false;
    seen *s = a->kept;
    char hidden;

    if (s == NULL)
        s = a->kept = calloc(1, sizeof *s);
    if (s == NULL || s->done || s->launches >= LAUNCHES || bg__captures_are_open())
        return false;
    s->launches++;
    hidden = bg__fail_hide();
    if (check(&runs, s, &launched, result) != BG_OK)
        not_judged(s, &runs, bg_last_error());
    bg__found_tell(a->report, &a->told);
    bg__fail_unhide(hidden);
    bg__runs_free(&runs);
    return launched;
}

bg_status bg__orders_begin(const bg__launcher **launcher)
{
    static const bg__launcher this = {launch, drop_seen};
    unsigned checks;
    double number;
    bg_status status;

    BG__TRY(bg__env_choices("BG_CHECK", &checks));
    if ((checks & BG__CHECK_ORDERS) == 0)
        goto done;
    BG__TRY(bg__env_number("BG_ATTACH_ORDERS", &number));
    wanted = (int)number;
    BG__TRY(bg__image_begin());
    *launcher = &this;
done:
    return status;
}
