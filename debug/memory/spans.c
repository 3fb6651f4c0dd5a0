#include "spans.h"

#include <stdlib.h>
#include <string.h>

/* ---- sets ---- */

void bg__spans_free(bg__spans *spans)
{
    free(spans->list);
    *spans = (bg__spans){0};
}

/* The first one that ends behind address. */
static size_t find_span_after(const bg__spans *spans, uintptr_t address)
{
    size_t low = 0, high = spans->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans->list[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bg_status bg__spans_add(bg__spans *spans, uintptr_t begin, uintptr_t end)
{
    size_t at, until;
    bg_status status;

    if (begin >= end)
        return BG_OK;
    BG__TRY(BG__GROW(spans->list, spans->count, spans->capacity, "ranges of addresses"));
    at = find_span_after(spans, begin);
    for (until = at; until < spans->count && spans->list[until].begin < end; until++) {
        begin = spans->list[until].begin < begin ? spans->list[until].begin : begin;
        end = spans->list[until].end > end ? spans->list[until].end : end;
    }
    memmove(&spans->list[at + 1], &spans->list[until], (spans->count - until) * sizeof *spans->list);
    spans->list[at] = (bg__span){begin, end};
    spans->count = spans->count + 1 - (until - at);
done:
    return status;
}

bool bg__spans_overlap(const bg__spans *spans, uintptr_t begin, uintptr_t end)
{
    size_t at = find_span_after(spans, begin);
    return begin < end && at < spans->count && spans->list[at].begin < end;
}

bg_status bg__spans_add_all(bg__spans *spans, const bg__spans *more)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < more->count; i++)
        BG__TRY(bg__spans_add(spans, more->list[i].begin, more->list[i].end));
done:
    return status;
}

bg_status bg__spans_add_rest(bg__spans *spans, uintptr_t begin, uintptr_t end, const bg__spans *without)
{
    bg_status status = BG_OK;
    for (size_t i = find_span_after(without, begin); i < without->count && without->list[i].begin < end; i++) {
        BG__TRY(bg__spans_add(spans, begin, without->list[i].begin));
        begin = without->list[i].end > begin ? without->list[i].end : begin;
    }
    BG__TRY(bg__spans_add(spans, begin, end));
done:
    return status;
}

/* ---- what they hold ---- */

bg_status bg__image_take(bg__image *image, const bg__spans *spans, cudaStream_t stream)
{
    bg__relaxed relaxed = {cudaStreamCaptureModeRelaxed, false};
    void **copies = calloc(spans->count + 1, sizeof *copies);
    bg_status status;

    if (copies == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu copies", spans->count);
    *image = (bg__image){spans, copies};
    BG__TRY(bg__relax_begin(&relaxed));
    for (size_t i = 0; i < spans->count; i++) {
        size_t bytes = spans->list[i].end - spans->list[i].begin;
        BG__TRY(bg__device_alloc(bytes, &copies[i]));
        BG__TRY_CUDA(cudaMemcpyAsync(copies[i], (const void *)spans->list[i].begin, bytes, cudaMemcpyDefault, stream));
    }
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
done:
    bg__relax_end(relaxed);
    if (status != BG_OK)
        bg__image_free(image);
    return status;
}

/* One after the other: what cannot be put back keeps nothing else from it. */
bg_status bg__image_restore(const bg__image *image, const bg__spans *but, cudaStream_t stream)
{
    bg__relaxed relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg_status status;

    BG__TRY(bg__relax_begin(&relaxed));
    for (size_t i = 0; image->copies != NULL && i < image->spans->count; i++) {
        const bg__span *span = &image->spans->list[i];
        const char *call = "cudaMemcpyAsync";
        cudaError_t error;
        if (but != NULL && bg__spans_overlap(but, span->begin, span->end))
            continue;
        error =
            cudaMemcpyAsync((void *)span->begin, image->copies[i], span->end - span->begin, cudaMemcpyDefault, stream);
        if (error == cudaSuccess) {
            call = "cudaStreamSynchronize";
            error = cudaStreamSynchronize(stream);
        }
        if (error != cudaSuccess && status == BG_OK)
            status = bg__fail_cuda(error, call);
        else
            bg__ignore(error);
    }
done:
    if (status != BG_OK)
        bg__fail_where("tensors that a check had overwritten could not all be put back");
    bg__relax_end(relaxed);
    return status;
}

void bg__image_free(bg__image *image)
{
    for (size_t i = 0; image->copies != NULL && i < image->spans->count; i++)
        bg__device_free(image->copies[i]);
    free(image->copies);
    *image = (bg__image){0};
}

/* ---- patterns ---- */

/* The end of splitmix64 (Steele, Lea, Flood, Fast splittable pseudorandom number generators, OOPSLA 2014). */
static uint64_t mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static uint32_t placed_word(uintptr_t address)
{
    return 0x3f800000U | ((uint32_t)(mix(address / 4) >> 32) & 0x7fffffU);
}

unsigned char bg__pattern_byte(bg__pattern pattern, uintptr_t address)
{
    switch (pattern) {
    case BG__ONES: return 0xff;
    case BG__PLACED: return (unsigned char)(placed_word(address) >> 8 * (address % 4));
    default: return 0;
    }
}

bg_status bg__pattern_fill(bg__pattern pattern, const bg__spans *spans, cudaStream_t stream)
{
    enum { ROOM = 1 << 18 };
    bg__relaxed relaxed = {cudaStreamCaptureModeRelaxed, false};
    unsigned char *room = malloc(ROOM);
    bg_status status;

    if (room == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a pattern");
    BG__TRY(bg__relax_begin(&relaxed));
    for (size_t i = 0; i < spans->count; i++) {
        for (uintptr_t at = spans->list[i].begin; at < spans->list[i].end; at += ROOM) {
            size_t bytes = spans->list[i].end - at < ROOM ? spans->list[i].end - at : ROOM;
            for (size_t k = 0; k < bytes; k++)
                room[k] = bg__pattern_byte(pattern, at + k);
            BG__TRY_CUDA(cudaMemcpyAsync((void *)at, room, bytes, cudaMemcpyDefault, stream));
            BG__TRY_CUDA(cudaStreamSynchronize(stream)); /* the room is used again */
        }
    }
done:
    bg__relax_end(relaxed);
    free(room);
    return status;
}
