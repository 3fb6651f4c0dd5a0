/* What the chosen nodes write: seen where the nodes run one after the other. */
#include "probes.h"

#include <stdlib.h>
#include <string.h>

#include "debug/attach/nodes/node_pieces.h"
#include "debug/attach/nodes/reachable_memory.h"
#include "debug/attach/split/chosen_places.h"
#include "kernels/library/changes.h"

enum { PAGE = 64, RANGES_MAX = 8, WORD = 8, ELEMENT = 4 };

typedef struct learning {
    bg__probes *probes;
    bg__runs *runs;
    bg__spans chosen;       /* what the chosen nodes reach */
    bg__probe_writes found; /* of the nodes that have run alone */
    bgk_changes *changes;   /* in device memory */
    bgk_probe *result;      /* likewise */
} learning;

/* A node that runs alone. */
typedef struct trial {
    const bg__node *node;
    size_t step;
    bool probed;
    bg__spans direct, reach; /* what its parameters point to; and what lies behind lists of pointers */
    bg__snapshot before;     /* of reach; empty: there is no room */
    bg__spans changed;       /* pages */
    bg__pieces pieces;
} trial;

/* ---- one range -------------------------------------------------------------------------------------------------- */

/* The one floating-point type that the kernel's name has for these elements. */
static int format_of(const bg__elements *elements)
{
    bool known = elements->source == BG__ELEMENTS_NAMED || elements->source == BG__ELEMENTS_CERTAIN;

    for (int f = 0; f < BGK_FLOATS && known; f++)
        if (elements->formats == 1u << f)
            return f;
    return BGK_NO_FLOATS;
}

/* That of all that lies in range. */
static int find_format(const trial *t, bg__span range)
{
    int format = BGK_NO_FLOATS, count = 0;

    for (size_t i = 0; i < t->pieces.count; i++) {
        const bg__piece *piece = &t->pieces.list[i];
        int own = format_of(&piece->elements);
        if (piece->begin >= range.end || range.begin >= piece->end)
            continue;
        format = count++ == 0 || own == format ? own : BGK_NO_FLOATS;
    }
    return format;
}

static uintptr_t element_of(int format)
{
    static const uintptr_t bytes[BGK_FLOATS] = {[BGK_F32] = 4, [BGK_F64] = 8, [BGK_F16] = 2, [BGK_BF16] = 2};
    return format == BGK_NO_FLOATS ? ELEMENT : bytes[format];
}

static bg_status count_changes(const learning *l, const bg__span *range, const void *before, bgk_changes *found)
{
    const bgk_changes none = bgk_changes_none();
    cudaStream_t stream = l->runs->stream;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaMemcpyAsync(l->changes, &none, sizeof none, cudaMemcpyHostToDevice, stream));
    BG__TRY_CUDA(bgk_count_changes(l->changes, (const void *)range->begin, before, range->end - range->begin, stream));
    BG__TRY_CUDA(cudaMemcpyAsync(found, l->changes, sizeof *found, cudaMemcpyDeviceToHost, stream));
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
done:
    return status;
}

/* The first and the last byte that differ in the words of found. */
static bg_status find_bytes(const learning *l, const bg__span *range, const char *before, const bgk_changes *found,
                            bg__span *bytes)
{
    const char *now = (const char *)range->begin;
    size_t first = found->first, end = found->end, last = (end - 1) / WORD * WORD;
    unsigned char a[2][WORD], b[2][WORD];
    cudaStream_t stream = l->runs->stream;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaMemcpyAsync(a[0], now + first, first == last ? end - last : WORD, cudaMemcpyDefault, stream));
    BG__TRY_CUDA(cudaMemcpyAsync(b[0], before + first, first == last ? end - last : WORD, cudaMemcpyDefault, stream));
    BG__TRY_CUDA(cudaMemcpyAsync(a[1], now + last, end - last, cudaMemcpyDefault, stream));
    BG__TRY_CUDA(cudaMemcpyAsync(b[1], before + last, end - last, cudaMemcpyDefault, stream));
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
    while (first % WORD < WORD - 1 && a[0][first % WORD] == b[0][first % WORD])
        first++;
    while (end > last + 1 && a[1][end - 1 - last] == b[1][end - 1 - last])
        end--;
    *bytes = (bg__span){range->begin + first, range->begin + end};
done:
    return status;
}

static bool has_end(const bg__node *node, bg__node_range *to)
{
    return (node->type == cudaGraphNodeTypeMemset && bg__memset_node_range(node, to)) ||
           (node->type == cudaGraphNodeTypeMemcpy && bg__memcpy_node_range(node, BG__DESTINATION, to));
}

/* Whole elements, but no byte that a copy or a memset does not write. */
static bg__span widen(const trial *t, const bg__span *range, bg__span bytes, uintptr_t element)
{
    bg__span wide = {bytes.begin / element * element, (bytes.end + element - 1) / element * element};
    bg__node_range to;

    wide.begin = wide.begin > range->begin ? wide.begin : range->begin;
    wide.end = wide.end < range->end ? wide.end : range->end;
    if (has_end(t->node, &to)) {
        uintptr_t begin = (uintptr_t)to.address, end = begin + to.bytes;
        wide.begin = wide.begin < begin && begin < bytes.end ? begin : wide.begin;
        wide.end = wide.end > end && end > bytes.begin ? end : wide.end;
    }
    return wide;
}

