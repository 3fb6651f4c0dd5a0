#include "node_memory.h"
#include "node_dump.h"
#include "node_pieces.h"
#include "slow_node.h"

#include <stdlib.h>

#include "debug/hooks/step_replays.h"
#include "debug/step/step.h"

/* The most bytes that are copied for a node. At most half of the free memory is used, too. */
#define COPIED_MAX ((size_t)4 << 30)
static const size_t aligned = 256;

typedef enum special { NOT_A_NUMBER, INFINITE, SPECIALS } special;

typedef struct memory_check {
    const bg_graph *graph;   /* its name may change */
    bool reported[SPECIALS]; /* the first node that wrote them is reported */
    bool reported_input;     /* a finding names a node whose memory had NaN before the node ran */
    bool broken;             /* a CUDA call of this check has failed: no more checks, no more dumps */

    bg__slow_node slow;

    /* The node that runs. */
    bg__pieces pieces;
    bg__piece_copy *copies; /* one for each piece */
    size_t copies_capacity;
    bool is_copied;

    /* Device memory: a result for each piece, then the copies. */
    char *room;
    size_t room_bytes;
} memory_check;

static void *result_at(const memory_check *w, size_t index)
{
    return w->room + index * sizeof(bgk_changes);
}

static size_t round_up(size_t bytes)
{
    return (bytes + aligned - 1) / aligned * aligned;
}

/* ---- before a node ---- */

static void report_uncopied(bg_report *report, const bg__piece *piece)
{
    bg__report_add(
        report, "not-counted", BG_NOTE, NULL, (const void *)piece->block,
        "step fewer graphs (--graphs), or free device memory",
        "the block of %zu bytes at %p is too large to be copied before each node that may write it (the limit "
        "is %zu bytes for a node, or half of the free memory if that is less): NaN that a node writes there is not found",
        piece->block_end - piece->block, (const void *)piece->block, COPIED_MAX);
}

static bg_status find_copy_limit(const memory_check *w, size_t *limit)
{
    size_t free_bytes, total;
    bg_status status = BG_OK;
    BG__TRY_CUDA(cudaMemGetInfo(&free_bytes, &total));
    *limit = (free_bytes + w->room_bytes) / 2;
    *limit = *limit < COPIED_MAX ? *limit : COPIED_MAX;
done:
    return status;
}

/* Chooses the pieces to copy, and their offsets in the room. */
static bg_status choose_pieces(memory_check *w, bg_report *report, size_t *bytes)
{
    size_t limit = 0;
    bg_status status;

    *bytes = round_up(w->pieces.count * sizeof(bgk_changes));
    BG__TRY(find_copy_limit(w, &limit));
    BG__TRY(bg__array_grow(&w->copies, &w->copies_capacity, w->pieces.count, sizeof *w->copies, "copies of memory"));
    for (size_t i = 0; i < w->pieces.count; i++) {
        const bg__piece *piece = &w->pieces.list[i];
        size_t size = piece->end - piece->begin;
        w->copies[i] = (bg__piece_copy){.there = size <= limit && *bytes <= limit - size, .offset = *bytes};
        if (w->copies[i].there)
            *bytes += round_up(size);
        else
            report_uncopied(report, piece);
    }
done:
    return status;
}

static bg_status grow_room(memory_check *w, size_t bytes)
{
    bg_status status = BG_OK;
    if (w->room_bytes >= bytes)
        return BG_OK;
    bg__device_free(w->room);
    w->room = NULL;
    w->room_bytes = 0;
    BG__TRY(bg__device_alloc(bytes, (void **)&w->room));
    w->room_bytes = bytes;
done:
    return status;
}

static bg_status copy_pieces(memory_check *w, const bg__node *node, bg_report *report, cudaStream_t stream)
{
    size_t bytes;
    bg_status status;

    BG__TRY(bg__pieces_collect(&w->pieces, node));
    if (w->pieces.count == 0)
        return BG_OK;
    BG__TRY(choose_pieces(w, report, &bytes));
    BG__TRY(grow_room(w, bytes));
    for (size_t i = 0; i < w->pieces.count; i++) {
        const bg__piece *piece = &w->pieces.list[i];
        w->copies[i].data = w->room + w->copies[i].offset;
        if (w->copies[i].there)
            BG__TRY_CUDA(cudaMemcpyAsync(w->copies[i].data, (const void *)piece->begin, piece->end - piece->begin,
                                         cudaMemcpyDefault, stream));
    }
    w->is_copied = true;
done:
    return status;
}

