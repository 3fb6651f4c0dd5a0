/* What a graph's nodes, one after the other, write before one reads it. Of a kernel nobody knows what it writes: where
 * it leaves the same bytes behind two patterns, and nothing else that it writes differs, it has written these without
 * reading them. What it leaves as it was may be kept from launch to launch, such as the other rows of a cache. */
#include "poison.h"

#include "debug/attach/nodes/node_pieces.h"
#include "debug/attach/nodes/reachable_memory.h"

enum {
    WORD = 8,
    PAGES_MAX = 1 << 16,
    TAME = 0x3f /* in each byte: a number between 0 and 2 in every floating-point format */
};

typedef struct written_search {
    bg__poisoned *p;
    const bg__order *order;
    const size_t *steps;
    cudaStream_t stream;
    size_t run;          /* steps */
    bg__spans reached;   /* by the steps so far */
    bg__spans written;   /* of any type */
    bg__spans mine;      /* what the step that is looked at may write */
    bg__snapshot before; /* of it */
} written_search;

/* ---- kernels ---- */

/* What the next step leaves of a block, and of all else, where the block has a pattern before. */
typedef struct left {
    bg__digests block, rest;
} left;

typedef struct trial {
    bg__spans block, rest;
    size_t page; /* of block */
    left tame, zero;
} trial;

static void free_trial(trial *t)
{
    bg__spans_free(&t->block);
    bg__spans_free(&t->rest);
    bg__digests_free(&t->tame.block);
    bg__digests_free(&t->tame.rest);
    bg__digests_free(&t->zero.block);
    bg__digests_free(&t->zero.rest);
}

static bg_status run_with(const written_search *f, const trial *t, int byte, left *after)
{
    const bg__span *block = &t->block.list[0];
    bg_status status;

    BG__TRY_CUDA(cudaMemsetAsync((void *)block->begin, byte, block->end - block->begin, f->stream));
    BG__TRY(bg__serial_run(f->order, f->steps + f->run, 1, f->stream));
    BG__TRY(bg__digests_compute(&after->block, &t->block, t->page, f->stream));
    BG__TRY(bg__digests_compute(&after->rest, &t->rest, f->p->runs->image.page, f->stream));
    BG__TRY(bg__snapshot_restore(&f->before, NULL, f->stream));
done:
    return status;
}

static bg_status try_block(written_search *f, uintptr_t begin, uintptr_t end)
{
    trial t = {0};
    bg__spans kept = {0}, depending = {0};
    bg_status status;

    BG__TRY(bg__spans_add(&t.block, begin, end));
    for (size_t i = 0; i < f->mine.count; i++)
        BG__TRY(bg__spans_add_rest(&t.rest, f->mine.list[i].begin, f->mine.list[i].end, &t.block));
    t.page = (end - begin) / PAGES_MAX / WORD * WORD;
    t.page = t.page > WORD ? t.page : WORD;
    BG__TRY(run_with(f, &t, TAME, &t.tame));
    BG__TRY(run_with(f, &t, 0, &t.zero));
    BG__TRY(bg__digests_compare(&t.tame.rest, &t.zero.rest, &t.rest, &depending));
    BG__TRY(bg__digests_compare(&t.tame.block, &t.zero.block, &t.block, &kept));
    if (depending.count == 0)
        BG__TRY(bg__spans_add_rest(&f->written, begin, end, &kept));
done:
    bg__spans_free(&kept);
    bg__spans_free(&depending);
    free_trial(&t);
    return status;
}

/* Whether the step before it can be restored. */
static bg_status prepare(written_search *f, size_t step, const bg__node *node, bool *fits)
{
    bg__spans own = {0};
    size_t free_bytes, total;
    bg_status status;

    bg__spans_free(&f->mine);
    bg__snapshot_free(&f->before);
    BG__TRY(bg__reachable_add_node(&own, node));
    BG__TRY(bg__spans_add_common(&f->mine, &own, &f->p->runs->image.reach));
    BG__TRY_CUDA(cudaMemGetInfo(&free_bytes, &total));
    *fits = bg__spans_bytes(&f->mine) <= free_bytes / 2;
    if (!*fits)
        goto done;
    BG__TRY(bg__serial_run(f->order, f->steps + f->run, step - f->run, f->stream));
    f->run = step;
    BG__TRY(bg__snapshot_add_all(&f->before, &f->mine, f->stream));
done:
    bg__spans_free(&own);
    return status;
}

