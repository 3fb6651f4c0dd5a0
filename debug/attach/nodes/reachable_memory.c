#include "reachable_memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "debug/attach/memory/blocks.h"
#include "debug/memory/allocate.h"
#include "debug/memory/pointers.h"
#include "node_calls.h"
#include "node_pieces.h"

enum {
    WORD = 8,
    LIST_MAX = 1 << 16,    /* the most bytes of a block that is read as a list of pointers */
    QUERIES_MAX = 1 << 17, /* the most words that are looked up in the driver: 0.3 us each on an H200 */
};

typedef struct reach_collector {
    bg__reachable *reached;
    bg__allocations driver; /* for queries; it is empty */
    int device;
    uint64_t *words; /* of one list: too many for the stack of a program's thread */
    size_t queried;
} reach_collector;

static bg_status init_collector(reach_collector *r)
{
    bg_status status;
    BG__TRY(bg__allocations_init(&r->driver));
    BG__TRY_CUDA(cudaGetDevice(&r->device));
done:
    return status;
}

static void set_obstacle(reach_collector *r, const char *text)
{
    if (r->reached->obstacle[0] == '\0')
        snprintf(r->reached->obstacle, sizeof r->reached->obstacle, "%s", text);
}

static const char other_device_obstacle[] = "it accesses memory of another device, which cannot be restored";

static bg_status add_block(bg__spans *spans, uintptr_t address, const bg__allocation *block)
{
    uintptr_t first = block->base, last = block->base + block->bytes;
    bg__block_narrow_range(address, &first, &last);
    return bg__spans_add(spans, first / WORD * WORD, last);
}

/* ---- copies and memsets ---- */

/* Digests need whole words. The word before the first byte of registered memory may not be accessible. */
static bg_status check_alignment(reach_collector *r, uintptr_t address)
{
    bg__allocation block;
    bg_status status = BG_OK;

    if (address % WORD == 0)
        return BG_OK;
    BG__TRY(bg__pointer_find(&r->driver, address / WORD * WORD, &block));
    if (block.id == 0)
        set_obstacle(r, "it copies from or to registered host memory that does not begin at a multiple of 8 bytes");
done:
    return status;
}

static bg_status add_range(reach_collector *r, const bg__node_range *end, bool written)
{
    uintptr_t address = (uintptr_t)end->address;
    bg__memory_kind kind;
    bg_status status = BG_OK;

    if (end->bytes == 0)
        return BG_OK;
    BG__TRY(bg__memory_kind_of(address, r->device, &kind));
    if (kind == BG__MEMORY_ELSEWHERE && written)
        set_obstacle(r, other_device_obstacle);
    if (kind != BG__MEMORY_HERE && kind != BG__MEMORY_HOST)
        return BG_OK;
    BG__TRY(check_alignment(r, address));
    BG__TRY(bg__spans_add(&r->reached->memory, address / WORD * WORD, address + end->bytes));
done:
    return status;
}

/* ---- kernels ---- */

/* A kernel may count down from the end of a block, which may be the begin of the next one. */
static bg_status add_preceding_block(reach_collector *r, const bg__piece *piece)
{
    const uintptr_t inside = piece->block - 1;
    uintptr_t first, last;
    bg__allocation block;
    bg__memory_kind kind;
    bg_status status = BG_OK;

    if (piece->pointer != piece->block)
        return BG_OK;
    BG__TRY(bg__pointer_find(&r->driver, inside, &block));
    if (block.id == 0)
        return BG_OK;
    BG__TRY(bg__memory_kind_of(inside, r->device, &kind));
    first = block.base;
    last = block.base + block.bytes;
    bg__block_narrow_range(inside, &first, &last);
    if ((kind == BG__MEMORY_HERE || kind == BG__MEMORY_HOST) && last <= piece->block) /* else it is a gap in a pool */
        BG__TRY(bg__spans_add(&r->reached->before, first / WORD * WORD, last));
done:
    return status;
}

/* A kernel whose parameters are unknown may change variables of its module. A kernel whose parameters have no pointer
 * may do this, too, but most such kernels do not. */
static void check_parameters_known(reach_collector *r, const bg__node *node)
{
    const bg__kernel *kernel = node->kernel;
    bg__parameter parameter;
    const char *first = "";
    size_t bytes = kernel->name != NULL ? bg__kernel_short_name(kernel->name, &first) : 0;
    char text[sizeof r->reached->obstacle];

    if (bg__node_parameter(node, 0, &parameter))
        return;
    snprintf(text, sizeof text,
             "its kernel %.*s has no known parameters: what it changes, such as variables of its module, would not "
             "be restored",
             bytes < 40 ? (int)bytes : 40, first);
    set_obstacle(r, text);
}

