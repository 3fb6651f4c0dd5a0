/* BG_CHECK=padding: finds results that depend on the padding rows of a batch. Replays with NaN, zeros and large numbers
 * in the padding rows of float inputs. If padding rows of an integer input keep values of an earlier batch, they get
 * the first and the last row of the batch, so that no index leaves its memory. Other integers stay unchanged, and so do
 * floats that ops test for (BG_PAD_SENTINEL). Neither the rows of the batch, nor memory that the pass keeps for later
 * passes, such as caches, may differ between these replays. A cache slot is not compared if padding rows of an input
 * name it. */
#include "padding.h"

#include <stdlib.h>
#include <string.h>

#include "capture/replay.h"
#include "addresses.h"
#include "poison.h"
#include "debug/graph/nodes.h"
#include "debug/graph/tool_state.h"
#include "debug/memory/allocate.h"
#include "debug/memory/results.h"
#include "debug/memory/tensors.h"

enum { SLOTS = 16 };

typedef struct padded_pass {
    const bg__padded_buffer *buffers;
    size_t count;
    int64_t rows, live; /* rows: rows that the pass computes; live: rows of the batch */
    bg__spans state;    /* memory that a call reads before any call writes it */
    struct owned_slot {
        int64_t slot, most; /* slot: named by the first padding row; most: the greatest slot of a row of the batch */
    } slots[SLOTS];         /* slots that padding rows name */
    int slot_count;
} padded_pass;

/* An output of the pass that is compared. */
typedef struct compared_output {
    const bg__call *call;
    char name[96];
    bg_tensor compared;
    bg__poison_bytes bytes;
} compared_output;

typedef struct compared_outputs {
    compared_output *list;
    size_t count, capacity;
} compared_outputs;

static size_t bytes_per_row(const bg__padded_buffer *input)
{
    return input->tensor.dim[0] > 0 ? bg_tensor_bytes(&input->tensor) / (size_t)input->tensor.dim[0] : 0;
}

/* ---- contents of padding rows ----------------------------------------------------------------------------------- */

static bool varies_floats(const bg__padded_buffer *buffer)
{
    return bg__tensor_is_float(&buffer->tensor) &&
           (buffer->kind == BG__PADDED_VALUE || buffer->kind == BG__PADDED_KEPT);
}

static bool varies_integers(const bg__padded_buffer *buffer)
{
    return !bg__tensor_is_float(&buffer->tensor) && buffer->kind == BG__PADDED_KEPT;
}

static bg_status fill_integer_padding(const bg__poison *poison, bg__pattern pattern)
{
    const padded_pass *pass = poison->user;
    bg_status status = BG_OK;

    for (size_t i = 0; i < pass->count; i++) {
        const bg__padded_buffer *input = &pass->buffers[i];
        const size_t row = bytes_per_row(input);
        char *rows = input->tensor.data;
        const char *from = rows + (pattern == BG__ZEROS ? (size_t)(input->live - 1) * row : 0);
        for (int64_t k = input->live; varies_integers(input) && k < input->tensor.dim[0]; k++)
            BG__TRY_CUDA(cudaMemcpyAsync(rows + (size_t)k * row, from, row, cudaMemcpyDefault, poison->stream));
    }
    BG__TRY(bg__wait_for_stream(poison->stream));
done:
    return status;
}

static bg_status find_float_padding(bg__spans *poisoned, const padded_pass *pass)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < pass->count; i++) {
        const bg__padded_buffer *input = &pass->buffers[i];
        const uintptr_t begin = (uintptr_t)input->tensor.data;
        if (varies_floats(input))
            BG__TRY(bg__spans_add(poisoned, begin + (size_t)input->live * bytes_per_row(input),
                                  begin + bg_tensor_bytes(&input->tensor)));
    }
done:
    return status;
}

/* ---- slots that padding rows own --------------------------------------------------------------------------------- */