/* ---- after a node ---- */

static bg_status count_changes(memory_check *w, cudaStream_t stream)
{
    const bgk_changes none = bgk_changes_none();
    bg_status status = BG_OK;

    for (size_t i = 0; i < w->pieces.count; i++) {
        const bg__piece *piece = &w->pieces.list[i];
        if (!w->copies[i].there)
            continue;
        BG__TRY_CUDA(cudaMemcpyAsync(result_at(w, i), &none, sizeof none, cudaMemcpyHostToDevice, stream));
        BG__TRY_CUDA(bgk_count_changes(result_at(w, i), (const void *)piece->begin, w->copies[i].data,
                                       piece->end - piece->begin, stream));
        BG__TRY_CUDA(
            cudaMemcpyAsync(&w->copies[i].changes, result_at(w, i), sizeof none, cudaMemcpyDeviceToHost, stream));
    }
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
done:
    return status;
}

/* The first NaN or infinity in the node's memory before it ran; in memory that was not copied, after it ran. */
typedef struct found {
    const bg__piece *piece; /* NULL: none */
    uintptr_t address;
} found;

static bg_status find_special_before(const memory_check *w, size_t index, special which, found *held,
                                     cudaStream_t stream)
{
    const bg__piece *piece = &w->pieces.list[index];
    const void *from = w->copies[index].there ? w->copies[index].data : (const void *)piece->begin;
    unsigned known = piece->elements.source == BG__ELEMENTS_UNKNOWN ? 0 : piece->elements.formats;
    bgk_suspects all = bgk_suspects_none();
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaMemcpyAsync(result_at(w, index), &all, sizeof all, cudaMemcpyHostToDevice, stream));
    BG__TRY_CUDA(bgk_find_suspects(result_at(w, index), from, piece->end - piece->begin, known, stream));
    BG__TRY_CUDA(cudaMemcpyAsync(&all, result_at(w, index), sizeof all, cudaMemcpyDeviceToHost, stream));
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
    for (int f = 0; f < BGK_FLOATS && held->piece == NULL; f++) {
        if ((piece->elements.formats & 1u << f) == 0 || (which == INFINITE ? all.inf[f] : all.nan[f]) == 0)
            continue;
        held->piece = piece;
        held->address =
            piece->begin + (which == INFINITE ? all.first_inf[f] : all.first_nan[f]) * bg__float_bytes((bgk_float)f);
    }
done:
    return status;
}

/* Looks for NaN of that format in the node's input. Any NaN there acquits the node, whatever bytes are around it, since
 * garbage makes a sum NaN, too. Formats of 16 bits are skipped: many integers, and halves of other numbers, look like
 * NaN there. */
static bg_status find_nan_before(const memory_check *w, size_t index, bgk_float format, found *held,
                                 cudaStream_t stream)
{
    const bg__piece *piece = &w->pieces.list[index];
    const void *from = w->copies[index].there ? w->copies[index].data : (const void *)piece->begin;
    bgk_specials counts = BGK_SPECIALS_NONE;
    size_t bytes = bg__float_bytes(format);
    bg_status status = BG_OK;

    if (bytes == 2 || (piece->elements.formats & 1u << format) == 0 || piece->end - piece->begin < bytes)
        return BG_OK;
    BG__TRY_CUDA(cudaMemcpyAsync(result_at(w, index), &counts, sizeof counts, cudaMemcpyHostToDevice, stream));
    BG__TRY_CUDA(bgk_count_specials(result_at(w, index), from, (piece->end - piece->begin) / bytes, format, stream));
    BG__TRY_CUDA(cudaMemcpyAsync(&counts, result_at(w, index), sizeof counts, cudaMemcpyDeviceToHost, stream));
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
    if (counts.nan > 0)
        *held = (found){piece, piece->begin + counts.first_nan * bytes};
done:
    return status;
}

