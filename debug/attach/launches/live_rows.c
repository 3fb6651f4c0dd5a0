#include "live_rows.h"

#include <stdlib.h>
#include <string.h>

#include "debug/memory/allocate.h"
#include "debug/memory/tensors.h"

enum { WORD = 8, PAGES_MAX = 1 << 16 };

static uintptr_t next_word(uintptr_t address)
{
    return (address + WORD - 1) / WORD * WORD;
}

bg_status bg__live_rows_add(bg__live_rows *live, uintptr_t begin, uintptr_t end, const bg__spans *without)
{
    bg__spans rest = {0};
    bg_status status;

    BG__TRY(bg__spans_add_rest(&rest, begin, end, without));
    for (size_t i = 0; i < rest.count; i++) {
        const bg__span *s = &rest.list[i];
        const uintptr_t word = next_word(s->begin) < s->end ? next_word(s->begin) : s->end;
        BG__TRY(bg__spans_add(&live->edges, s->begin, word));
        BG__TRY(bg__spans_add(&live->words, word, s->end));
    }
done:
    bg__spans_free(&rest);
    return status;
}

void bg__live_rows_end(bg__live_rows *live)
{
    live->page = next_word(bg__spans_bytes(&live->words) / PAGES_MAX + 1);
}

void bg__live_rows_free(bg__live_rows *live)
{
    bg__spans_free(&live->words);
    bg__spans_free(&live->edges);
}

bg_status bg__live_state_take(bg__live_state *state, const bg__live_rows *live, cudaStream_t stream)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg_status status;

    BG__TRY(bg__digests_compute(&state->words, &live->words, live->page, stream));
    if (state->edges == NULL)
        BG__TRY(BG__ALLOCATE(state->edges, bg__spans_bytes(&live->edges), "bytes of rows"));
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY(bg__spans_read(&live->edges, state->edges, stream));
done:
    bg__relaxed_mode_end(relaxed);
    return status;
}

bg_status bg__live_state_compare(const bg__live_state *a, const bg__live_state *b, const bg__live_rows *live,
                                 bg__spans *differing)
{
    size_t at = 0;
    bg_status status;

    BG__TRY(bg__digests_compare(&a->words, &b->words, &live->words, differing));
    for (size_t i = 0; i < live->edges.count; i++) {
        const bg__span *s = &live->edges.list[i];
        if (memcmp(a->edges + at, b->edges + at, s->end - s->begin) != 0)
            BG__TRY(bg__spans_add(differing, s->begin, s->end));
        at += s->end - s->begin;
    }
done:
    return status;
}

void bg__live_state_free(bg__live_state *state)
{
    bg__digests_free(&state->words);
    free(state->edges);
    state->edges = NULL;
}