static int64_t read_integer(bg_dtype dtype, const char *bytes)
{
    int32_t narrow;
    int64_t wide;
    if (dtype == BG_I32) {
        memcpy(&narrow, bytes, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, bytes, sizeof wide);
    return wide;
}

/* Reads the slots of an input that has one integer in each row. The padding slot is that of the first padding row. */
static bg_status find_padding_slot(padded_pass *pass, const bg__padded_buffer *input, cudaStream_t stream)
{
    const size_t row = bytes_per_row(input);
    struct owned_slot *found = &pass->slots[pass->slot_count];
    char *rows = malloc((size_t)(input->live + 1) * row);
    bg_status status;

    if (rows == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the rows of an input");
    BG__TRY(bg__copy_and_wait(rows, input->tensor.data, (size_t)(input->live + 1) * row, stream));
    found->slot = read_integer(input->tensor.dtype, rows + (size_t)input->live * row);
    found->most = 0;
    for (int64_t i = 0; i < input->live; i++) {
        const int64_t live = read_integer(input->tensor.dtype, rows + (size_t)i * row);
        found->most = live > found->most ? live : found->most;
    }
    pass->slot_count += found->slot >= 0;
done:
    free(rows);
    return status;
}

static bg_status find_padding_slots(padded_pass *pass, cudaStream_t stream)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < pass->count && pass->slot_count < SLOTS; i++) {
        const bg__padded_buffer *input = &pass->buffers[i];
        const bg_dtype dtype = input->tensor.dtype;
        if ((dtype == BG_I32 || dtype == BG_I64) && bytes_per_row(input) == bg_dtype_bytes(dtype) &&
            (input->kind == BG__PADDED_VALUE || input->kind == BG__PADDED_SENTINEL))
            BG__TRY(find_padding_slot(pass, input, stream));
    }
done:
    return status;
}

/* Whether the element is in a slot that padding rows own. One dimension may count the slots, or several consecutive
 * dimensions may (blocks of slots). These dimensions must have room for the slots of the batch. */
static bool is_in_padding_slot(const padded_pass *pass, const bg_tensor *state, size_t element)
{
    size_t below = 1;
    for (int last = state->rank - 1; last >= 0; below *= (size_t)state->dim[last], last--) {
        size_t room = 1;
        for (int first = last; first >= 0; first--) {
            room *= (size_t)state->dim[first];
            for (int i = 0; i < pass->slot_count && room > 0; i++)
                if (room > (size_t)pass->slots[i].most && element / below % room == (size_t)pass->slots[i].slot)
                    return true;
        }
    }
    return false;
}

/* ---- what must not depend on the padding rows
 * ---------------------------------------------------------------------- */

static bool overlaps_padded_buffer(const padded_pass *pass, const bg_tensor *tensor)
{
    for (size_t i = 0; i < pass->count; i++)
        if (bg__tensor_overlaps(&pass->buffers[i].tensor, tensor))
            return true;
    return false;
}

/* Whether the tensor keeps values from pass to pass, and does not consist of rows of the batch. */
static bool is_state(const padded_pass *pass, const bg_tensor *tensor)
{
    const uintptr_t begin = (uintptr_t)tensor->data, end = begin + bg_tensor_bytes(tensor);
    return bg__spans_overlap(&pass->state, begin, end) && !overlaps_padded_buffer(pass, tensor);
}

/* The runner's buffer that contains the tensor and has as many rows as the op got; NULL: none. */
static const bg__padded_buffer *find_buffer(const padded_pass *pass, const bg_tensor *tensor)
{
    const size_t row = tensor->rank > 0 && tensor->dim[0] > 0 ? bg_tensor_bytes(tensor) / (size_t)tensor->dim[0] : 0;
    for (size_t i = 0; i < pass->count; i++)
        if (pass->buffers[i].tensor.data == tensor->data && bytes_per_row(&pass->buffers[i]) == row)
            return &pass->buffers[i];
    return NULL;
}

/* If the rows of a tensor are not its first dimension, it is not known which elements are padding. Such a tensor is
 * compared only if it is too small to have rows. */
static bool is_compared_output(const bg__poison *poison, const bg__call *call, const bg__field_tensor *t,
                               bg_tensor *compared)
{
    const padded_pass *pass = poison->user;
    const bg__padded_buffer *buffer = find_buffer(pass, t->tensor);

    *compared = *t->tensor;
    if (is_state(pass, t->tensor))
        return true;
    if (buffer != NULL) {
        if (compared->dim[0] > buffer->live)
            compared->dim[0] = buffer->live;
        return true;
    }
    *compared = bg__tensor_batch_rows(call, t->tensor);
    for (int d = 0; d < t->tensor->rank && compared->dim[0] == t->tensor->dim[0]; d++)
        if (t->tensor->dim[d] >= pass->rows)
            return false;
    return true;
}

