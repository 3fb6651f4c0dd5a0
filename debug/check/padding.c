/* BG_CHECK=padding. The padding rows of inputs get, one after the other, NaN, zeros and numbers from 1 to 2, those of
 * integers the first and the last row of the batch: rows that the pass takes, so that no index leaves its memory. Rows
 * of the batch, and what the pass keeps for later, such as caches, must be the same then. Left out is a slot that
 * padding rows own: one whose number an input has in its padding rows (BG_PAD_SENTINEL). */
#include "padding.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "poison.h"
#include "debug/graph/tools.h"
#include "debug/memory/allocate.h"
#include "debug/memory/results.h"
#include "debug/memory/tensors.h"

enum { SLOTS = 16 };

typedef struct padded_pass {
    const bg__padded *buffers;
    size_t count;
    int64_t rows, live;   /* that the pass computes, and those of the batch */
    bg__spans state;      /* what a call reads before any writes it */
    int64_t slots[SLOTS]; /* that padding rows own */
    int slot_count;
} padded_pass;

/* What is compared: an output that the pass leaves. */
typedef struct left {
    const bg__call *call;
    char name[96];
    bg_tensor compared;
    bg__poison_bytes bytes;
} left;

typedef struct leaving {
    left *list;
    size_t count, capacity;
} leaving;

static size_t row_bytes(const bg__padded *input)
{
    return input->tensor.dim[0] > 0 ? bg_tensor_bytes(&input->tensor) / (size_t)input->tensor.dim[0] : 0;
}

/* ---- what padding rows hold -------------------------------------------------------------------------------------- */

/* Whether its padding rows get other values: as integers they are taken from the batch. */
static bool is_varied(const bg__padded *buffer, bool integers)
{
    return buffer->input && !buffer->sentinel && bg__tensor_is_float(&buffer->tensor) != integers;
}

static bg_status fill_integers(const bg__poison *poison, bg__pattern pattern)
{
    const padded_pass *pass = poison->user;
    bg_status status = BG_OK;

    for (size_t i = 0; i < pass->count; i++) {
        const bg__padded *input = &pass->buffers[i];
        const size_t row = row_bytes(input);
        char *rows = input->tensor.data;
        const char *from = rows + (pattern == BG__ZEROS ? (size_t)(input->live - 1) * row : 0);
        for (int64_t k = input->live; is_varied(input, true) && k < input->tensor.dim[0]; k++)
            BG__TRY_CUDA(cudaMemcpyAsync(rows + (size_t)k * row, from, row, cudaMemcpyDefault, poison->stream));
    }
    BG__TRY(bg__wait_for_stream(poison->stream));
done:
    return status;
}

static bg_status find_poisoned(bg__spans *poisoned, const padded_pass *pass)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < pass->count; i++) {
        const bg__padded *input = &pass->buffers[i];
        const uintptr_t begin = (uintptr_t)input->tensor.data;
        if (is_varied(input, false))
            BG__TRY(bg__spans_add(poisoned, begin + (size_t)input->live * row_bytes(input),
                                  begin + bg_tensor_bytes(&input->tensor)));
    }
done:
    return status;
}

/* ---- slots that padding rows own --------------------------------------------------------------------------------- */

static bool read_integer(bg_dtype dtype, const void *bytes, int64_t *value)
{
    int32_t narrow;
    switch (dtype) {
    case BG_I32:
        memcpy(&narrow, bytes, sizeof narrow);
        *value = narrow;
        return true;
    case BG_I64: memcpy(value, bytes, sizeof *value); return true;
    default: return false;
    }
}

static bg_status find_slots(padded_pass *pass, cudaStream_t stream)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < pass->count && pass->slot_count < SLOTS; i++) {
        const bg__padded *input = &pass->buffers[i];
        const char *row = (const char *)input->tensor.data + (size_t)input->live * row_bytes(input);
        int64_t word = 0, slot = -1;
        if (!input->sentinel || bg__tensor_is_float(&input->tensor) ||
            bg_dtype_bytes(input->tensor.dtype) > sizeof word)
            continue;
        BG__TRY(bg__copy_and_wait(&word, row, bg_dtype_bytes(input->tensor.dtype), stream));
        if (read_integer(input->tensor.dtype, &word, &slot) && slot >= 0)
            pass->slots[pass->slot_count++] = slot;
    }
