#include "spans.h"

#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "kernels/hash.h"

void bg__spans_free(bg__spans *spans)
{
    free(spans->room);
    *spans = (bg__spans){0};
}

/* The index of the first span that ends after `address`; spans->count if there is none. */
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

/* Moves all spans to the middle of a larger room. */
static bg_status enlarge_spans(bg__spans *spans)
{
    size_t capacity = 2 * spans->count + 8, before = (capacity - spans->count) / 2;
    bg__span *room;
    bg_status status;

    BG__TRY(BG__ALLOCATE(room, capacity, "ranges of addresses"));
    if (spans->count > 0)
        memcpy(room + before, spans->list, spans->count * sizeof *room);
    free(spans->room);
    *spans = (bg__spans){room + before, spans->count, room, capacity};
done:
    return status;
}

/* Makes room for one span at index `at` by moving the spans on its shorter side. This is fast, since passes mostly use
 * memory in ascending or descending order of addresses. */
static bg_status open_gap(bg__spans *spans, size_t at)
{
    bool downwards = at < spans->count - at;
    size_t before = (size_t)(spans->list - spans->room);
    bg_status status = BG_OK;

    if (downwards ? before == 0 : before + spans->count == spans->capacity)
        BG__TRY(enlarge_spans(spans));
    if (downwards) {
        memmove(spans->list - 1, spans->list, at * sizeof *spans->list);
        spans->list--;
    } else {
        memmove(spans->list + at + 1, spans->list + at, (spans->count - at) * sizeof *spans->list);
    }
    spans->count++;
done:
    return status;
}

static void remove_spans(bg__spans *spans, size_t at, size_t until)
{
    if (at < spans->count - until) {
        memmove(spans->list + (until - at), spans->list, at * sizeof *spans->list);
        spans->list += until - at;
    } else {
        memmove(spans->list + at, spans->list + until, (spans->count - until) * sizeof *spans->list);
    }
    spans->count -= until - at;
}

bg_status bg__spans_add(bg__spans *spans, uintptr_t begin, uintptr_t end)
{
    size_t at, until;
    bg_status status = BG_OK;

    if (begin >= end)
        return BG_OK;
    at = find_span_after(spans, begin);
    for (until = at; until < spans->count && spans->list[until].begin < end; until++) {
        begin = spans->list[until].begin < begin ? spans->list[until].begin : begin;
        end = spans->list[until].end > end ? spans->list[until].end : end;
    }
    if (until == at)
        BG__TRY(open_gap(spans, at));
    else if (until > at + 1)
        remove_spans(spans, at + 1, until);
    spans->list[at] = (bg__span){begin, end};
done:
    return status;
}

bool bg__spans_overlap(const bg__spans *spans, uintptr_t begin, uintptr_t end)
{
    size_t at = find_span_after(spans, begin);
    return begin < end && at < spans->count && spans->list[at].begin < end;
}

bool bg__spans_cover(const bg__spans *spans, uintptr_t begin, uintptr_t end)
{
    for (size_t at = find_span_after(spans, begin); begin < end && at < spans->count && spans->list[at].begin <= begin;
         at++)
        begin = spans->list[at].end;
    return begin >= end;
}

bg_status bg__spans_add_tensor(bg__spans *spans, const bg_tensor *tensor)
{
    uintptr_t begin = (uintptr_t)tensor->data;
    return bg__spans_add(spans, begin, begin + bg_tensor_bytes(tensor));
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

bg_status bg__spans_add_common(bg__spans *spans, const bg__spans *a, const bg__spans *b)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < a->count; i++) {
        const bg__span *one = &a->list[i];
        for (size_t k = find_span_after(b, one->begin); k < b->count && b->list[k].begin < one->end; k++) {
            const bg__span *other = &b->list[k];
            BG__TRY(bg__spans_add(spans, one->begin > other->begin ? one->begin : other->begin,
                                  one->end < other->end ? one->end : other->end));
        }
    }
done:
    return status;
}

size_t bg__spans_bytes(const bg__spans *spans)
{
    size_t bytes = 0;
    for (size_t i = 0; i < spans->count; i++)
        bytes += spans->list[i].end - spans->list[i].begin;
    return bytes;
}

/* ---- patterns ---- */

/* The sign and the mantissa of the word depend on the address. The square of the word, as a float, is finite. */
static uint32_t word_by_address(uintptr_t address)
{
    return 0x5b000000U | ((uint32_t)(bgk_mix(address / 4) >> 32) & 0x807fffffU);
}

unsigned char bg__pattern_byte(bg__pattern pattern, uintptr_t address)
{
    switch (pattern) {
    case BG__ONES: return 0xff;
    case BG__PLACED: return (unsigned char)(word_by_address(address) >> 8 * (address % 4));
    case BG__OPPOSITE: return (unsigned char)((word_by_address(address) ^ 0x80000000U) >> 8 * (address % 4));
    default: return 0;
    }
}

bg_status bg__pattern_fill(bg__pattern pattern, const bg__spans *spans, cudaStream_t stream)
{
    enum { ROOM = 1 << 18 };
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    unsigned char *room = malloc(ROOM);
    bg_status status;

    if (room == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a pattern");
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    for (size_t i = 0; i < spans->count; i++) {
        for (uintptr_t at = spans->list[i].begin; at < spans->list[i].end; at += ROOM) {
            size_t bytes = spans->list[i].end - at < ROOM ? spans->list[i].end - at : ROOM;
            for (size_t k = 0; k < bytes; k++)
                room[k] = bg__pattern_byte(pattern, at + k);
            BG__TRY_CUDA(cudaMemcpyAsync((void *)at, room, bytes, cudaMemcpyDefault, stream));
            BG__TRY_CUDA(cudaStreamSynchronize(stream)); /* room is reused */
        }
    }
done:
    bg__relaxed_mode_end(relaxed);
    free(room);
    return status;
}