/* The probe of what has changed in the pages of a range. */
static bg_status narrow(const learning *l, const trial *t, const bg__span *range, bg__probe *probe, bgk_changes *found)
{
    const void *before = bg__snapshot_find(&t->before, range->begin, range->end);
    bg__span bytes = *range;
    bg_status status = BG_OK;

    *probe = (bg__probe){.node = t->node->handle,
                         .call = t->node->call,
                         .name = t->node->call != NULL ? t->node->call->name : bg__node_kind(t->node),
                         .step = t->step,
                         .format = BGK_NO_FLOATS,
                         .mixed = before == NULL ? "there was no room for a copy of what it overwrote" : NULL};
    *found = bgk_changes_none();
    if (before != NULL)
        BG__TRY(count_changes(l, range, before, found));
    if (found->first < found->end) {
        BG__TRY(find_bytes(l, range, before, found, &bytes));
        probe->format = find_format(t, bytes);
        bytes = widen(t, range, bytes, element_of(probe->format));
    }
    probe->begin = bytes.begin;
    probe->end = bytes.end;
done:
    return status;
}

static bg_status look_now(const learning *l, bg__probe *probe)
{
    cudaStream_t stream = l->runs->stream;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaMemsetAsync(l->result, 0, sizeof *l->result, stream));
    BG__TRY_CUDA(
        bgk_probe_memory(l->result, (const void *)probe->begin, probe->end - probe->begin, probe->format, stream));
    BG__TRY_CUDA(cudaMemcpyAsync(&probe->alone, l->result, sizeof *l->result, cudaMemcpyDeviceToHost, stream));
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
done:
    return status;
}

static bg_status add_probe(const learning *l, bg__probe *probe, const bgk_changes *found)
{
    bg__probes *p = l->probes;
    bg_status status;

    probe->format = probe->mixed != NULL ? BGK_NO_FLOATS : probe->format;
    BG__TRY(look_now(l, probe));
    if (probe->format != BGK_NO_FLOATS) {
        const bgk_words *own = &found->words[probe->format];
        probe->other.nan = probe->alone.nan - own->nan - own->other_nan;
        probe->other.inf = probe->alone.inf - own->inf;
    }
    BG__TRY(BG__ARRAY_GROW(p->list, p->count, p->capacity, "probes"));
    p->list[p->count++] = *probe;
done:
    return status;
}

static bg_status add_write(learning *l, size_t step, bg__span range)
{
    bg_status status;
    BG__TRY(BG__ARRAY_GROW(l->found.list, l->found.count, l->found.capacity, "what nodes write"));
    l->found.list[l->found.count++] = (bg__probe_write){step, range};
done:
    return status;
}

/* ---- one node --------------------------------------------------------------------------------------------------- */

/* What changed in a block: a probe for each range, or one for many. */
static bg_status add_ranges(learning *l, const trial *t, const bg__spans *changed, bool probed)
{
    bool many = changed->count > RANGES_MAX;
    bgk_changes found;
    bg__probe probe;
    bg_status status = BG_OK;

    for (size_t i = 0; i < changed->count && !many; i++) {
        BG__TRY(narrow(l, t, &changed->list[i], &probe, &found));
        BG__TRY(add_write(l, t->step, (bg__span){probe.begin, probe.end}));
        if (probed)
            BG__TRY(add_probe(l, &probe, &found));
    }
    for (size_t i = 0; i < changed->count && many; i++)
        BG__TRY(add_write(l, t->step, changed->list[i]));
    if (!many || !probed)
        goto done;
    BG__TRY(narrow(l, t, &changed->list[0], &probe, &found));
    probe.end = changed->list[changed->count - 1].end;
    probe.mixed = "it writes in many pieces";
    BG__TRY(add_probe(l, &probe, &found));
done:
    return status;
}

/* Only what the node's parameters point to is probed: what lists point to may be freed later. */
static bg_status add_blocks(learning *l, const trial *t)
{
    bg__spans block = {0};
    bg_status status = BG_OK;

    for (size_t i = 0; i < t->reach.count; i++) {
        const bg__span *span = &t->reach.list[i];
        const bg__spans one = {.list = (bg__span *)span, .count = 1};
        bg__spans_free(&block);
        BG__TRY(bg__spans_add_common(&block, &t->changed, &one));
        BG__TRY(add_ranges(l, t, &block, t->probed && bg__spans_cover(&t->direct, span->begin, span->end)));
    }
done:
    bg__spans_free(&block);
    return status;
}

static bg_status keep_before(const learning *l, trial *t)
{
    size_t free_bytes, total;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaMemGetInfo(&free_bytes, &total));
    if (bg__spans_bytes(&t->reach) <= free_bytes / 2)
        BG__TRY(bg__snapshot_add_all(&t->before, &t->reach, l->runs->stream));