/* written: index of the piece in which the node wrote the NaN or infinity. find_nan_before skips this piece, since a
 * node mostly overwrites it without reading it. */
static bg_status find_special_input(const memory_check *w, special which, size_t written, bgk_float format, found *held,
                                    cudaStream_t stream)
{
    bg_status status = BG_OK;
    held->piece = NULL;
    for (size_t i = 0; i < w->pieces.count && held->piece == NULL; i++) {
        if (w->pieces.list[i].elements.source == BG__ELEMENTS_OTHER)
            continue;
        BG__TRY(find_special_before(w, i, which, held, stream));
        if (held->piece == NULL && which == NOT_A_NUMBER && i != written)
            BG__TRY(find_nan_before(w, i, format, held, stream));
    }
done:
    return status;
}

/* ---- findings ---- */

/* "kernel parameter 2 is 0x7f..., in a block of 4096 bytes at 0x7f..." */
static const char *place_text(const bg__piece *piece, char *text, size_t bytes)
{
    size_t size = piece->block_end - piece->block;
    if (piece->pointer != 0)
        snprintf(text, bytes, "%s is %p, in a block of %zu bytes at %p", piece->held, (const void *)piece->pointer,
                 size, (const void *)piece->block);
    else
        snprintf(text, bytes, "in the block of %zu bytes at %p, before the kernel's pointers into it", size,
                 (const void *)piece->block);
    return text;
}

/* A node that has run, for its findings. */
typedef struct run {
    const bg__node *node;
    const char *text;
    bg_report *report;
    cudaStream_t stream;
} run;

static void report_origin(const run *r, const bg__piece *piece, const bgk_words *words, bgk_float format, special which)
{
    bool inf = which == INFINITE;
    unsigned long long first, nan = bg__elements_nan(&piece->elements, words, &first);
    uintptr_t address = piece->begin + (inf ? words->first_inf : first) * bg__float_bytes(format);
    bg__step_kernel kernel;
    char place[300], launch[1200];

    bg__step_kernel_read(r->node, &kernel);
    bg__report_add(
        r->report, inf ? "inf-origin" : "nan-origin", inf ? BG_NOTE : BG_WARNING, r->node->call, (const void *)address,
        inf ? "ignore it for a mask of -inf; else look at what the node computes"
            : "dump what the nodes write (--dump=DIR), and look at what this one computes",
        "%s wrote %llu %s of type %s, the first at %p (%s); the memory that its parameters point to held none "
        "before%s",
        r->text, inf ? words->inf : nan, inf ? "infinities" : "NaN", bg__elements_text(&piece->elements, format),
        (const void *)address, place_text(piece, place, sizeof place),
        bg__step_kernel_text(&kernel, launch, sizeof launch));
}

static void report_input(const run *r, const bg__piece *piece, const bgk_words *words, bgk_float format,
                         const found *held)
{
    char place[300];
    unsigned long long first;
    bg__report_add(r->report, "nan-input", BG_NOTE, r->node->call, (const void *)held->address,
                   "look at what the program puts there before the launch",
                   "%s is the first node that wrote NaN, %llu of type %s, but the memory that its parameters point "
                   "to held NaN before it ran: at %p (%s)",
                   r->text, bg__elements_nan(&piece->elements, words, &first),
                   bg__elements_text(&piece->elements, format), (const void *)held->address,
                   place_text(held->piece, place, sizeof place));
}

/* The first piece in which the node wrote such numbers decides: those in other pieces come from this node, too. */
static bg_status report_first_special(memory_check *w, const run *r, special which)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < w->pieces.count && !w->reported[which]; i++) {
        const bg__piece *piece = &w->pieces.list[i];
        const bg__piece_copy *copy = &w->copies[i];
        bgk_float format;
        found held;
        if (!copy->there || copy->changes.end == 0 ||
            !bg__elements_find(&piece->elements, &copy->changes, which == NOT_A_NUMBER, &format))
            continue;
        BG__TRY(find_special_input(w, which, i, format, &held, r->stream));
        if (held.piece == NULL) {
            report_origin(r, piece, &copy->changes.words[format], format, which);
            w->reported[which] = true;
        } else if (which == NOT_A_NUMBER && !w->reported_input) {
            report_input(r, piece, &copy->changes.words[format], format, &held);
            w->reported_input = true;
        }
        break;
    }