/* Counts the elements that differ between patterns. Leaves out slots that padding rows own. */
static size_t count_differing(const padded_pass *pass, const bg_tensor *compared, const bg__poison_bytes *bytes,
                              size_t *first)
{
    const bool state = is_state(pass, compared);
    size_t count = 0;

    for (size_t i = 0; i < bytes->bytes / bytes->element; i++) {
        if (!bg__poison_differs(bytes, i) || (state && is_in_padding_slot(pass, compared, i)))
            continue;
        if (count++ == 0)
            *first = i;
    }
    return count;
}

static bool report_padding_dependence(const bg__poison *poison, const bg__call *call, const char *name,
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
        "skip rows beyond the batch in the op; multiplying by 0 is not enough, since 0 times NaN is NaN. If ops "
        "test for the values of padding rows, declare that input with BG_PAD_SENTINEL",
        "%s%s%s depends on the padding rows of the batch, %lld to %lld of %lld: with other values in these, %zu of "
        "its %zu elements differ, the first in row %zu%s",
        name, call != NULL ? " of " : "", call != NULL ? call->name : "", (long long)pass->live,
        (long long)pass->rows - 1, (long long)pass->rows, differing, elements, row > 0 ? first / row : first,
        is_state(pass, compared) ? ", which later passes may read" : "");
    return true;
}

/* ---- the replays ------------------------------------------------------------------------------------------------- */

static bg_status replay_with_pattern(const bg__poison *poison, bg__pattern pattern, compared_outputs *all)
{
    bg_status status;
    BG__TRY(bg__poison_fill_memory(poison, pattern));
    BG__TRY(bg__replay_enter(poison->graph, poison->stream));
    status = bg__replay_steps(poison->graph, poison->stream);
    BG__TRY(bg__replay_leave(poison->graph, poison->stream, status));
    for (size_t i = 0; i < all->count; i++)
        BG__TRY(bg__poison_read(&all->list[i].bytes, pattern, poison->stream));
done:
    return status;
}

static bg_status add_compared_output(const bg__poison *poison, compared_outputs *all, const bg__call *call,
                                     const bg__field_tensor *t)
{
    bg_tensor compared;
    bg_status status = BG_OK;
    bool reached;
    compared_output *l;

    if (!is_compared_output(poison, call, t, &compared))
        return BG_OK;
    BG__TRY(bg__tensor_is_accessible(t->tensor, &reached));
    if (!reached)
        goto done;
    BG__TRY(BG__ARRAY_GROW(all->list, all->count, all->capacity, "outputs"));
    l = &all->list[all->count++];
    *l = (compared_output){.call = call, .compared = compared};
    snprintf(l->name, sizeof l->name, "%s", t->name);
    l->bytes = (bg__poison_bytes){.address = (uintptr_t)compared.data,
                                  .bytes = bg_tensor_bytes(&compared),
                                  .element = bg_dtype_bytes(compared.dtype),
                                  .poisoned = &poison->poisoned};
done:
    return status;
}

/* Lists the results, and the state that calls write. */
static bg_status list_compared_outputs(const bg__poison *poison, compared_outputs *all)
{
    const bg_graph *graph = poison->graph;
    bg__results results = {0};
    bg_status status;

    BG__TRY(bg__results_find(&results, graph));
    for (size_t i = 0; i < results.count; i++)
        BG__TRY(add_compared_output(poison, all, results.list[i].call, &results.list[i].field));
    for (const bg__call *call = bg__call_next(bg__graph_root(graph)); call != NULL; call = bg__call_next(call)) {
        const void *args = bg__graph_call_args(graph, call);
        bg__field_tensor t = {0};
        while (args != NULL && bg__field_tensor_next(call->op, args, &t))
            if (t.output && is_state(poison->user, t.tensor))
                BG__TRY(add_compared_output(poison, all, call, &t));
    }
done:
    bg__results_free(&results);
    return status;
}

static bool output_differs(const bg__poison *poison, const compared_output *l)
{
    size_t first;
    return count_differing(poison->user, &l->compared, &l->bytes, &first) > 0;
}

static const compared_output *find_differing_output(const bg__poison *poison, const compared_outputs *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (output_differs(poison, &all->list[i]))
            return &all->list[i];
    return NULL;
}

static const compared_output *find_varying_output(const compared_outputs *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].bytes.varies)
            return &all->list[i];
    return NULL;
}