/* Of whole words. */
static bool may_write(const written_search *f, const bg__piece *piece, uintptr_t *begin, uintptr_t *end)
{
    *begin = (piece->pointer + WORD - 1) / WORD * WORD;
    *end = piece->end / WORD * WORD;
    return piece->pointer != 0 && piece->elements.source == BG__ELEMENTS_CERTAIN && !piece->elements.read_only &&
           *begin < *end && !bg__spans_overlap(&f->reached, *begin, *end) &&
           bg__spans_cover(&f->p->runs->image.reach, *begin, *end);
}

static bg_status try_kernel(written_search *f, size_t step, const bg__node *node)
{
    bg__pieces pieces = {NULL, 0, 0};
    bool prepared = false, fits = true;
    uintptr_t begin, end;
    bg_status status;

    BG__TRY(bg__pieces_collect(&pieces, node));
    for (size_t i = 0; i < pieces.count && fits; i++) {
        if (!may_write(f, &pieces.list[i], &begin, &end))
            continue;
        if (!prepared)
            BG__TRY(prepare(f, step, node, &fits));
        prepared = true;
        if (fits)
            BG__TRY(try_block(f, begin, end));
    }
done:
    bg__pieces_free(&pieces);
    return status;
}

/* ---- copies and memsets ---- */

/* false: it leaves gaps, or reads what it writes. */
static bool writes_all(const bg__node *node, bg__node_range *to)
{
    const struct cudaExtent *extent = &node->of.copy.extent;
    const struct cudaMemsetParams *fill = &node->of.fill;
    bg__node_range from;

    if (node->type == cudaGraphNodeTypeMemset)
        return bg__memset_node_range(node, to) && to->bytes == fill->width * fill->elementSize * fill->height;
    if (node->type != cudaGraphNodeTypeMemcpy || !bg__memcpy_node_range(node, BG__DESTINATION, to) ||
        to->bytes != extent->width * extent->height * extent->depth)
        return false;
    return !bg__memcpy_node_range(node, BG__SOURCE, &from) ||
           (uintptr_t)from.address + from.bytes <= (uintptr_t)to->address ||
           (uintptr_t)to->address + to->bytes <= (uintptr_t)from.address;
}

static bg_status add_end(written_search *f, const bg__node_range *end)
{
    uintptr_t begin = (uintptr_t)end->address;
    if (end->bytes == 0 || bg__spans_overlap(&f->reached, begin, begin + end->bytes))
        return BG_OK;
    return bg__spans_add(&f->written, begin, begin + end->bytes);
}

/* ---- steps ---- */

static bg_status look_at(written_search *f, size_t step, const bg__node *node)
{
    bg__node_range end;
    bg_status status = BG_OK;

    if (node == NULL)
        return BG_OK;
    if (node->type == cudaGraphNodeTypeKernel)
        BG__TRY(try_kernel(f, step, node));
    else if (writes_all(node, &end))
        BG__TRY(add_end(f, &end));
    BG__TRY(bg__reachable_add_node(&f->reached, node));
done:
    return status;
}

/* What all kernels use as floating-point numbers, and is not empty anyway. */
static bg_status keep_floats(written_search *f)
{
    bg__spans known = {0}, rest = {0};
    bg__cells cells = {NULL, 0, 0};
    bg_status status;

    BG__TRY(bg__spans_add_common(&known, &f->written, &f->p->runs->image.reach));
    for (size_t i = 0; i < known.count; i++)
        BG__TRY(bg__spans_add_rest(&rest, known.list[i].begin, known.list[i].end, &f->p->empty));
    BG__TRY(bg__cells_take(&cells, &rest, &f->p->runs->nodes));
    for (size_t i = 0; i < cells.count; i++)
        if (cells.list[i].kind == BG__CELL_FLOATS)
            BG__TRY(bg__spans_add(&f->p->written, cells.list[i].begin, cells.list[i].end));
done:
    bg__spans_free(&known);
    bg__spans_free(&rest);
    bg__cells_free(&cells);
    return status;
}

bg_status bg__poisoned_find_written(bg__poisoned *p)
{
    written_search f = {.p = p, .order = &p->runs->order, .steps = p->runs->steps, .stream = p->runs->stream};
    bg_status status;

    BG__TRY(bg__image_restore(&p->runs->image, f.stream));
    for (size_t i = 0; i < f.order->count; i++)
        BG__TRY(look_at(&f, i, f.order->nodes[f.steps[i]]));
    BG__TRY(keep_floats(&f));
done:
    bg__spans_free(&f.reached);
    bg__spans_free(&f.written);
    bg__spans_free(&f.mine);
    bg__snapshot_free(&f.before);
    return status;
}
