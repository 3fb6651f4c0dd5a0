/* BG_CHECK=orders: the nodes of a launch, one after the other in several orders that the graph allows. A result that
 * depends on the order is a race. */
#include "launches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/debug_table.h"
#include "debug/memory/allocate.h"
#include "debug/report/process_report.h"
#include "kernels/hash.h"
#include "debug/attach/runs/runs.h"

enum {
    LAUNCHES = 3, /* of each graph: the first may compute what is there already */
    PAIRS = 8,    /* that are found in one launch */
    BRANCHES = 64,
    SEEDS = 2,
};
static int wanted; /* BG_ATTACH_ORDERS */

/* ---- the check of one launch ---- */

/* The tool's own calls end for want of memory, say; such an error comes from the nodes. The program gets it, too. */
static void report_fault(const bg__runs *r, const char *how)
{
    const cudaError_t error = bg__error_cuda_cause();
    if (!bg__device_is_gone(error))
        return;
    bg__report_add(r->attached->report, "race", BG_WARNING, NULL, NULL,
                   "add the wait that is missing: the device may choose that order, too",
                   "in another order that the graph allows (%s) the nodes end with %s, and in the order of the "
                   "capture they do not: some of them lack an order",
                   how, cudaGetErrorName(error));
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
        BG__TRY(bg__order_sort(&r->order, keys, other));
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
        BG__TRY(bg__order_add_edge(&r->order, pair.earlier, pair.later));
        ++*pairs;
    }
done:
    if (status != BG_OK)
        report_fault(r, how);
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
static int count_orders(const bg__seen *s, const bg__runs *r, int lanes)
{
    char why[120];
    int orders = wanted > 0 ? wanted : (lanes < BRANCHES ? lanes : BRANCHES) + 1 + SEEDS;

    if (orders > lanes || s->counted)
        return orders;
    snprintf(why, sizeof why, "it has %d branches, and %d of them were tried in another order (--orders=%d tries all)",
             lanes, orders - 1, lanes + 1);
    bg__process_report_add_unchecked("orders", bg__graph_name(r->attached->graph), why);
    return orders;
}

static bg_status compare_orders(bg__runs *r, const bg__seen *s, int *pairs)
{
    uint64_t *keys = NULL;
    int *lane = NULL, lanes, orders;
    char how[64];
    bg_status status;

    BG__TRY(BG__ALLOCATE(keys, r->order.count, "nodes"));
    BG__TRY(BG__ALLOCATE(lane, r->order.count, "nodes"));
    BG__TRY(bg__order_find_lanes(&r->order, lane, &lanes));
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

static bg_status look(bg__runs *r, bg__seen *s)
{
    int pairs = 0;
    bg_status status, restored;

    status = compare_orders(r, s, &pairs);
    restored = bg__image_restore(&r->image, r->stream);
    s->done = pairs > 0;
    bg__seen_count(s, r);
    return status != BG_OK ? status : restored;
}

static bool launch(bg__tracked_graph *a, cudaStream_t stream, CUresult *result)
{
    static const bg__fusions_check check = {"orders", LAUNCHES, .unordered = true, .look = look};
    return bg__runs_launch(a, stream, result, &check);
}

bg_status bg__orders_begin(const bg__launcher **launcher)
{
    static const bg__launcher this = {.name = "orders", .launch = launch, .drop = bg__seen_drop, .end = bg__runs_end};
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