done:
    return status;
}

/* Slots may be counted in rows of the first dimension, or of the first ones taken together (blocks of slots). */
static bool is_owned(const padded_pass *pass, const bg_tensor *state, size_t element)
{
    size_t slot = bg_tensor_bytes(state) / bg_dtype_bytes(state->dtype);
    for (int d = 0; d < state->rank && state->dim[d] > 0; d++) {
        slot /= (size_t)state->dim[d];
        for (int i = 0; i < pass->slot_count && slot > 0; i++)
            if (element / slot == (size_t)pass->slots[i])
                return true;
    }
    return false;
}

/* ---- what must not depend on them ---------------------------------------------------------------------------------
 */

static bool overlaps_rows(const padded_pass *pass, const bg_tensor *tensor)
{
    for (size_t i = 0; i < pass->count; i++)
        if (bg__tensor_overlaps(&pass->buffers[i].tensor, tensor))
            return true;
    return false;
}

/* What earlier passes left, and later ones will read: no rows of the batch. */
static bool is_state(const padded_pass *pass, const bg_tensor *tensor)
{
    const uintptr_t begin = (uintptr_t)tensor->data, end = begin + bg_tensor_bytes(tensor);
    return bg__spans_overlap(&pass->state, begin, end) && !overlaps_rows(pass, tensor);
}

/* Of a tensor whose rows are in another dimension than the first, nobody knows which elements are padding. */
static bool judges(const bg__poison *poison, const bg__call *call, const bg__field_tensor *t, bg_tensor *compared)
{
    const padded_pass *pass = poison->user;

    *compared = *t->tensor;
    if (is_state(pass, t->tensor))
        return true;
    *compared = bg__tensor_of_batch(call, t->tensor);
    for (int d = 0; d < t->tensor->rank && compared->dim[0] == t->tensor->dim[0]; d++)
        if (t->tensor->dim[d] % pass->rows == 0)
            return false;
    return true;
}

/* The elements that differ between patterns, without those of slots that padding rows own. */
static size_t count_differing(const padded_pass *pass, const bg_tensor *compared, const bg__poison_bytes *bytes,
                              size_t *first)
{
    const bool state = is_state(pass, compared);
    size_t count = 0;

    for (size_t i = 0; i < bytes->bytes / bytes->element; i++) {
        if (!bg__poison_differs(bytes, i) || (state && is_owned(pass, compared, i)))
            continue;
        if (count++ == 0)
            *first = i;
    }
    return count;
}

static bool report_dependence(const bg__poison *poison, const bg__call *call, const char *name,
                              const bg_tensor *compared, const bg__poison_bytes *bytes)
{
    const padded_pass *pass = poison->user;
    size_t first = 0, differing = count_differing(pass, compared, bytes, &first),
           elements = bytes->bytes / bytes->element;
    size_t row = compared->dim[0] > 0 ? elements / (size_t)compared->dim[0] : 1;

    if (differing == 0)
        return false;
    bg__report_add(
        poison->report, "padding", BG_WARNING, call, (const void *)bytes->address,
        "let the op skip rows beyond the batch; to multiply by 0 does not, since 0 times NaN is NaN. Where ops look "
        "for what padding rows hold, declare that input with BG_PAD_SENTINEL",
        "%s%s%s depends on the padding rows of the batch, %lld to %lld of %lld: with other values in these, %zu of "
        "its %zu elements differ, the first in row %zu%s",
        name, call != NULL ? " of " : "", call != NULL ? call->name : "", (long long)pass->live,
        (long long)pass->rows - 1, (long long)pass->rows, differing, elements, row > 0 ? first / row : first,
        is_state(pass, compared) ? ", which later passes may read" : "");
    return true;
}

/* ---- the replays --------------------------------------------------------------------------------------------------
 */

