#include "digests.h"

#include <stdlib.h>

#include "base/grow.h"
#include "kernels/library/digest.h"

static size_t count_pages(const bg__span *span, size_t page)
{
    return (span->end - span->begin + page - 1) / page;
}

static bg_status compute_digests(bg__digests *d, const bg__spans *spans, unsigned long long *room, cudaStream_t stream)
{
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaMemsetAsync(room, 0, d->count * sizeof *room, stream));
    for (size_t i = 0, at = 0; i < spans->count; at += count_pages(&spans->list[i], d->page), i++)
        BG__TRY_CUDA(bgk_digest_pages(room + at, (const void *)spans->list[i].begin,
                                      spans->list[i].end - spans->list[i].begin, d->page, stream));
    BG__TRY_CUDA(cudaMemcpyAsync(d->list, room, d->count * sizeof *room, cudaMemcpyDeviceToHost, stream));
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
done:
    return status;
}

bg_status bg__digests_compute(bg__digests *d, const bg__spans *spans, size_t page, cudaStream_t stream)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    unsigned long long *room = NULL;
    size_t count = 0;
    bg_status status;

    for (size_t i = 0; i < spans->count; i++)
        count += count_pages(&spans->list[i], page);
    d->page = page;
    d->count = 0;
    if (count == 0)
        return BG_OK;
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY(bg__array_grow(&d->list, &d->capacity, count, sizeof *d->list, "digests of memory"));
    BG__TRY(bg__device_alloc(count * sizeof *room, (void **)&room));
    d->count = count;
    BG__TRY(compute_digests(d, spans, room, stream));
done:
    bg__device_free(room);
    bg__relaxed_mode_end(relaxed);
    return status;
}

/* Adds the differing pages of one span, and merges adjacent pages into one range. at: the index of the span's first
 * page. */
static bg_status compare_span(const bg__digests *a, const bg__digests *b, const bg__span *span, size_t at,
                              bg__spans *differing)
{
    uintptr_t from = 0; /* where a range of differing pages begins; 0: there is none */
    bg_status status = BG_OK;

    for (uintptr_t begin = span->begin; begin < span->end; begin += a->page, at++) {
        bool differs = a->list[at] != b->list[at];
        if (differs && from == 0)
            from = begin;
        if (!differs && from != 0)
            BG__TRY(bg__spans_add(differing, from, begin));
        from = differs ? from : 0;
    }
    if (from != 0)
        BG__TRY(bg__spans_add(differing, from, span->end));
done:
    return status;
}

bg_status bg__digests_compare(const bg__digests *a, const bg__digests *b, const bg__spans *spans, bg__spans *differing)
{
    size_t at = 0;
    bg_status status = BG_OK;

    for (size_t i = 0; i < spans->count; at += count_pages(&spans->list[i], a->page), i++)
        BG__TRY(compare_span(a, b, &spans->list[i], at, differing));
done:
    return status;
}

void bg__digests_free(bg__digests *d)
{
    free(d->list);
    *d = (bg__digests){0};
}
