/* A graph whose launches always compute the same hides a node that reads before another one has written: it finds what
 * the launch before has left. With patterns there it does not. */
#include "poison.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/nodes/node_pieces.h"
#include "debug/attach/runs/node_text.h"
#include "debug/attach/runs/rounding.h"
#include "debug/memory/tensors.h"

enum { ALL_BITS = 0xff, TRIES = 8 }; /* of launches whose order may be the same by chance */

/* As much as is filled in a launch: nothing, 0, or what is marked. */
typedef enum filled { UNFILLED, CLEARED, MARKED } filled;

static bg_status fill(const bg__poisoned *p, filled how)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg_status status;

    if (how == UNFILLED)
        return bg__image_restore(&p->runs->image, p->runs->stream);
    BG__TRY(bg__poisoned_fill(p, how == MARKED ? p->cells.count : 0));
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    for (size_t i = 0; i < p->written.count; i++)
        BG__TRY_CUDA(cudaMemsetAsync((void *)p->written.list[i].begin, how == MARKED ? ALL_BITS : 0,
                                     p->written.list[i].end - p->written.list[i].begin, p->runs->stream));
done:
    bg__relaxed_mode_end(relaxed);
    return status;
}

static bg_status launch_once(const bg__runs *r)
{
    bg_status status = BG_OK;
    BG__TRY_CUDA(cudaGraphLaunch((cudaGraphExec_t)r->attached->exec, r->stream));
    BG__TRY_CUDA(cudaStreamSynchronize(r->stream));
done:
    return status;
}

/* Adds what differs between the steps and the launch, both from the same memory. */
static bg_status compare_launch(const bg__poisoned *p, filled how, const bg__spans *compared, bg__spans *differing)
{
    const bg__runs *r = p->runs;
    bg__digests steps = {0}, launch = {0};
    bg_status status;

    BG__TRY(fill(p, how));
    BG__TRY(bg__serial_run(&r->order, r->steps, r->order.count, r->stream));
    BG__TRY(bg__digests_compute(&steps, compared, r->image.page, r->stream));
    BG__TRY(fill(p, how));
    BG__TRY(launch_once(r));
    BG__TRY(bg__digests_compute(&launch, compared, r->image.page, r->stream));
    BG__TRY(bg__digests_compare(&steps, &launch, compared, differing));
done:
    bg__digests_free(&steps);
    bg__digests_free(&launch);
    return status;
}

/* ---- the finding ---- */

typedef struct writer {
    const bg__node *node; /* NULL: none is known */
    uintptr_t pointer;    /* that it has */
} writer;

static void offer(writer *best, const bg__node *node, uintptr_t pointer)
{
    if (pointer >= best->pointer)
        *best = (writer){node, pointer};
}

static bg_status offer_node(writer *best, const bg__node *node, uintptr_t address)
{
    bg__pieces pieces = {NULL, 0, 0};
    bg__node_range end;
    bg_status status = BG_OK;

    if (node->type == cudaGraphNodeTypeKernel)
        BG__TRY(bg__pieces_collect(&pieces, node));
    for (size_t i = 0; i < pieces.count; i++)
        if (pieces.list[i].pointer != 0 && pieces.list[i].pointer <= address && address < pieces.list[i].end &&
            !pieces.list[i].elements.read_only)
            offer(best, node, pieces.list[i].pointer);
    if ((node->type == cudaGraphNodeTypeMemset && bg__memset_node_range(node, &end)) ||
        (node->type == cudaGraphNodeTypeMemcpy && bg__memcpy_node_range(node, BG__DESTINATION, &end)))
        if (address - (uintptr_t)end.address < end.bytes)
            offer(best, node, (uintptr_t)end.address);
done:
    bg__pieces_free(&pieces);
    return status;
}

/* The last step that may write there, of those with the nearest pointer: an allocation may be that of many tensors. */
static bg_status find_writer(const bg__runs *r, uintptr_t address, const bg__node **found)
{
    writer best = {NULL, 0};
    bg_status status = BG_OK;

    for (size_t i = 0; i < r->order.count; i++)
        if (r->order.nodes[r->steps[i]] != NULL)
            BG__TRY(offer_node(&best, r->order.nodes[r->steps[i]], address));
done:
    *found = best.node;
    return status;
}

