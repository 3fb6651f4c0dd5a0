#include "node_dump.h"

#include <stdio.h>
#include <stdlib.h>

/* A run of changed bytes ends before GAP unchanged bytes. If a node has more than RUNS_MAX runs, the gap grows. */
enum { GAP_MIN = 64, RUNS_MAX = 64 };
static const size_t PIECE_BYTES_MAX = (size_t)1 << 28; /* bytes of a piece */

typedef struct compared_bytes {
    unsigned char *now, *before; /* host memory */
    size_t offset, bytes;        /* in the piece */
} compared_bytes;

static void free_bytes(compared_bytes *bytes)
{
    free(bytes->now);
    free(bytes->before);
}

static bg_status copy_to_host(unsigned char **host, const void *from, size_t bytes, cudaStream_t stream)
{
    bg_status status = BG_OK;
    *host = malloc(bytes);
    if (*host == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a dump of %zu bytes", bytes);
    BG__TRY_CUDA(cudaMemcpyAsync(*host, from, bytes, cudaMemcpyDefault, stream));
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
done:
    return status;
}

/* Finds the next run at or after *from: [*from, *to). Returns false if there is none. */
static bool find_next_run(const compared_bytes *b, size_t gap, size_t *from, size_t *to)
{
    size_t at = *from;
    while (at < b->bytes && b->now[at] == b->before[at])
        at++;
    *from = at;
    for (*to = at; at < b->bytes && at - *to <= gap; at++)
        if (b->now[at] != b->before[at])
            *to = at + 1;
    return *from < *to;
}

static size_t choose_gap(const compared_bytes *b)
{
    for (size_t gap = GAP_MIN;; gap *= 4) {
        size_t runs = 0;
        for (size_t from = 0, to; runs <= RUNS_MAX && find_next_run(b, gap, &from, &to); from = to)
            runs++;
        if (runs <= RUNS_MAX)
            return gap;
    }
}

static bg_status dump_runs(bg__dump *dump, const bg__call *call, const bg__piece *piece, const compared_bytes *b,
                           bg_dtype dtype)
{
    /* Dumps whole elements. If the type is unknown, an element has 8 bytes. */
    size_t element = dtype == BG_U8 ? sizeof(uint64_t) : bg_dtype_bytes(dtype), gap = choose_gap(b);
    bg_status status = BG_OK;

    for (size_t from = 0, to; find_next_run(b, gap, &from, &to); from = to) {
        bg__dump_range range = {.held = piece->held, .block = piece->block, .dtype = dtype};
        size_t begin = from / element * element, end = (to + element - 1) / element * element;
        if (end > b->bytes) { /* the piece does not end with an element */
            range.dtype = BG_U8;
            end = b->bytes;
        }
        range.address = piece->begin + b->offset + begin;
        range.data = b->now + begin;
        range.bytes = end - begin;
        range.block_bytes = piece->block_end - piece->block;
        BG__TRY(bg__dump_write_range(dump, call, &range));
        to = end;
    }
done:
    return status;
}

static bg_status dump_piece(bg__dump *dump, const bg__call *call, const bg__piece *piece, const bg__piece_copy *copy,
                            cudaStream_t stream)
{
    size_t first = (size_t)copy->changes.first, end = (size_t)copy->changes.end;
    compared_bytes b = {.offset = first, .bytes = end - first};
    bg_status status;

    BG__TRY(copy_to_host(&b.now, (const void *)(piece->begin + first), b.bytes, stream));
    BG__TRY(copy_to_host(&b.before, copy->data + first, b.bytes, stream));
    BG__TRY(dump_runs(dump, call, piece, &b, bg__elements_dtype(&piece->elements, &copy->changes)));
done:
    free_bytes(&b);
    return status;
}

/* Dumps the destination of a copy or memset node. */
static bg_status dump_destination(bg__dump *dump, const bg__node *node, const bg__node_range *end, cudaStream_t stream)
{
    bg__dump_range range = {.address = (uintptr_t)end->address,
                            .bytes = end->bytes,
                            .dtype = BG_U8,
                            .held = "the node's destination",
                            .block = (uintptr_t)end->address,
                            .block_bytes = end->bytes};
    unsigned char *now = NULL;
    bg_status status;

    BG__TRY(copy_to_host(&now, end->address, end->bytes, stream));
    range.data = now;
    BG__TRY(bg__dump_write_range(dump, node->call, &range));
done:
    free(now);
    return status;
}

static const char *incomplete_reason(const bg__node *node, const bg__pieces *pieces, const bg__piece_copy *copies,
                                     const bg__node_range *end)
{
    bool large = end->bytes > PIECE_BYTES_MAX;
    for (size_t i = 0; copies != NULL && i < pieces->count; i++)
        large |= !copies[i].there ||
                 (copies[i].changes.end > 0 && copies[i].changes.end - copies[i].changes.first > PIECE_BYTES_MAX);
    if (large)
        return "some of the memory that it may write is too large to be dumped";
    if (node->type == cudaGraphNodeTypeKernel && copies == NULL)
        return "it points to no memory of the device";
    return NULL;
}

bg_status bg__node_dump(bg__dump *dump, const bg__node *node, const char *text, const bg__pieces *pieces,
                        const bg__piece_copy *copies, cudaStream_t stream)
{
    const char *kernel = node->kernel != NULL && node->kernel->name != NULL ? node->kernel->name : bg__node_kind(node);
    bg__node_range end = {NULL, 0};
    bool writes = bg__memcpy_node_range(node, BG__DESTINATION, &end) || bg__memset_node_range(node, &end);
    bg_status status;

    BG__TRY(bg__dump_begin_node(dump, node->call, kernel, text, incomplete_reason(node, pieces, copies, &end)));
    if (writes && end.bytes > 0 && end.bytes <= PIECE_BYTES_MAX)
        BG__TRY(dump_destination(dump, node, &end, stream));
    for (size_t i = 0; copies != NULL && i < pieces->count; i++) {
        const bgk_changes *changes = &copies[i].changes;
        if (copies[i].there && changes->end > 0 && changes->end - changes->first <= PIECE_BYTES_MAX)
            BG__TRY(dump_piece(dump, node->call, &pieces->list[i], &copies[i], stream));
    }
done:
    return status;
}
