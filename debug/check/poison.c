/* bg_check_poison: finds outputs that depend on memory that no op has written. */
#include "poison.h"

#include <breakgraph/check.h>
#include <string.h>

#include "capture/replay.h"
#include "addresses.h"
#include "debug/graph/tool_state.h"
#include "debug/memory/allocate.h"
#include "debug/memory/tensors.h"

/* ---- replays ---- */

static bg_status replay_poisoned(const bg__poison *poison, bg__pattern pattern, bg__poison_bytes *outputs, size_t count)
{
    bg_status status;
    BG__TRY(bg__poison_fill_memory(poison, pattern));
    BG__TRY(bg__replay_enter(poison->graph, poison->stream));
    status = bg__replay_steps(poison->graph, poison->stream);
    BG__TRY(bg__replay_leave(poison->graph, poison->stream, status));
    for (size_t i = 0; i < count; i++)
        BG__TRY(bg__poison_read(&outputs[i], pattern, poison->stream));
done:
    return status;
}

/* ---- outputs ---- */

static bg_status validate_outputs(const bg_tensor *outputs, size_t count)
{
    bg_status status = BG_OK;
    if (outputs == NULL && count > 0)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_check_poison: outputs is NULL, count %zu", count);
    for (size_t i = 0; i < count; i++) {
        bool reached;
        if (!bg__tensor_is_valid(&outputs[i]))
            return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                            "bg_check_poison: outputs[%zu] is not a valid tensor (dtype %d, rank %d)", i,
                            (int)outputs[i].dtype, outputs[i].rank);
        BG__TRY(bg__tensor_is_accessible(&outputs[i], &reached));
        if (!reached && bg_tensor_bytes(&outputs[i]) > 0)
            return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                            "bg_check_poison: outputs[%zu] is not in memory that the device can access", i);
    }
done:
    return status;
}

/* The last call with an output that contains `address`. */
static const bg__call *find_writer(const bg_graph *graph, uintptr_t address, bg__field_tensor *field)
{
    const bg__call *found = NULL;
    for (const bg__call *call = bg__call_next(bg__graph_root(graph)); call != NULL; call = bg__call_next(call)) {
        const void *args = bg__graph_call_args(graph, call);
        bg__field_tensor t = {0};
        while (args != NULL && bg__field_tensor_next(call->op, args, &t)) {
            if (!t.output || address - (uintptr_t)t.tensor->data >= bg_tensor_bytes(t.tensor))
                continue;
            found = call;
            *field = t;
        }
    }
    return found;
}

static void report_unwritten_output(const bg__poison *poison, size_t number, const bg__poison_bytes *bytes,
                                    const bg__poison_count *count)
{
    bg__field_tensor field = {0};
    const bg__call *call;
    char name[80];
    size_t first = 0;

    while (!bg__poison_is_unwritten(bytes, first))
        first++;
    call = find_writer(poison->graph, bytes->address + first * bytes->element, &field);
    snprintf(name, sizeof name, "outputs[%zu], which no op call writes,", number);
    bg__poison_report_unwritten(poison, call, call != NULL ? field.name : name, bytes, count);
}

static void report_varying_output(const bg__poison *poison, size_t number, const bg__poison_bytes *bytes)
{
    bg__field_tensor field = {0};
    const bg__call *call = find_writer(poison->graph, bytes->address + bytes->at, &field);
    char name[40];

    snprintf(name, sizeof name, "outputs[%zu]", number);
    bg__report_add(poison->report, "not-repeatable", BG_NOTE, call, (const void *)bytes->address,
                   "pass what the graph keeps from replay to replay as a BG_INOUT tensor; atomic sums may differ, too",
                   "%s cannot be checked: it differs between two replays from the same contents of memory",
                   call != NULL ? field.name : name);
}

static bool depends_on_pattern(const bg__poison_bytes *bytes)
{
    return bg__poison_compare(bytes).differing > 0;
}

