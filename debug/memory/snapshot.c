#include "snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/ledger.h"
#include "tensors.h"

static bg_status copy_piece(const bg__snapshot_piece *piece, bool back, cudaStream_t stream)
{
    void *memory = (void *)piece->begin;
    bg_status status = BG_OK;
    BG__TRY_CUDA(cudaMemcpyAsync(back ? memory : piece->copy, back ? piece->copy : memory, piece->end - piece->begin,
                                 cudaMemcpyDefault, stream));
done:
    return status;
}

/* The index of the first piece that begins after `address`. */
static size_t find_piece_after(const bg__snapshot *s, uintptr_t address)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->list[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bg_status add_piece(bg__snapshot *s, const bg__span *span, cudaStream_t stream)
{
    bg__snapshot_piece piece = {.begin = span->begin, .end = span->end};
    size_t at = find_piece_after(s, span->begin);
    bg_status status;

    BG__TRY(BG__ARRAY_GROW(s->list, s->count, s->capacity, "copies of memory"));
    BG__TRY(bg__driver_get_generation((const void *)span->begin, &piece.generation));
    BG__TRY(bg__chunks_allocate(&s->copies, span->end - span->begin, &piece.copy));
    BG__TRY(copy_piece(&piece, false, stream));
    BG__TRY(bg__spans_add(&s->all, span->begin, span->end));
    memmove(&s->list[at + 1], &s->list[at], (s->count++ - at) * sizeof piece);
    s->list[at] = piece;
done:
    return status;
}

bool bg__snapshot_has(const bg__snapshot *s, uintptr_t begin, uintptr_t end)
{
    return bg__spans_cover(&s->all, begin, end);
}

bg_status bg__snapshot_add(bg__snapshot *s, uintptr_t begin, uintptr_t end, cudaStream_t stream)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg__spans rest = {0};
    bg_status status = BG_OK;

    if (bg__snapshot_has(s, begin, end))
        return BG_OK;
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY(bg__spans_add_rest(&rest, begin, end, &s->all));
    for (size_t i = 0; i < rest.count; i++)
        BG__TRY(add_piece(s, &rest.list[i], stream));
done:
    bg__spans_free(&rest);
    bg__relaxed_mode_end(relaxed);
    return status;
}

bg_status bg__snapshot_add_all(bg__snapshot *s, const bg__spans *spans, cudaStream_t stream)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < spans->count; i++)
        BG__TRY(bg__snapshot_add(s, spans->list[i].begin, spans->list[i].end, stream));
done:
    return status;
}

static bg_status is_still_allocated(const bg__snapshot_piece *piece, bool *there)
{
    uint64_t generation;
    bg_status status;
    BG__TRY(bg__driver_get_generation((const void *)piece->begin, &generation));
    *there = generation == piece->generation;
done:
    return status;
}

/* Drops the pieces whose memory was freed. *dropped: at least one piece was dropped. */
static bg_status drop_freed_pieces(bg__snapshot *s, bool *dropped)
{
    size_t kept = 0;
    bg_status status = BG_OK;

    for (size_t i = 0; i < s->count; i++) {
        bool there;
        BG__TRY(is_still_allocated(&s->list[i], &there));
        if (there)
            s->list[kept++] = s->list[i];
    }
    *dropped = kept < s->count;
    s->count = kept;
done:
    return status;
}

/* Frees the copies of dropped pieces by allocating all copies anew. The contents of the copies are lost. */
static bg_status reallocate_copies(bg__snapshot *s)
{
    bg_status status = BG_OK;

    bg__chunks_free(&s->copies);
    bg__spans_free(&s->all);
    for (size_t i = 0; i < s->count; i++) {
        bg__snapshot_piece *piece = &s->list[i];
        BG__TRY(bg__chunks_allocate(&s->copies, piece->end - piece->begin, &piece->copy));
        BG__TRY(bg__spans_add(&s->all, piece->begin, piece->end));
    }
done:
    if (status != BG_OK)
        bg__snapshot_free(s);
    return status;
}

bg_status bg__snapshot_refresh(bg__snapshot *s, cudaStream_t stream)
{
    bool dropped;
    bg_status status;

    BG__TRY(drop_freed_pieces(s, &dropped));
    if (dropped)
        BG__TRY(reallocate_copies(s));
    for (size_t i = 0; i < s->count; i++)
        BG__TRY(copy_piece(&s->list[i], false, stream));
done:
    return status;
}

/* Restores a piece. After a failure, tries the copy once more, since the snapshot is the only copy of the contents.
 * Returns the failure. */
static bg_status restore_piece(const bg__snapshot_piece *piece, cudaStream_t stream)
{
    bool there = false;
    bg_status status = is_still_allocated(piece, &there);

    if (status == BG_OK && there)
        status = copy_piece(piece, true, stream);
    if (status != BG_OK) {
        char text[1024];
        snprintf(text, sizeof text, "%s", bg_last_error());
        (void)copy_piece(piece, true, stream);
        bg__error_set_text(text);
    }
    return status;
}

bg_status bg__snapshot_restore(const bg__snapshot *s, const bg__spans *except, cudaStream_t stream)
{
    bg__relaxed_mode relaxed =
        bg__relaxed_mode_try_begin(); /* after a failure, the other pieces must still be restored */
    bg_status first = BG_OK, waited;
    char text[1024] = "";

    for (size_t i = 0; i < s->count; i++) {
        bg_status status = BG_OK;
        if (except == NULL || !bg__spans_overlap(except, s->list[i].begin, s->list[i].end))
            status = restore_piece(&s->list[i], stream);
        if (status == BG_OK || first != BG_OK)
            continue;
        first = status;
        bg__error_add_location("restoring memory that a tool had changed");
        snprintf(text, sizeof text, "%s", bg_last_error());
    }
    waited = bg__wait_for_stream(stream);
    bg__relaxed_mode_end(relaxed);
    if (first != BG_OK)
        bg__error_set_text(text);
    return first != BG_OK ? first : waited;
}

const void *bg__snapshot_find(const bg__snapshot *s, uintptr_t begin, uintptr_t end)
{
    size_t after = find_piece_after(s, begin);
    const bg__snapshot_piece *piece = after > 0 ? &s->list[after - 1] : NULL;
    return piece != NULL && end <= piece->end ? (const char *)piece->copy + (begin - piece->begin) : NULL;
}

void bg__snapshot_free(bg__snapshot *s)
{
    bg__chunks_free(&s->copies);
    free(s->list);
    bg__spans_free(&s->all);
    *s = (bg__snapshot){0};
}
