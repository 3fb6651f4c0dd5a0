#include "poison.h"

#include "kernels/library/rows.h"

enum { WORD = 8 };

uint64_t bg__cell_mark(const bg__cell *cell)
{
    return cell->kind == BG__CELL_FLOATS ? UINT64_MAX : 1;
}

static bg_status fill_cell(const bg__cell *cell, bool marked, cudaStream_t stream)
{
    const bgk_rows mark = {.target = (void *)cell->begin,
                           .tail = cell->end - cell->begin,
                           .pattern = bg__cell_mark(cell),
                           .kind = BGK_TAIL_PATTERN};
    bg_status status = BG_OK;

    if (marked)
        BG__TRY_CUDA(bgk_move_rows(&mark, 1, stream));
    else
        BG__TRY_CUDA(cudaMemsetAsync((void *)cell->begin, 0, cell->end - cell->begin, stream));
done:
    return status;
}

static bg_status fill_cells(const bg__poisoned *p, size_t marked)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg_status status;

    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    for (size_t i = 0; i < p->cells.count; i++)
        BG__TRY(fill_cell(&p->cells.list[i], i < marked, p->runs->stream));
done:
    bg__relaxed_mode_end(relaxed);
    return status;
}

bg_status bg__poisoned_fill(const bg__poisoned *p, size_t marked)
{
    bg_status status;
    BG__TRY(bg__image_restore(&p->runs->image, p->runs->stream));
    BG__TRY(fill_cells(p, marked));
done:
    return status;
}

bg_status bg__poisoned_run(const bg__poisoned *p, size_t marked, size_t count)
{
    bg_status status;
    BG__TRY(bg__poisoned_fill(p, marked));
    BG__TRY(bg__serial_run(&p->runs->order, p->runs->steps, count, p->runs->stream));
done:
    return status;
}

/* Digests are of whole words. */
static bg_status add_words(bg__spans *spans, const bg__spans *more)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < more->count; i++)
        BG__TRY(bg__spans_add(spans, more->list[i].begin / WORD * WORD, (more->list[i].end + WORD - 1) / WORD * WORD));
done:
    return status;
}

bg_status bg__poisoned_rest(const bg__poisoned *p, const bg__spans *without, bg__spans *compared)
{
    const bg__spans *reach = &p->runs->image.reach;
    bg__spans left_out = {0};
    bg_status status;

    BG__TRY(add_words(&left_out, without));
    BG__TRY(add_words(&left_out, &p->runs->unstable));
    for (size_t i = 0; i < reach->count; i++)
        BG__TRY(bg__spans_add_rest(compared, reach->list[i].begin, reach->list[i].end, &left_out));
done:
    bg__spans_free(&left_out);
    return status;
}

void bg__poisoned_free(bg__poisoned *p)
{
    bg__spans_free(&p->empty);
    bg__cells_free(&p->cells);
    bg__spans_free(&p->written);
}