/* Replays again. *differs: an output is the same after each replay with one pattern, and differs between patterns. */
static bg_status repeat_patterns(const bg__poison *poison, bg__poison_bytes *outputs, size_t count, bool *differs)
{
    bg_status status = BG_OK;

    *differs = true;
    for (int tries = 0; tries < BG__POISON_TRIES && *differs; tries++) {
        for (int p = 0; p < BG__PATTERNS; p++)
            BG__TRY(replay_poisoned(poison, (bg__pattern)p, outputs, count));
        *differs = false;
        for (size_t i = 0; i < count; i++)
            *differs |= depends_on_pattern(&outputs[i]);
    }
    for (size_t i = 0; i < count; i++)
        if (outputs[i].varies && !depends_on_pattern(&outputs[i]))
            report_varying_output(poison, i, &outputs[i]);
done:
    return status;
}

static bg_status check_replays(const bg__poison *poison, bg__poison_bytes *outputs, size_t count)
{
    bool differs = false, found = false;
    bg_status status = BG_OK;

    for (int p = 0; p < BG__PATTERNS; p++)
        BG__TRY(replay_poisoned(poison, (bg__pattern)p, outputs, count));
    for (size_t i = 0; i < count; i++) {
        bg__poison_count changed = bg__poison_compare(&outputs[i]);
        differs |= changed.differing > 0;
        if (changed.unwritten > 0)
            report_unwritten_output(poison, i, &outputs[i], &changed);
    }
    if (differs)
        BG__TRY(repeat_patterns(poison, outputs, count, &differs));
    if (!differs)
        goto done;
    BG__TRY(bg__poison_find_call(poison, &found));
    if (!found)
        bg__report_add(
            poison->report, "reads-unwritten", BG_FAULT, NULL, NULL,
            "put work outside op calls into ops (BG_OP), so that the finding can name the call",
            "the outputs depend on memory that no op had written (scratch, unused ends of blocks, "
            "released blocks, outputs before they are written); no single op call was found whose outputs do");
done:
    return status;
}

static bg_status prepare_poison(bg__poison *poison, bg__poison_bytes *bytes, const bg_tensor *outputs, size_t count)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg__footprint *f = &poison->footprint;
    bg_status status;

    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY(bg__wait_for_device("bg_check_poison")); /* for work that uses the tensors, on any stream */
    BG__TRY(bg__footprint_compute(f, poison->graph));
    BG__TRY(bg__spans_add_all(&poison->poisoned, &f->unread));
    for (size_t i = 0; i < count; i++) {
        uintptr_t begin = (uintptr_t)outputs[i].data, end = begin + bg_tensor_bytes(&outputs[i]);
        bg_tensor compared = bg__tensor_batch_rows(bg__graph_root(poison->graph), &outputs[i]);
        bytes[i] = (bg__poison_bytes){.address = begin,
                                      .bytes = bg_tensor_bytes(&compared),
                                      .element = bg_dtype_bytes(compared.dtype),
                                      .poisoned = &poison->poisoned};
        BG__TRY(bg__spans_add(&f->all, begin, end));
        BG__TRY(bg__spans_add_rest(&poison->poisoned, begin, end, &f->state));
    }
    BG__TRY(bg__snapshot_add_all(&poison->image, &f->all, poison->stream));
done:
    bg__relaxed_mode_end(relaxed);
    return status;
}

bg_status bg_check_poison(bg_graph *graph, const bg_tensor *outputs, size_t count, cudaStream_t stream,
                          bg_report **report)
{
    bg__poison poison = {.graph = graph, .stream = stream};
    bg__poison_bytes *bytes = NULL;
    bg_status status;

    BG__NEED(report);
    *report = NULL;
    BG__NEED(graph);
    bg__foreign_error_note();
    if (stream == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_check_poison: stream is NULL; create a stream and use that");
    BG__TRY(validate_outputs(outputs, count));
    BG__TRY(bg__report_create(&poison.report, "poison", bg__graph_name(graph)));
    BG__TRY(BG__ALLOCATE(bytes, count, "outputs"));
    BG__TRY(bg__check_addresses(graph, poison.report));
    if (bg_report_count(poison.report) == 0) { /* otherwise a replay would access memory of other allocations */
        bool in_tool;
        BG__TRY(prepare_poison(&poison, bytes, outputs, count));
        in_tool = bg__tool_enter();
        status = check_replays(&poison, bytes, count);
        bg__tool_leave(in_tool);
    }
done:
    for (size_t i = 0; bytes != NULL && i < count; i++)
        bg__poison_free(&bytes[i]);
    free(bytes);
    return bg__poison_end(&poison, status, report);
}
