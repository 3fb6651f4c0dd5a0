/* Of most kernels of PyTorch's nobody knows which parameter is a pointer to what. The numbers that they leave tell. */
#include "poison.h"

#include "kernels/library/changes.h"

enum {
    WORD = 8,
    LOOKED = 1 << 16, /* bytes of a cell, from its begin */
    FEW = 8,          /* numbers, of which there must be as many */
    ODD = 8,          /* times as many common numbers as others */
};

typedef struct guessing {
    void *zeros; /* LOOKED bytes */
    bgk_changes *changes;
    cudaStream_t stream;
} guessing;

/* In 32 bits: two of 16 look like one, and small integers and addresses do not. */
static bool are_numbers(const bgk_words *w)
{
    return w->other_nan == 0 && w->positive + w->negative >= FEW && ODD * w->odd <= w->positive + w->negative;
}

static bg_status guess_cell(const guessing *g, bg__cell *cell)
{
    const bgk_changes none = bgk_changes_none();
    size_t bytes = cell->end - cell->begin < LOOKED ? cell->end - cell->begin : LOOKED;
    bgk_changes found;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaMemcpyAsync(g->changes, &none, sizeof none, cudaMemcpyHostToDevice, g->stream));
    BG__TRY_CUDA(bgk_count_changes(g->changes, (const void *)cell->begin, g->zeros, bytes, g->stream));
    BG__TRY_CUDA(cudaMemcpyAsync(&found, g->changes, sizeof found, cudaMemcpyDeviceToHost, g->stream));
    BG__TRY_CUDA(cudaStreamSynchronize(g->stream));
    if (are_numbers(&found.words[BGK_F32]) || are_numbers(&found.words[BGK_F64]))
        cell->kind = BG__CELL_FLOATS;
done:
    return status;
}

bg_status bg__poisoned_guess(bg__poisoned *p)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    guessing g = {.stream = p->runs->stream};
    bg_status status;

    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY(bg__device_alloc(LOOKED, &g.zeros));
    BG__TRY(bg__device_alloc(sizeof *g.changes, (void **)&g.changes));
    BG__TRY_CUDA(cudaMemsetAsync(g.zeros, 0, LOOKED, g.stream));
    for (size_t i = 0; i < p->cells.count; i++)
        if (p->cells.list[i].kind == BG__CELL_UNKNOWN && p->cells.list[i].begin % WORD == 0)
            BG__TRY(guess_cell(&g, &p->cells.list[i]));
done:
    bg__device_free(g.zeros);
    bg__device_free(g.changes);
    bg__relaxed_mode_end(relaxed);
    return status;
}
