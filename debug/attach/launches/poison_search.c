/* From a result that depends on memory which holds nothing to the memory, and to the first node that reads it. */
#include "poison.h"

#include "debug/memory/chunks.h"
#include "kernels/library/taint.h"
#include "debug/attach/runs/node_text.h"

typedef struct search {
    const bg__poisoned *p;
    const bg__cell *cell;
    size_t marked; /* cells, of which this is the last one */
    size_t step;   /* the first that reads it, from 1 */
    bg__spans rest;
    bg__chunks memory;
    void *copy; /* of the cell, after a run in which it is marked */
    bgk_taint *taint;
} search;

/* The result depends on the last of the first s->marked cells, marked or not. */
static bg_status find_cell(search *s, const bg__spans *compared, const bg__digests *clear)
{
    const bg__runs *runs = s->p->runs;
    bg__digests now = {0};
    bg__spans differing = {0};
    size_t low = 0;
    bg_status status = BG_OK;

    s->marked = s->p->cells.count;
    while (s->marked - low > 1) {
        size_t middle = low + (s->marked - low) / 2;
        bg__spans_free(&differing);
        BG__TRY(bg__poisoned_run(s->p, middle, runs->order.count));
        BG__TRY(bg__digests_compute(&now, compared, runs->image.page, runs->stream));
        BG__TRY(bg__digests_compare(clear, &now, compared, &differing));
        if (differing.count > 0)
            s->marked = middle;
        else
            low = middle;
    }
    s->cell = &s->p->cells.list[s->marked - 1];
done:
    bg__digests_free(&now);
    bg__spans_free(&differing);
    return status;
}

/* ---- nodes ---- */

static bg_status prepare(search *s)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg__spans cell = {0};
    bg_status status;

    BG__TRY(bg__spans_add(&cell, s->cell->begin, s->cell->end));
    BG__TRY(bg__poisoned_rest(s->p, &cell, &s->rest));
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY(bg__chunks_allocate(&s->memory, s->cell->end - s->cell->begin, &s->copy));
    BG__TRY(bg__chunks_allocate(&s->memory, sizeof *s->taint, (void **)&s->taint));
done:
    bg__relaxed_mode_end(relaxed);
    bg__spans_free(&cell);
    return status;
}

/* The cell, which is not marked now, against the copy. */
static bg_status count_taint(search *s, bgk_taint *found)
{
    const bgk_taint none = {0, ~0ull};
    cudaStream_t stream = s->p->runs->stream;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaMemcpyAsync(s->taint, &none, sizeof none, cudaMemcpyHostToDevice, stream));
    BG__TRY_CUDA(bgk_count_taint(s->taint, s->copy, (const void *)s->cell->begin, bg__cell_mark(s->cell),
                                 s->cell->end - s->cell->begin, stream));
    BG__TRY_CUDA(cudaMemcpyAsync(found, s->taint, sizeof *found, cudaMemcpyDeviceToHost, stream));
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
done:
    return status;
}

/* Whether memory depends on the cell after so many steps, other than that it holds what it held before. */
static bg_status depends(search *s, size_t count, bool *is)
{
    const bg__runs *runs = s->p->runs;
    bg__digests marked = {0}, clear = {0};
    bg__spans differing = {0};
    bgk_taint taint = {0, 0};
    bg_status status;

    BG__TRY(bg__poisoned_run(s->p, s->marked, count));
    BG__TRY(bg__digests_compute(&marked, &s->rest, runs->image.page, runs->stream));
    BG__TRY_CUDA(cudaMemcpyAsync(s->copy, (const void *)s->cell->begin, s->cell->end - s->cell->begin,
                                 cudaMemcpyDefault, runs->stream));
    BG__TRY(bg__poisoned_run(s->p, s->marked - 1, count));
    BG__TRY(bg__digests_compute(&clear, &s->rest, runs->image.page, runs->stream));
    BG__TRY(bg__digests_compare(&marked, &clear, &s->rest, &differing));
    BG__TRY(count_taint(s, &taint));
    *is = differing.count > 0 || taint.count > 0;
done:
    bg__digests_free(&marked);
    bg__digests_free(&clear);
    bg__spans_free(&differing);
    return status;
}

static bg_status find_step(search *s)
{
    size_t low = 0;
    bg_status status = BG_OK;

    s->step = s->p->runs->order.count;
    while (s->step - low > 1) {
        size_t middle = low + (s->step - low) / 2;
        bool is = false;
        BG__TRY(depends(s, middle, &is));
        if (is)
            s->step = middle;
        else
            low = middle;
    }
done:
    return status;
}

/* ---- the finding ---- */

static void report(const search *s, const bg__spans *differing)
{
    const bg__runs *runs = s->p->runs;
    const bg__node *node = runs->order.nodes[runs->steps[s->step - 1]];
    char name[BG__NODE_TEXT], parameter[BG__NODE_TEXT + 70] = "";

    if (node != NULL)
        bg__node_parameter_text(node, s->cell->begin, parameter, sizeof parameter);
    bg__report_add(
        runs->attached->report, "reads-unwritten", BG_FAULT, node != NULL ? node->call : NULL,
        (const void *)s->cell->begin,
        "fill it in the graph before it is read (cudaMemsetAsync, or zeros of PyTorch in place of empty), or read "
        "only what was written",
        "%s reads memory that no node of the graph has written before it: of %zu bytes at %p, which the program's "
        "allocator has as free%s; up to %zu bytes of the graph's result depend on what is there, the first at %p",
        node != NULL ? bg__node_text(node, name, sizeof name) : "a node", s->cell->end - s->cell->begin,
        (const void *)s->cell->begin, parameter, bg__spans_bytes(differing), (const void *)differing->list[0].begin);
}

bg_status bg__poisoned_report(const bg__poisoned *p, const bg__spans *compared, const bg__digests *clear,
                              const bg__spans *differing)
{
    search s = {.p = p};
    bg_status status;

    BG__TRY(find_cell(&s, compared, clear));
    BG__TRY(prepare(&s));
    BG__TRY(find_step(&s));
    report(&s, differing);
done:
    bg__spans_free(&s.rest);
    bg__chunks_free(&s.memory);
    return status;
}