static bg_status replay_with(const bg__poison *poison, bg__pattern pattern, leaving *all)
{
    bg_status status;
    BG__TRY(bg__poison_prepare(poison, pattern));
    BG__TRY(bg__replay_enter(poison->graph, poison->stream));
    status = bg__replay_steps(poison->graph, poison->stream);
    BG__TRY(bg__replay_leave(poison->graph, poison->stream, status));
    for (size_t i = 0; i < all->count; i++)
        BG__TRY(bg__poison_read(&all->list[i].bytes, pattern, poison->stream));
done:
    return status;
}

static bg_status add_left(const bg__poison *poison, leaving *all, const bg__call *call, const bg__field_tensor *t)
{
    bg_tensor compared;
    bg_status status = BG_OK;
    bool reached;
    left *l;

    if (!judges(poison, call, t, &compared))
        return BG_OK;
    BG__TRY(bg__tensor_reach(t->tensor, &reached));
    if (!reached)
        goto done;
    BG__TRY(BG__GROW(all->list, all->count, all->capacity, "outputs"));
    l = &all->list[all->count++];
    *l = (left){.call = call, .compared = compared};
    snprintf(l->name, sizeof l->name, "%s", t->name);
    l->bytes = (bg__poison_bytes){(uintptr_t)compared.data,
                                  bg_tensor_bytes(&compared),
                                  bg_dtype_bytes(compared.dtype),
                                  &poison->poisoned,
                                  {NULL}};
done:
    return status;
}

/* Results, and state that calls write. */
static bg_status list_left(const bg__poison *poison, leaving *all)
{
    const bg_graph *graph = poison->graph;
    bg__results results = {0};
    bg_status status;

    BG__TRY(bg__results_take(&results, graph));
    for (size_t i = 0; i < results.count; i++)
        BG__TRY(add_left(poison, all, results.list[i].call, &results.list[i].field));
    for (const bg__call *call = bg__call_next(bg__graph_root(graph)); call != NULL; call = bg__call_next(call)) {
        const void *args = bg__graph_call_args(graph, call);
        bg__field_tensor t = {0};
        while (args != NULL && bg__field_tensor_next(call->op, args, &t))
            if (t.output && is_state(poison->user, t.tensor))
                BG__TRY(add_left(poison, all, call, &t));
    }
done:
    bg__results_free(&results);
    return status;
}

/* Whether two replays from the same memory gave the same: if not, differences tell nothing. */
static bg_status repeat(const bg__poison *poison, leaving *all, bool *same)
{
    unsigned char **before;
    bg_status status;

    BG__TRY(BG__ALLOCATE(before, all->count, "outputs"));
    for (size_t i = 0; i < all->count; i++) {
        before[i] = all->list[i].bytes.held[BG__ONES];
        all->list[i].bytes.held[BG__ONES] = NULL;
    }
    BG__TRY(replay_with(poison, BG__ONES, all));
    *same = true;
    for (size_t i = 0; i < all->count; i++)
        *same = *same && before[i] != NULL &&
                memcmp(before[i], all->list[i].bytes.held[BG__ONES], all->list[i].bytes.bytes) == 0;
done:
    for (size_t i = 0; before != NULL && i < all->count; i++)
        free(before[i]);
    free(before);
    return status;
}

static bg_status compare_all(const bg__poison *poison, leaving *all)
{
    const left *differing = NULL;
    bool same = true, found = false;
    bg_status status = BG_OK;
    size_t first;

    for (int p = 0; p < BG__PATTERNS; p++)
        BG__TRY(replay_with(poison, (bg__pattern)p, all));
    for (size_t i = 0; i < all->count && differing == NULL; i++)
        if (count_differing(poison->user, &all->list[i].compared, &all->list[i].bytes, &first) > 0)
            differing = &all->list[i];
    if (differing == NULL)
        goto done;
    BG__TRY(repeat(poison, all, &same));
    if (!same) {
        bg__report_add(
            poison->report, "not-repeatable", BG_NOTE, differing->call, (const void *)differing->bytes.address,
            "pass what the graph keeps from replay to replay as a BG_INOUT tensor; atomic sums may differ, too",
            "%s cannot be checked: it differs between two replays from the same contents of memory", differing->name);
        goto done;
    }
    BG__TRY(bg__poison_find_call(poison, &found));
    if (!found)
        (void)report_dependence(poison, differing->call, differing->name, &differing->compared, &differing->bytes);
done:
    return status;
}

