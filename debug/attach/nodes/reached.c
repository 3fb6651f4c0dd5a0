#include "reached.h"

#include <string.h>

#include "debug/attach/memory/blocks.h"
#include "debug/memory/pointers.h"
#include "node_pieces.h"

enum {
    WORD = 8,
    LIST_MAX = 1 << 16,  /* bytes of a block that may be a list of pointers */
    ASKED_MAX = 1 << 17, /* words of all lists that the driver is asked about: 0.3 us each on an H200 */
};

static bg_status add_end(bg__spans *reach, const bg__end *end, int device)
{
    uintptr_t begin = (uintptr_t)end->address;
    bool reached;
    bg_status status = BG_OK;

    if (end->bytes == 0)
        return BG_OK;
    BG__TRY(bg__memory_is_reached(begin, device, &reached));
    if (reached)
        BG__TRY(bg__spans_add(reach, begin / WORD * WORD, begin + end->bytes));
done:
    return status;
}

static bg_status add_kernel(bg__spans *reach, const bg__node *node)
{
    bg__pieces pieces = {NULL, 0, 0};
    bg_status status;

    BG__TRY(bg__pieces_take(&pieces, node));
    for (size_t i = 0; i < pieces.count; i++)
        BG__TRY(bg__spans_add(reach, pieces.list[i].block / WORD * WORD, pieces.list[i].block_end));
done:
    bg__pieces_free(&pieces);
    return status;
}

bg_status bg__reached_add(bg__spans *reach, const bg__node *node)
{
    bg__end end;
    int device;
    bg_status status = BG_OK;

    if (node->type == cudaGraphNodeTypeKernel)
        return add_kernel(reach, node);
    BG__TRY_CUDA(cudaGetDevice(&device));
    if (node->type == cudaGraphNodeTypeMemset && bg__fill_end(node, &end))
        BG__TRY(add_end(reach, &end, device));
    if (node->type != cudaGraphNodeTypeMemcpy)
        goto done;
    for (bg__end_kind which = BG__SOURCE; which <= BG__DESTINATION; which++)
        if (bg__copy_end(node, which, &end))
            BG__TRY(add_end(reach, &end, device));
done:
    return status;
}

/* ---- lists of pointers ---- */

typedef struct lists {
    bg__spans *reach;
    bg__allocations driver; /* to ask with; it holds nothing */
    int device;
    size_t asked;
} lists;

static bg_status add_listed(lists *l, uint64_t word)
{
    bg__allocation block;
    uintptr_t begin, end;
    bool reached;
    bg_status status = BG_OK;

    if (!bg__pointer_may_be(word) || bg__spans_overlap(l->reach, word, word + 1) || l->asked++ >= ASKED_MAX)
        return BG_OK;
    BG__TRY(bg__pointer_find(&l->driver, word, &block));
    if (block.id == 0)
        return BG_OK;
    BG__TRY(bg__memory_is_reached(word, l->device, &reached));
    if (!reached)
        return BG_OK;
    begin = block.base;
    end = block.base + block.bytes;
    bg__block_narrow(word, &begin, &end);
    BG__TRY(bg__spans_add(l->reach, begin / WORD * WORD, end));
done:
    return status;
}

static bg_status follow(lists *l, const bg__span *span, cudaStream_t stream)
{
    uint64_t words[LIST_MAX / WORD];
    size_t count = (span->end - span->begin) / WORD;
    bg_status status = BG_OK;

    if (count == 0 || count > LIST_MAX / WORD)
        return BG_OK;
    BG__TRY_CUDA(cudaMemcpyAsync(words, (const void *)span->begin, count * WORD, cudaMemcpyDefault, stream));
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
    for (size_t i = 0; i < count; i++)
        BG__TRY(add_listed(l, words[i]));
done:
    return status;
}

bg_status bg__reached_take(bg__spans *reach, const bg__nodes *nodes, cudaStream_t stream)
{
    lists l = {.reach = reach};
    bg__spans direct = {0};
    bg_status status = BG_OK;

    for (size_t i = 0; i < nodes->count; i++)
        BG__TRY(bg__reached_add(reach, &nodes->node[i]));
    BG__TRY(bg__allocations_init(&l.driver));
    BG__TRY_CUDA(cudaGetDevice(&l.device));
    BG__TRY(bg__spans_add_all(&direct, reach));
    for (size_t i = 0; i < direct.count; i++)
        BG__TRY(follow(&l, &direct.list[i], stream));
done:
    bg__spans_free(&direct);
    return status;
}