static void report_varying_output(const bg__poison *poison, const compared_output *l)
{
    bg__report_add(poison->report, "not-repeatable", BG_NOTE, l->call, (const void *)l->bytes.address,
                   "pass what the graph keeps from replay to replay as a BG_INOUT tensor; atomic sums may differ, too",
                   "%s cannot be checked: it differs between two replays from the same contents of memory", l->name);
}

static bg_status compare_outputs(const bg__poison *poison, compared_outputs *all)
{
    const compared_output *differing, *varying;
    bool found = false;
    bg_status status = BG_OK;

    for (int tries = 0; tries <= BG__POISON_TRIES; tries++) {
        for (int p = 0; p < BG__PATTERNS; p++)
            BG__TRY(replay_with_pattern(poison, (bg__pattern)p, all));
        if (find_differing_output(poison, all) == NULL)
            break;
    }
    varying = find_varying_output(all);
    differing = find_differing_output(poison, all);
    if (varying != NULL)
        report_varying_output(poison, varying);
    if (differing == NULL)
        goto done;
    BG__TRY(bg__poison_find_call(poison, &found));
    if (!found)
        (void)report_padding_dependence(poison, differing->call, differing->name, &differing->compared,
                                        &differing->bytes);
done:
    return status;
}

/* Adds the memory that memset and memcpy nodes write. These writes belong to no call, and may happen before all
 * calls. */
static bg_status add_node_writes(const bg_graph *graph, bg__spans *written)
{
    bg__nodes nodes = {0};
    bg_status status;
    bg__node_range end;

    BG__TRY(bg__nodes_read(graph, &nodes));
    for (size_t i = 0; i < nodes.count; i++)
        if (bg__memset_node_range(&nodes.node[i], &end) || bg__memcpy_node_range(&nodes.node[i], BG__DESTINATION, &end))
            BG__TRY(bg__spans_add(written, (uintptr_t)end.address, (uintptr_t)end.address + end.bytes));
done:
    bg__nodes_free(&nodes);
    return status;
}

static bg_status find_state(const bg_graph *graph, bg__spans *state)
{
    bg__spans written = {0};
    bg_status status;

    BG__TRY(add_node_writes(graph, &written));
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
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg_status status;

    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY(bg__wait_for_device("BG_CHECK=padding"));
    BG__TRY(bg__footprint_compute(&poison->footprint, poison->graph));
    BG__TRY(find_state(poison->graph, &pass->state));
    BG__TRY(find_float_padding(&poison->poisoned, pass));
    BG__TRY(find_padding_slots(pass, poison->stream));
    for (size_t i = 0; i < pass->count; i++)
        BG__TRY(bg__spans_add_tensor(&poison->footprint.all, &pass->buffers[i].tensor));
    BG__TRY(bg__snapshot_add_all(&poison->image, &poison->footprint.all, poison->stream));
done:
    bg__relaxed_mode_end(relaxed);
    return status;
}

static bg_status check_padded_replays(bg__poison *poison, padded_pass *pass)
{
    compared_outputs all = {.count = 0};
    bool in_tool;
    bg_status status;

    BG__TRY(prepare_padding(poison, pass));
    BG__TRY(list_compared_outputs(poison, &all));
    in_tool = bg__tool_enter();
    status = compare_outputs(poison, &all);
    bg__tool_leave(in_tool);
done:
    for (size_t i = 0; i < all.count; i++)
        bg__poison_free(&all.list[i].bytes);
    free(all.list);
    return status;
}

bg_status bg__check_padding(bg_graph *graph, const bg__padded_buffer *buffers, size_t count, cudaStream_t stream,
                            bg_report **report)
{
    bg__poison poison = {.graph = graph, .stream = stream};
    static const bg__poison_check check = {fill_integer_padding, is_compared_output, report_padding_dependence};
    padded_pass pass = {.buffers = buffers, .count = count};
    bg_status status;

    *report = NULL;
    poison.check = &check;
    poison.user = &pass;
    if (count > 0) {
        pass.rows = buffers[0].tensor.dim[0];
        pass.live = buffers[0].live;
    }
    BG__TRY(bg__report_create(&poison.report, "padding", bg__graph_name(graph)));
    BG__TRY(bg__check_addresses(graph, poison.report));
    if (count > 0 && bg_report_count(poison.report) == 0) /* otherwise a replay would access memory of other
                                                           * allocations */
        status = check_padded_replays(&poison, &pass);
done:
    bg__spans_free(&pass.state);
    return bg__poison_end(&poison, status, report);
}