done:
    return status;
}

static bg_status check_node(memory_check *w, const run *r)
{
    bg_status status = BG_OK;

    if (w->is_copied) {
        BG__TRY(count_changes(w, r->stream));
        for (special which = NOT_A_NUMBER; which < SPECIALS; which++)
            BG__TRY(report_first_special(w, r, which));
    }
done:
    return status;
}

static void write_dump(const memory_check *w, const run *r, bg__dump *dump)
{
    const char *why = "an earlier error has ended the checks of its memory";
    if (!w->broken) {
        if (bg__node_dump(dump, r->node, r->text, &w->pieces, w->is_copied ? w->copies : NULL, r->stream) == BG_OK)
            return;
        why = bg_last_error();
    }
    bg__dump_give_up(dump);
    bg__dump_report_missing(r->report, r->node->call, why);
}

/* ---- around each node ---- */

/* Ends the checks after an error. The program's launch goes on. */
static void stop_after_error(memory_check *w, const bg__node *node, bg_report *report, bg_status status)
{
    if (status == BG_OK)
        return;
    w->broken = true;
    bg__report_add(report, "not-counted", BG_NOTE, node->call, NULL,
                   "if memory is short, step fewer graphs (--graphs) or launches (--replays)",
                   "the memory that this node and all later nodes of %s write is not checked: %s",
                   bg__graph_name(w->graph), bg_last_error());
}

static void copy_memory(memory_check *w, const bg__node *node, bg_report *report, bool dumps, cudaStream_t stream)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg_status status;

    w->is_copied = false;
    w->pieces.count = 0;
    if (w->broken || node->type != cudaGraphNodeTypeKernel ||
        (w->reported[NOT_A_NUMBER] && w->reported[INFINITE] && !dumps))
        return;
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY(copy_pieces(w, node, report, stream));
done:
    bg__relaxed_mode_end(relaxed);
    stop_after_error(w, node, report, status);
}

static void before_node(void *user, const bg__node *node, bg_report *report, bool dumps, cudaStream_t stream)
{
    memory_check *w = user;
    copy_memory(w, node, report, dumps, stream);
    bg__slow_node_set_running(&w->slow, node);
}

static void after_node(void *user, const bg__node *node, const char *text, bg_report *report, bg__dump *dump,
                       cudaStream_t stream)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    const run r = {node, text, report, stream};
    memory_check *w = user;
    bg_status status;

    bg__slow_node_set_running(&w->slow, NULL);
    if (dump != NULL && bg__dump_is_given_up(dump))
        dump = NULL;
    if (w->broken && dump == NULL)
        return;
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    if (!w->broken)
        BG__TRY(check_node(w, &r));
done:
    if (!w->broken)
        stop_after_error(w, node, report, status);
    if (dump != NULL)
        write_dump(w, &r, dump);
    bg__relaxed_mode_end(relaxed);
}

/* Frees the room, so that the program has the memory between launches. */
static void release_between_launches(void *user)
{
    memory_check *w = user;
    bg__slow_node_stop(&w->slow);
    bg__device_free(w->room);
    w->room = NULL;
    w->room_bytes = 0;
}

static void free_memory_check(void *user)
{
    memory_check *w = user;
    release_between_launches(w);
    bg__slow_node_free(&w->slow);
    bg__pieces_free(&w->pieces);
    free(w->copies);
    free(w);
}

bg_status bg__node_memory_check_steps(bg_graph *graph)
{
    bg__node_observer watcher = {before_node, after_node, release_between_launches, free_memory_check, NULL};
    bg_status status;
    memory_check *w;

    if (!bg__stepping_is_on(graph))
        return BG_OK;
    w = calloc(1, sizeof *w);
    if (w == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the nodes of %s", bg__graph_name(graph));
    w->graph = graph;
    BG__TRY(bg__slow_node_create(&w->slow, graph));
    watcher.user = w;
    bg__stepping_set_observer(graph, &watcher);
    w = NULL;
done:
    free(w);
    return status;
}
