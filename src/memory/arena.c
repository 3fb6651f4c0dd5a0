#include "memory/arena.h"

#include <stdlib.h>

size_t bg__arena_top(const bg__arena *arena)
{
    return arena->last ? arena->last->offset + arena->last->bytes : 0;
}

/* Whether a free extent has to wait for the next epoch. */
static bool is_deferred(const bg__arena *arena, const bg__extent *extent)
{
    return arena->defers && extent->epoch == arena->epoch;
}

static bool is_usable(const bg__arena *arena, const bg__extent *extent)
{
    return extent->state == BG__EXTENT_FREE && !is_deferred(arena, extent);
}

bg__extent *bg__arena_find_fit(const bg__arena *arena, size_t bytes)
{
    bg__extent *best = NULL;
    if (arena->fresh)
        return NULL;
    for (bg__extent *extent = arena->first; extent != NULL; extent = extent->next)
        if (is_usable(arena, extent) && extent->bytes >= bytes && (best == NULL || extent->bytes < best->bytes))
            best = extent;
    if (best == NULL && arena->last != NULL && is_usable(arena, arena->last))
        best = arena->last;
    return best;
}

size_t bg__arena_top_after(const bg__arena *arena, const bg__extent *fit, size_t bytes)
{
    size_t top = bg__arena_top(arena);
    if (fit == NULL)
        return top + bytes;
    return fit->bytes >= bytes ? top : fit->offset + bytes;
}

static void insert_after(bg__arena *arena, bg__extent *extent, bg__extent *previous)
{
    extent->previous = previous;
    extent->next = previous ? previous->next : arena->first;
    *(extent->next ? &extent->next->previous : &arena->last) = extent;
    *(previous ? &previous->next : &arena->first) = extent;
}

bg__extent *bg__arena_alloc(bg__arena *arena, bg__extent *fit, size_t bytes, bg__extent_state state, bg__extent **spare,
                            size_t *reused)
{
    bg__extent *extent = fit;
    *reused = fit == NULL ? 0 : fit->bytes < bytes ? fit->bytes : bytes;
    if (fit == NULL) {
        extent = *spare;
        *spare = NULL;
        extent->offset = bg__arena_top(arena);
        insert_after(arena, extent, arena->last);
    } else if (fit->bytes > bytes) {
        bg__extent *rest = *spare;
        *spare = NULL;
        *rest = (bg__extent){.offset = fit->offset + bytes, .bytes = fit->bytes - bytes, .epoch = fit->epoch};
        insert_after(arena, rest, fit);
    }
    extent->bytes = bytes;
    extent->state = state;
    return extent;
}

/* Merges extent with the next one if both are free, unless only one of them has to wait. */
static bool merge_next(bg__arena *arena, bg__extent *extent)
{
    bg__extent *next = extent->next;
    if (next == NULL || extent->state != BG__EXTENT_FREE || next->state != BG__EXTENT_FREE ||
        is_deferred(arena, extent) != is_deferred(arena, next))
        return false;
    extent->bytes += next->bytes;
    if (next->epoch > extent->epoch)
        extent->epoch = next->epoch;
    extent->next = next->next;
    *(extent->next ? &extent->next->previous : &arena->last) = extent;
    free(next);
    return true;
}

static void merge_all(bg__arena *arena)
{
    for (bg__extent *extent = arena->first; extent != NULL; extent = extent->next)
        while (merge_next(arena, extent)) {
        }
}

void bg__arena_release(bg__arena *arena, bg__extent *extent)
{
    extent->state = BG__EXTENT_FREE;
    extent->epoch = arena->epoch;
    merge_next(arena, extent);
    if (extent->previous != NULL)
        merge_next(arena, extent->previous);
}

void bg__arena_begin_epoch(bg__arena *arena)
{
    arena->epoch++;
    merge_all(arena);
}

void bg__arena_set_defers(bg__arena *arena, bool defers)
{
    arena->defers = defers;
    merge_all(arena);
}

void bg__arena_clear(bg__arena *arena)
{
    bg__extent *next;
    for (bg__extent *extent = arena->first; extent != NULL; extent = next) {
        next = extent->next;
        free(extent);
    }
    arena->first = arena->last = NULL;
}