static bg_status report(const bg__runs *r, const bg__spans *differing)
{
    uintptr_t first = differing->list[0].begin;
    const bg__node *node;
    char name[BG__NODE_TEXT], writer[BG__NODE_TEXT + 20] = "";
    bg_status status;

    BG__TRY(find_writer(r, first, &node));
    if (node != NULL)
        snprintf(writer, sizeof writer, ", which %s may write", bg__node_text(node, name, sizeof name));
    bg__report_add(
        r->attached->report, "race", BG_WARNING, node != NULL ? node->call : NULL, (const void *)first,
        "run `breakgraph check --attach --what=orders`, which names two nodes without an order; a launch that finds "
        "there what the launch before has left hides the race",
        "a node reads memory before another one has written it: with patterns in memory that the graph fills "
        "itself, a launch and its nodes one after the other differ in up to %zu bytes, the first at %p%s",
        bg__spans_bytes(differing), (const void *)first, writer);
done:
    return status;
}

/* Whatever it is, it does not depend on patterns. */
static void note_differing(const bg__runs *r, const bg__spans *differing)
{
    if (differing->count == 0)
        return;
    bg__report_add(
        r->attached->report, "not-repeatable", BG_NOTE, NULL, (const void *)differing->list[0].begin,
        "run `breakgraph check --attach --what=orders`: it names nodes on whose order the result depends",
        "without patterns, a launch and its nodes one after the other differ in up to %zu bytes, the first at %p: "
        "there no launch with patterns is compared",
        bg__spans_bytes(differing), (const void *)differing->list[0].begin);
}

static bool is_all_in(const bg__spans *differing, const bg__spans *without)
{
    for (size_t i = 0; i < differing->count; i++)
        if (!bg__spans_cover(without, differing->list[i].begin, differing->list[i].end))
            return false;
    return true;
}

/* What is read too early is a pattern, or 0: no rounding. */
static bg_status look_at_rounding(const bg__poisoned *p, filled how, const bg__spans *differing, bool *rounding)
{
    enum { MOST = 1 << 22 };
    const bg__runs *r = p->runs;
    const size_t bytes = bg__spans_bytes(differing);
    unsigned char *both = bytes <= MOST ? malloc(2 * bytes + 1) : NULL;
    bg_status status = BG_OK;

    *rounding = false;
    if (both == NULL) /* it is not known */
        return BG_OK;
    BG__TRY(fill(p, how));
    BG__TRY(bg__serial_run(&r->order, r->steps, r->order.count, r->stream));
    BG__TRY(bg__spans_read(differing, both, r->stream));
    *rounding = true;
    for (int i = 0; i < TRIES && *rounding; i++) {
        BG__TRY(fill(p, how));
        BG__TRY(launch_once(r));
        BG__TRY(bg__spans_read(differing, both + bytes, r->stream));
        *rounding = memcmp(both, both + bytes, bytes) == 0 || bg__differ_by_rounding(both, both + bytes, bytes);
    }
done:
    free(both);
    return status;
}

/* Sums by atomics differ from launch to launch, and may have been equal before by chance: *found: something else
 * differs with patterns. */
static bg_status launch_more(const bg__poisoned *p, filled how, const bg__spans *differing, bool *found)
{
    bg__spans without = {0};
    bool rounding = false;
    bg_status status = BG_OK;

    for (int i = 0; i < TRIES && *found; i++) {
        BG__TRY(compare_launch(p, UNFILLED, differing, &without));
        *found = !is_all_in(differing, &without);
    }
    if (*found)
        BG__TRY(look_at_rounding(p, how, differing, &rounding));
    *found &= !rounding;
    if (!*found)
        note_differing(p->runs, rounding ? differing : &without);
done:
    bg__spans_free(&without);
    return status;
}

bg_status bg__poisoned_launch(const bg__poisoned *p, bool *found)
{
    bg__spans compared = {0}, differing = {0}, without = {0};
    bg_status status;

    *found = false;
    BG__TRY(bg__poisoned_rest(p, &p->empty, &compared));
    BG__TRY(compare_launch(p, UNFILLED, &compared, &differing));
    BG__TRY(bg__spans_add_all(&without, &p->empty));
    BG__TRY(bg__spans_add_all(&without, &differing));
    note_differing(p->runs, &differing);
    bg__spans_free(&compared);
    BG__TRY(bg__poisoned_rest(p, &without, &compared));
    for (filled how = CLEARED; how <= MARKED && !*found; how++) {
        bg__spans_free(&differing);
        BG__TRY(compare_launch(p, how, &compared, &differing));
        *found = differing.count > 0;
        if (*found)
            BG__TRY(launch_more(p, how, &differing, found));
    }
    if (*found)
        BG__TRY(report(p->runs, &differing));
done:
    bg__spans_free(&compared);
    bg__spans_free(&differing);
    bg__spans_free(&without);
    return status;
}
