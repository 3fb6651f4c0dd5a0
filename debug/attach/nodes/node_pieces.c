#include "node_pieces.h"

#include <cudaTypedefs.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/memory/blocks.h"
#include "debug/check/node_pointers.h"

enum { WORD = 8 };
/* Adjacent mappings belong to one block, up to this many bytes on either side of a pointer. */
static const size_t MAPPED_MAX = (size_t)1 << 30;

typedef struct piece_collector {
    const bg__node *node;
    bg__allocations driver; /* for queries; it is empty */
    PFN_cuMemGetAddressRange_v3020 range;
    int device;
    bg__pieces found; /* one piece for each pointer, at begin */
    bool elsewhere;   /* some pointers point to memory of another device */
} piece_collector;

/* ---- blocks ---- */

static bg__memory_kind kind_of_attributes(const struct cudaPointerAttributes *a, uintptr_t address, int device)
{
    if (a->type == cudaMemoryTypeUnregistered || (uintptr_t)a->devicePointer != address)
        return BG__MEMORY_NONE;
    if (a->type == cudaMemoryTypeHost)
        return BG__MEMORY_HOST;
    return a->type != cudaMemoryTypeDevice || a->device == device ? BG__MEMORY_HERE : BG__MEMORY_ELSEWHERE;
}

bg_status bg__memory_kind_of(uintptr_t address, int device, bg__memory_kind *kind)
{
    struct cudaPointerAttributes a;
    cudaError_t error = cudaPointerGetAttributes(&a, (const void *)address);
    bg_status status = BG_OK;

    *kind = BG__MEMORY_NONE;
    bg__clear_cuda_error(error);
    if (error == cudaErrorInvalidValue) /* CUDA does not know it */
        return BG_OK;
    BG__TRY_CUDA(error);
    *kind = kind_of_attributes(&a, address, device);
done:
    return status;
}

bool bg__memory_is_pageable(const void *address)
{
    struct cudaPointerAttributes about;
    cudaError_t error = cudaPointerGetAttributes(&about, address);
    bg__clear_cuda_error(error);
    return error != cudaSuccess || about.type == cudaMemoryTypeUnregistered;
}

/* A pool may grow by mappings into one reserved range of addresses, and its tensors may cross them. */
static bg_status widen_block(const piece_collector *t, uintptr_t address, bg__allocation *block)
{
    bg__allocation next;
    CUdeviceptr base = 0;
    size_t bytes = 0;
    bg_status status = BG_OK;

    if (t->range(&base, &bytes, (CUdeviceptr)address) != CUDA_SUCCESS)
        return BG_OK;
    while (block->base > base && address - block->base < MAPPED_MAX) {
        BG__TRY(bg__pointer_find(&t->driver, block->base - 1, &next));
        if (next.id == 0)
            break;
        block->bytes += block->base - next.base;
        block->base = next.base;
    }
    while (block->base + block->bytes < base + bytes && block->base + block->bytes - address < MAPPED_MAX) {
        BG__TRY(bg__pointer_find(&t->driver, block->base + block->bytes, &next));
        if (next.id == 0)
            break;
        block->bytes = next.base + next.bytes - block->base;
    }
done:
    return status;
}

/* ---- pointers ---- */

static bg_status add_pointer(void *user, const bg__node_pointer *held)
{
    piece_collector *t = user;
    const bg__kernel *kernel = t->node->kernel;
    bg__piece piece = {.begin = held->address, .pointer = held->address};
    uintptr_t inside = held->address;
    bg__allocation block;
    bg__memory_kind kind;
    bg_status status;

    BG__TRY(bg__pointer_find(&t->driver, inside, &block));
    if (block.id == 0)
        BG__TRY(bg__pointer_find(&t->driver, --inside, &block));
    if (block.id == 0)
        return BG_OK;
    BG__TRY(bg__memory_kind_of(inside, t->device, &kind));
    t->elsewhere |= kind == BG__MEMORY_ELSEWHERE;
    if (kind != BG__MEMORY_HERE && kind != BG__MEMORY_HOST)
        return BG_OK;
    BG__TRY(widen_block(t, inside, &block));
    piece.block = block.base;
    piece.block_end = block.base + block.bytes;
    bg__block_narrow_range(inside, &piece.block, &piece.block_end);
    bg__node_pointer_text(held, piece.held, sizeof piece.held);
    piece.elements = bg__elements_parse(kernel->name, held->alone ? held->parameter : -1, kernel->parameter_count);
    BG__TRY(BG__ARRAY_GROW(t->found.list, t->found.count, t->found.capacity, "pointers of a node"));
    t->found.list[t->found.count++] = piece;
done:
    return status;
}