done:
    return status;
}

/* What the node may reach that is restored, also by lists of pointers. */
static bg_status add_reached(bg__spans *spans, const bg__node *node, cudaStream_t stream)
{
    const bg__nodes one = {.node = (bg__node *)node, .count = 1};
    bg__reachable reached = {.obstacle = ""};
    bg_status status;

    BG__TRY(bg__reachable_collect(&reached, &one, stream));
    BG__TRY(bg__spans_add_all(spans, &reached.memory));
done:
    bg__reachable_free(&reached);
    return status;
}

static bg_status run_alone(const learning *l, trial *t)
{
    cudaStream_t stream = l->runs->stream;
    bg__digests before = {0}, after = {0};
    bg_status status;

    BG__TRY(bg__reachable_add_node(&t->direct, t->node));
    if (l->runs->ordered)
        BG__TRY(bg__spans_add_all(&t->reach, &t->direct));
    else
        BG__TRY(add_reached(&t->reach, t->node, stream));
    if (t->node->type == cudaGraphNodeTypeKernel)
        BG__TRY(bg__pieces_collect(&t->pieces, t->node));
    BG__TRY(keep_before(l, t));
    BG__TRY(bg__digests_compute(&before, &t->reach, PAGE, stream));
    BG__TRY(bg__serial_run(&l->runs->order, &t->step, 1, stream));
    BG__TRY(bg__digests_compute(&after, &t->reach, PAGE, stream));
    BG__TRY(bg__digests_compare(&before, &after, &t->reach, &t->changed));
done:
    bg__digests_free(&before);
    bg__digests_free(&after);
    return status;
}

static bg_status look_at(learning *l, size_t step, bool probed)
{
    trial t = {.node = l->runs->order.nodes[step], .step = step, .probed = probed};
    bg_status status;

    BG__TRY(run_alone(l, &t));
    BG__TRY(add_blocks(l, &t));
done:
    bg__spans_free(&t.direct);
    bg__spans_free(&t.reach);
    bg__spans_free(&t.changed);
    bg__snapshot_free(&t.before);
    bg__pieces_free(&t.pieces);
    return status;
}

/* ---- all nodes -------------------------------------------------------------------------------------------------- */

/* Nodes of child graphs are not probed: a copy of the graph has no place for what looks at them. */
static bool is_probed(const bg__runs *r, size_t step)
{
    const bg__node *node = r->order.nodes[step];
    return node != NULL && node->parent < 0 &&
           bg__node_choice(bg__graph_name(r->attached->graph), node, node) != BG__NOT_CHOSEN;
}

static bg_status find_chosen(learning *l)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < l->runs->order.count; i++)
        if (is_probed(l->runs, i))
            BG__TRY(bg__reachable_add_node(&l->chosen, l->runs->order.nodes[i]));
done:
    return status;
}

/* *may: it runs alone, for what it writes into the memory of others. */
static bg_status may_meet(const learning *l, const bg__node *node, bool *may)
{
    bg__spans reach = {0};
    bg_status status = BG_OK;

    *may = false;
    if (node == NULL || l->runs->ordered)
        return BG_OK;
    BG__TRY(add_reached(&reach, node, l->runs->stream));
    for (size_t i = 0; i < reach.count; i++)
        *may |= bg__spans_overlap(&l->chosen, reach.list[i].begin, reach.list[i].end);
done:
    bg__spans_free(&reach);
    return status;
}

static bg_status run_all(learning *l)
{
    const bg__runs *r = l->runs;
    size_t done_steps = 0;
    bg_status status;

    BG__TRY(find_chosen(l));
    for (size_t i = 0; i < r->order.count; i++) {
        bool probed = is_probed(r, r->steps[i]), alone = probed;
        if (!probed)
            BG__TRY(may_meet(l, r->order.nodes[r->steps[i]], &alone));
        if (!alone)
            continue;
        BG__TRY(bg__serial_run(&r->order, r->steps + done_steps, i - done_steps, r->stream));
        BG__TRY(look_at(l, r->steps[i], probed));
        done_steps = i + 1;
    }
    BG__TRY(bg__probes_mark(l->probes, r, &l->found));
done:
    return status;
}

bg_status bg__probes_learn(bg__probes *p, bg__runs *r)
{
    learning l = {.probes = p, .runs = r};
    bg_status status, restored;

    p->partial = bg__serial_leaves_out(&r->nodes);
    BG__TRY(bg__device_alloc(sizeof *l.changes, (void **)&l.changes));
    BG__TRY(bg__device_alloc(sizeof *l.result, (void **)&l.result));
    BG__TRY(bg__image_restore(&r->image, r->stream));
    status = run_all(&l);
done:
    restored = bg__image_restore(&r->image, r->stream);
    bg__device_free(l.changes);
    bg__device_free(l.result);
    bg__spans_free(&l.chosen);
    free(l.found.list);
    return status != BG_OK ? status : restored;
}