static bg_status add_kernel(reach_collector *r, const bg__node *node)
{
    bg__pieces pieces = {NULL, 0, 0};
    bg__memory_kind kind;
    bool elsewhere;
    bg_status status;

    BG__TRY(bg__pieces_collect_here(&pieces, node, &elsewhere));
    if (elsewhere)
        set_obstacle(r, other_device_obstacle);
    check_parameters_known(r, node);
    for (size_t i = 0; i < pieces.count; i++) {
        const bg__piece *piece = &pieces.list[i];
        BG__TRY(bg__memory_kind_of(piece->block, r->device, &kind));
        BG__TRY(bg__spans_add(kind == BG__MEMORY_HOST ? &r->reached->host : &r->reached->memory,
                              piece->block / WORD * WORD, piece->block_end));
        BG__TRY(add_preceding_block(r, piece));
    }
done:
    bg__pieces_free(&pieces);
    return status;
}

static bg_status add_node(reach_collector *r, const bg__node *node)
{
    bg__node_range end;
    bg_status status = BG_OK;

    if (node->type == cudaGraphNodeTypeKernel)
        return add_kernel(r, node);
    if (node->type == cudaGraphNodeTypeMemset && bg__memset_node_range(node, &end))
        return add_range(r, &end, true);
    if (node->type != cudaGraphNodeTypeMemcpy)
        return BG_OK;
    for (bg__copy_side which = BG__SOURCE; which <= BG__DESTINATION; which++)
        if (bg__memcpy_node_range(node, which, &end))
            BG__TRY(add_range(r, &end, which == BG__DESTINATION));
done:
    return status;
}

bg_status bg__reachable_add_node(bg__spans *memory, const bg__node *node)
{
    bg__reachable reached = {0};
    reach_collector r = {.reached = &reached};
    bg_status status;

    BG__TRY(init_collector(&r));
    BG__TRY(add_node(&r, node));
    BG__TRY(bg__spans_add_all(memory, &reached.memory));
done:
    bg__reachable_free(&reached);
    return status;
}

/* ---- lists of pointers ---- */

static bool is_reached(const bg__reachable *reached, uintptr_t address)
{
    return bg__spans_overlap(&reached->memory, address, address + 1) ||
           bg__spans_overlap(&reached->host, address, address + 1);
}

static bg_status add_listed_pointer(reach_collector *r, uint64_t word)
{
    bg__allocation block;
    bg__memory_kind kind;
    bg_status status = BG_OK;

    if (!bg__pointer_may_be(word) || is_reached(r->reached, word) || r->queried++ >= QUERIES_MAX)
        return BG_OK;
    BG__TRY(bg__pointer_find(&r->driver, word, &block));
    if (block.id == 0)
        return BG_OK;
    BG__TRY(bg__memory_kind_of(word, r->device, &kind));
    if (kind == BG__MEMORY_ELSEWHERE)
        set_obstacle(r, other_device_obstacle);
    else if (kind != BG__MEMORY_NONE)
        BG__TRY(add_block(kind == BG__MEMORY_HOST ? &r->reached->host : &r->reached->memory, word, &block));
done:
    return status;
}

static bg_status add_list(reach_collector *r, const bg__span *span, cudaStream_t stream)
{
    size_t count = (span->end - span->begin) / WORD;
    bg_status status = BG_OK;

    if (count == 0 || count > LIST_MAX / WORD)
        return BG_OK;
    BG__TRY_CUDA(cudaMemcpyAsync(r->words, (const void *)span->begin, count * WORD, cudaMemcpyDefault, stream));
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
    for (size_t i = 0; i < count; i++)
        BG__TRY(add_listed_pointer(r, r->words[i]));
done:
    return status;
}

static bg_status add_all_lists(reach_collector *r, cudaStream_t stream)
{
    bg__spans direct = {0};
    bg_status status;

    BG__TRY(BG__ALLOCATE(r->words, LIST_MAX / WORD, "pointers in memory"));
    BG__TRY(bg__spans_add_all(&direct, &r->reached->memory));
    BG__TRY(bg__spans_add_all(&direct, &r->reached->host));
    for (size_t i = 0; i < direct.count; i++)
        BG__TRY(add_list(r, &direct.list[i], stream));
done:
    bg__spans_free(&direct);
    free(r->words);
    return status;
}

bg_status bg__reachable_collect(bg__reachable *reached, const bg__nodes *nodes, cudaStream_t stream)
{
    reach_collector r = {.reached = reached};
    bg_status status;

    BG__TRY(init_collector(&r));
    for (size_t i = 0; i < nodes->count; i++)
        BG__TRY(add_node(&r, &nodes->node[i]));
    BG__TRY(add_all_lists(&r, stream));
done:
    return status;
}

void bg__reachable_free(bg__reachable *reached)
{
    bg__spans_free(&reached->memory);
    bg__spans_free(&reached->host);
    bg__spans_free(&reached->before);
}