static int compare_pieces(const void *a, const void *b)
{
    const bg__piece *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Two parameters have the same pointer. If only one of them points to floats, the type is unknown. */
static void merge_elements(bg__elements *one, const bg__elements *other)
{
    bool read_only = one->read_only && other->read_only;
    if (one->source == BG__ELEMENTS_OTHER || other->source == BG__ELEMENTS_OTHER)
        one->source = BG__ELEMENTS_OTHER;
    else if (other->source == BG__ELEMENTS_CERTAIN)
        *one = *other;
    one->read_only = read_only;
}

/* Joins blocks that overlap: widen may give several pointers parts of the same mappings. */
static void join_blocks(bg__pieces *found)
{
    size_t first = 0;
    for (size_t i = 1; i < found->count; i++) {
        bg__piece *piece = &found->list[i];
        uintptr_t end = found->list[first].block_end;
        if (piece->block >= end) {
            first = i;
            continue;
        }
        piece->block = found->list[first].block;
        piece->block_end = piece->block_end > end ? piece->block_end : end;
        for (size_t k = first; k < i; k++)
            found->list[k].block_end = piece->block_end;
    }
}

/* ---- pieces ---- */

static bg_status add_piece(bg__pieces *pieces, bg__piece piece, uintptr_t begin, uintptr_t end)
{
    bg_status status = BG_OK;
    piece.begin = begin / WORD * WORD;
    piece.end = end;
    if (piece.begin >= piece.end)
        return BG_OK;
    BG__TRY(BG__ARRAY_GROW(pieces->list, pieces->count, pieces->capacity, "memory of a node"));
    pieces->list[pieces->count++] = piece;
done:
    return status;
}

static bg_status cut_blocks(bg__pieces *pieces, const piece_collector *t)
{
    const bg__pieces *found = &t->found;
    bg_status status = BG_OK;

    for (size_t i = 0; i < found->count; i++) {
        bg__piece piece = found->list[i];
        const bg__piece *next = i + 1 < found->count ? &found->list[i + 1] : NULL;
        uintptr_t end = next != NULL && next->block == piece.block ? next->begin / WORD * WORD : piece.block_end;
        if (i == 0 || found->list[i - 1].block != piece.block) {
            bg__piece front = {.block = piece.block, .block_end = piece.block_end};
            front.elements = bg__elements_parse(t->node->kernel->name, -1, t->node->kernel->parameter_count);
            BG__TRY(add_piece(pieces, front, piece.block, piece.begin / WORD * WORD));
        }
        if (next != NULL && next->begin == piece.begin) { /* the next one has the same pointer, and gets the piece */
            merge_elements(&found->list[i + 1].elements, &piece.elements);
            continue;
        }
        BG__TRY(add_piece(pieces, piece, piece.begin, end));
    }
done:
    return status;
}

bg_status bg__pieces_collect(bg__pieces *pieces, const bg__node *node)
{
    bool elsewhere;
    return bg__pieces_collect_here(pieces, node, &elsewhere);
}

bg_status bg__pieces_collect_here(bg__pieces *pieces, const bg__node *node, bool *elsewhere)
{
    piece_collector t = {.node = node};
    bg_status status;

    pieces->count = 0;
    BG__TRY(bg__allocations_init(&t.driver));
    BG__TRY(bg__driver_get_entry_point("cuMemGetAddressRange", 3020, (void *)&t.range));
    BG__TRY_CUDA(cudaGetDevice(&t.device));
    BG__TRY(bg__node_visit_pointers(node, add_pointer, &t));
    if (t.found.count > 0)
        qsort(t.found.list, t.found.count, sizeof *t.found.list, compare_pieces);
    join_blocks(&t.found);
    BG__TRY(cut_blocks(pieces, &t));
done:
    *elsewhere = t.elsewhere;
    free(t.found.list);
    return status;
}

void bg__pieces_free(bg__pieces *pieces)
{
    free(pieces->list);
    *pieces = (bg__pieces){NULL, 0, 0};
}