static bg_status find_state(const bg_graph *graph, bg__spans *state)
{
    bg__spans written = {0};
    bg_status status = BG_OK;

    for (const bg__call *call = bg__call_next(bg__graph_root(graph)); call != NULL; call = bg__call_next(call)) {
        const void *args = bg__graph_call_args(graph, call);
        bg__field_tensor t = {0};
        while (args != NULL && bg__field_tensor_next(call->op, args, &t))
            if (t.input)
                BG__TRY(bg__spans_add_rest(state, (uintptr_t)t.tensor->data,
                                           (uintptr_t)t.tensor->data + bg_tensor_bytes(t.tensor), &written));
        t = (bg__field_tensor){0};
        while (args != NULL && bg__field_tensor_next(call->op, args, &t))
            if (t.output)
                BG__TRY(bg__spans_add_tensor(&written, t.tensor));
    }
done:
    bg__spans_free(&written);
    return status;
}

static bg_status prepare_padding(bg__poison *poison, padded_pass *pass)
{
    bg__relaxed relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg_status status;

    BG__TRY(bg__relax_begin(&relaxed));
    BG__TRY(bg__wait_for_device("BG_CHECK=padding"));
    BG__TRY(bg__footprint_take(&poison->footprint, poison->graph));
    BG__TRY(find_state(poison->graph, &pass->state));
    BG__TRY(find_poisoned(&poison->poisoned, pass));
    BG__TRY(find_slots(pass, poison->stream));
    for (size_t i = 0; i < pass->count; i++)
        BG__TRY(bg__spans_add_tensor(&poison->footprint.all, &pass->buffers[i].tensor));
    BG__TRY(bg__snapshot_add_all(&poison->image, &poison->footprint.all, poison->stream));
done:
    bg__relax_end(relaxed);
    return status;
}

static bg_status check_prepared(bg__poison *poison, padded_pass *pass)
{
    leaving all = {.count = 0};
    bool in_tool;
    bg_status status;

    BG__TRY(prepare_padding(poison, pass));
    BG__TRY(list_left(poison, &all));
    in_tool = bg__tool_enter();
    status = compare_all(poison, &all);
    bg__tool_leave(in_tool);
done:
    for (size_t i = 0; i < all.count; i++)
        bg__poison_free(&all.list[i].bytes);
    free(all.list);
    return status;
}

bg_status bg__check_padding(bg_graph *graph, const bg__padded *buffers, size_t count, cudaStream_t stream,
                            bg_report **report)
{
    bg__poison poison = {.graph = graph, .stream = stream};
    static const bg__poison_check check = {fill_integers, judges, report_dependence};
    padded_pass pass = {.buffers = buffers, .count = count};
    bg_status status, restored;
    char text[1024];

    *report = NULL;
    poison.check = &check;
    poison.user = &pass;
    if (count > 0) {
        pass.rows = buffers[0].tensor.dim[0];
        pass.live = buffers[0].live;
    }
    BG__TRY(bg__report_create(&poison.report, "padding", bg__graph_name(graph)));
    BG__TRY(bg__check_addresses(graph, poison.report));
    if (count > 0 && bg_report_count(poison.report) == 0) /* else a replay would access memory of others */
        status = check_prepared(&poison, &pass);
done:
    snprintf(text, sizeof text, "%s", bg_last_error());
    restored = bg__snapshot_restore(&poison.image, NULL, stream);
    if (status == BG_OK)
        status = restored;
    else
        bg__fail_restore(text);
    if (status == BG_OK) {
        *report = poison.report;
        poison.report = NULL;
    }
    bg__snapshot_free(&poison.image);
    bg__spans_free(&poison.poisoned);
    bg__spans_free(&pass.state);
    bg__footprint_free(&poison.footprint);
    bg_report_destroy(poison.report);
    return status;
}
