/* What the chosen nodes write: seen where the nodes run one after the other. */
#include "probes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/split/chosen_places.h"
#include "debug/attach/nodes/node_calls.h"
#include "debug/attach/nodes/node_pieces.h"
#include "debug/attach/nodes/reached.h"

enum { PAGE = 64, RANGES_MAX = 8 };

/* The one floating-point type that the kernel's name has for what lies there. */
static int format_of(const bg__node *node, uintptr_t address, bg__pieces *pieces)
{
    int format = BGK_NO_FLOATS;

    if (node->type != cudaGraphNodeTypeKernel || bg__pieces_take(pieces, node) != BG_OK)
        return format;
    for (size_t i = 0; i < pieces->count; i++) {
        const bg__piece *piece = &pieces->list[i];
        unsigned formats = piece->elements.formats;
        bool known = piece->elements.source == BG__ELEMENTS_NAMED || piece->elements.source == BG__ELEMENTS_CERTAIN;
        if (address >= piece->begin && address < piece->end && known && (formats & (formats - 1)) == 0)
            for (int f = 0; f < BGK_FLOATS; f++)
                format = formats == 1u << f ? f : format;
    }
    return format;
}

static bg_status add_range(bg__probes *p, const bg__node *node, bg__span range, bool mixed)
{
    bg__probe probe = {.node = node->handle,
                       .call = node->call,
                       .name = node->call != NULL ? node->call->name : bg__node_kind(node),
                       .begin = range.begin,
                       .end = range.end,
                       .mixed = mixed};
    bg__pieces pieces = {NULL, 0, 0};
    bg_status status;

    probe.format = mixed ? BGK_NO_FLOATS : format_of(node, range.begin, &pieces);
    BG__TRY(BG__GROW(p->list, p->count, p->capacity, "probes"));
    p->list[p->count++] = probe;
done:
    bg__pieces_free(&pieces);
    return status;
}

/* What changed in a block: a probe for each range, or one for many. */
static bg_status add_ranges(bg__probes *p, const bg__node *node, const bg__spans *changed)
{
    bg__span all = {0, 0};
    bg_status status = BG_OK;

    if (changed->count > RANGES_MAX) {
        all = (bg__span){changed->list[0].begin, changed->list[changed->count - 1].end};
        return add_range(p, node, all, true);
    }
    for (size_t i = 0; i < changed->count; i++)
        BG__TRY(add_range(p, node, changed->list[i], false));
done:
    return status;
}

static bg_status add_blocks(bg__probes *p, const bg__node *node, const bg__spans *reach, const bg__spans *changed)
{
    bg__spans block = {0};
    bg_status status = BG_OK;

    for (size_t i = 0; i < reach->count; i++) {
        const bg__spans one = {.list = &reach->list[i], .count = 1};
        bg__spans_free(&block);
        BG__TRY(bg__spans_add_common(&block, changed, &one));
        BG__TRY(add_ranges(p, node, &block));
    }
done:
    bg__spans_free(&block);
    return status;
}

/* The digests that the ranges of the node have now. */
static bg_status digest_alone(bg__probes *p, size_t from, cudaStream_t stream)
{
    bgk_probe *result = NULL;
    bg_status status;

    BG__TRY(bg__device_alloc(sizeof *result, (void **)&result));
    for (size_t i = from; i < p->count; i++) {
        bg__probe *probe = &p->list[i];
        BG__TRY_CUDA(cudaMemsetAsync(result, 0, sizeof *result, stream));
        BG__TRY_CUDA(
            bgk_probe_memory(result, (const void *)probe->begin, probe->end - probe->begin, probe->format, stream));
        BG__TRY_CUDA(cudaMemcpyAsync(&probe->alone, result, sizeof *result, cudaMemcpyDeviceToHost, stream));
        BG__TRY_CUDA(cudaStreamSynchronize(stream));
    }
done:
    bg__device_free(result);
    return status;
}

static bg_status run_chosen(bg__probes *p, bg__runs *r, size_t step)
{
    const bg__node *node = r->order.nodes[step];
    bg__digests before = {0}, after = {0};
    bg__spans reach = {0}, changed = {0};
    size_t from = p->count;
    bg_status status;

    BG__TRY(bg__reached_add(&reach, node));
    BG__TRY(bg__digests_take(&before, &reach, PAGE, r->stream));
    BG__TRY(bg__serial_run(&r->order, &step, 1, r->stream));
    BG__TRY(bg__digests_take(&after, &reach, PAGE, r->stream));
    BG__TRY(bg__digests_compare(&before, &after, &reach, &changed));
    BG__TRY(add_blocks(p, node, &reach, &changed));
    BG__TRY(digest_alone(p, from, r->stream));
done:
    bg__digests_free(&before);
    bg__digests_free(&after);
    bg__spans_free(&reach);
    bg__spans_free(&changed);
    return status;
}

/* Nodes of child graphs are not probed: a copy of the graph has no place for what looks at them. */
static bool is_probed(const bg__runs *r, size_t step)
{
    const bg__node *node = r->order.nodes[step];
    return node != NULL && node->parent < 0 &&
           bg__node_choice(bg__graph_name(r->attached->graph), node, node) != BG__NOT_CHOSEN;
}

static bg_status learn(bg__probes *p, bg__runs *r)
{
    size_t done_steps = 0;
    bg_status status = BG_OK;

    for (size_t i = 0; i < r->order.count; i++) {
        if (!is_probed(r, r->steps[i]))
            continue;
        BG__TRY(bg__serial_run(&r->order, r->steps + done_steps, i - done_steps, r->stream));
        BG__TRY(run_chosen(p, r, r->steps[i]));
        done_steps = i + 1;
    }
done:
    return status;
}

bg_status bg__probes_learn(bg__probes *p, bg__runs *r)
{
    bg_status status, restored;

    p->partial = bg__serial_leaves_out(&r->nodes);
    BG__TRY(bg__image_restore(&r->image, r->stream));
    status = learn(p, r);
done:
    restored = bg__image_restore(&r->image, r->stream);
    return status != BG_OK ? status : restored;
}
