#include "poison.h"

#include <stdlib.h>

#include "base/grow.h"
#include "debug/attach/nodes/node_pieces.h"

/* What a kernel's parameter points to. */
typedef struct pointed {
    uintptr_t begin, end;
    bg__element_source source;
} pointed;

typedef struct pointers {
    pointed *list;
    size_t count, capacity;
} pointers;

static bg_status add_pieces(pointers *all, const bg__pieces *pieces, const bg__spans *empty)
{
    bg_status status = BG_OK;

    for (size_t i = 0; i < pieces->count; i++) {
        const bg__piece *piece = &pieces->list[i];
        if (!bg__spans_overlap(empty, piece->pointer, piece->pointer + 1)) /* 0: before the first one */
            continue;
        BG__TRY(BG__ARRAY_GROW(all->list, all->count, all->capacity, "pointers of nodes"));
        all->list[all->count++] = (pointed){piece->pointer, piece->end, piece->elements.source};
    }
done:
    return status;
}

static int compare_pointed(const void *a, const void *b)
{
    const pointed *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static bg_status take_pointers(pointers *all, const bg__spans *empty, const bg__nodes *nodes)
{
    bg__pieces pieces = {NULL, 0, 0};
    bg_status status = BG_OK;

    for (size_t i = 0; i < nodes->count; i++) {
        if (nodes->node[i].type != cudaGraphNodeTypeKernel)
            continue;
        BG__TRY(bg__pieces_collect(&pieces, &nodes->node[i]));
        BG__TRY(add_pieces(all, &pieces, empty));
    }
    if (all->count > 0)
        qsort(all->list, all->count, sizeof *all->list, compare_pointed);
done:
    bg__pieces_free(&pieces);
    return status;
}

/* Behind a pointer there may be what it points to, up to the end of the span. */
static bg__cell_kind kind_of(const pointers *all, const bg__span *span, uintptr_t begin)
{
    bool certain = false, uncertain = false;
    for (size_t i = 0; i < all->count && all->list[i].begin <= begin; i++) {
        if (all->list[i].begin < span->begin || all->list[i].end <= begin)
            continue;
        if (all->list[i].source == BG__ELEMENTS_OTHER)
            return BG__CELL_OTHER;
        certain = certain || all->list[i].source == BG__ELEMENTS_CERTAIN;
        uncertain = uncertain || all->list[i].source != BG__ELEMENTS_CERTAIN;
    }
    return certain && !uncertain ? BG__CELL_FLOATS : BG__CELL_UNKNOWN;
}

static bg_status add_cells(bg__cells *cells, const pointers *all, const bg__span *span)
{
    uintptr_t begin = span->begin;
    bg_status status = BG_OK;

    for (size_t i = 0; i <= all->count && begin < span->end; i++) {
        uintptr_t end = i < all->count ? all->list[i].begin : span->end;
        if (end <= begin)
            continue;
        end = end < span->end ? end : span->end;
        BG__TRY(BG__ARRAY_GROW(cells->list, cells->count, cells->capacity, "parts of memory"));
        cells->list[cells->count++] = (bg__cell){begin, end, kind_of(all, span, begin)};
        begin = end;
    }
done:
    return status;
}

bg_status bg__cells_take(bg__cells *cells, const bg__spans *empty, const bg__nodes *nodes)
{
    pointers all = {NULL, 0, 0};
    bg_status status;

    BG__TRY(take_pointers(&all, empty, nodes));
    for (size_t i = 0; i < empty->count; i++)
        BG__TRY(add_cells(cells, &all, &empty->list[i]));
done:
    free(all.list);
    return status;
}

void bg__cells_free(bg__cells *cells)
{
    free(cells->list);
    *cells = (bg__cells){NULL, 0, 0};
}
