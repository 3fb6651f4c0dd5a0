/* Finds the first call whose outputs depend on unwritten memory, by stepping through a replay with each pattern. */
#include "poison.h"

#include <stdlib.h>

#include "capture/replay.h"
#include "debug/step/step.h"
#include "debug/memory/tensors.h"

/* Walks with each pattern. An output that differs between two walks with one pattern varies by itself. */
enum { TRIES = 3 };

/* An output of a call, read after the call ran. */
typedef struct recorded_output {
    const bg__call *call;
    const void *args;
    char name[96];
    bg_tensor compared;
    bg__poison_bytes bytes;
} recorded_output;

typedef struct output_recording {
    const bg__poison *poison;
    bg__pattern pattern;
    recorded_output *list;
    size_t count, capacity;
    bool begun;        /* the first replay has filled the list */
    size_t next;       /* the next output of this replay */
    bool calls_differ; /* this replay makes other calls than the first */
} output_recording;

static bg_status record_output(output_recording *r, const bg__call *call, const void *args, const bg__field_tensor *t)
{
    uintptr_t address = (uintptr_t)t->tensor->data;
    bg_tensor compared = bg__tensor_batch_rows(call, t->tensor);
    size_t bytes;
    bg_status status;
    bool reached;
    recorded_output *at;

    BG__TRY(bg__tensor_is_accessible(t->tensor, &reached));
    if (r->poison->check != NULL)
        reached = r->poison->check->is_compared_output(r->poison, call, t, &compared) && reached;
    if (!reached || r->calls_differ)
        goto done;
    bytes = bg_tensor_bytes(&compared);
    if (!r->begun) {
        BG__TRY(BG__ARRAY_GROW(r->list, r->count, r->capacity, "outputs of calls"));
        at = &r->list[r->count++];
        *at = (recorded_output){.call = call,
                                .args = args,
                                .compared = compared,
                                .bytes = {.address = address,
                                          .bytes = bytes,
                                          .element = bg_dtype_bytes(t->tensor->dtype),
                                          .poisoned = &r->poison->poisoned}};
        snprintf(at->name, sizeof at->name, "%s", t->name);
    } else {
        at = &r->list[r->next];
        r->calls_differ =
            r->next == r->count || at->call != call || at->bytes.address != address || at->bytes.bytes != bytes;
        if (r->calls_differ)
            goto done;
    }
    r->next++;
    BG__TRY(bg__poison_read(&at->bytes, r->pattern, r->poison->stream));
done:
    return status;
}

static bg_status record_call(void *user, const bg__call *call, const void *args, bool late)
{
    output_recording *r = user;
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    (void)late; /* late is the same in each replay */
    while (bg__field_tensor_next(call->op, args, &t))
        if (t.output)
            BG__TRY(record_output(r, call, args, &t));
done:
    return status;
}

static bg_status replay_recorded(output_recording *r, bg__pattern pattern)
{
    const bg__walk_options options = {.after = record_call, .user = r};
    bg_graph *graph = r->poison->graph;
    bg__walk_end end = {.early = false};
    bg_report *unused = NULL;
    bg_status status;

    r->pattern = pattern;
    r->next = 0;
    BG__TRY(bg__report_create(&unused, "step", bg__graph_name(graph)));
    BG__TRY(bg__poison_fill_memory(r->poison, pattern));
    BG__TRY(bg__replay_enter(graph, r->poison->stream));
    status = bg__walk(graph, r->poison->stream, &options, unused, &end);
    if (status == BG_OK && end.early)
        status =
            bg__fail(end.what, "in a replay with test patterns in unwritten memory (bg_check_poison): %s", end.text);
    status = bg__replay_leave(graph, r->poison->stream, status);
done:
    bg_report_destroy(unused);
    return status;
}

/* The latest output, before the call, that is not fully written in the bytes that the call reads. */
static const recorded_output *find_unwritten_input(const output_recording *r, size_t before)
{
    const bg__call *call = r->list[before].call;
    const recorded_output *found = NULL;
    bg__field_tensor t = {0};

    while (bg__field_tensor_next(call->op, r->list[before].args, &t)) {
        uintptr_t begin = (uintptr_t)t.tensor->data, end = begin + bg_tensor_bytes(t.tensor);
        for (size_t i = before; t.input && i-- > 0;) {
            const bg__poison_bytes *b = &r->list[i].bytes;
            size_t element = 0;
            if (r->list[i].call == call || b->address >= end || begin >= b->address + b->bytes)
                continue;
            while (element < b->bytes / b->element &&
                   (b->address + element * b->element < begin || b->address + element * b->element >= end ||
                    !bg__poison_is_unwritten(b, element)))
                element++;
            if (element < b->bytes / b->element && (found == NULL || &r->list[i] > found))
                found = &r->list[i];
            break; /* the latest writer counts */
        }
    }
    return found;
}

/* The last call that has the input as an output, if that call left no node in the graph. Does not count a call without
 * nodes that has the input as BG_INOUT, since that call may have had nothing to do. */
static const bg__call *find_idle_writer(const output_recording *r, const bg__call *reader, const bg_tensor *input)
{
    const bg_graph *graph = r->poison->graph;
    const bg__call *found = NULL;

    for (const bg__call *call = bg__call_next(bg__graph_root(graph)); call != NULL && call != reader;
         call = bg__call_next(call)) {
        const void *args = bg__graph_call_args(graph, call);
        bg__field_tensor t = {0};
        while (args != NULL && call != reader->parent && bg__field_tensor_next(call->op, args, &t))
            if (t.output && !(t.input && bg__call_is_idle(call)) && bg__tensor_overlaps(t.tensor, input))
                found = call;
    }
    return found != NULL && bg__call_is_idle(found) ? found : NULL;
}

static bool report_idle_writer(const output_recording *r, const recorded_output *at)
{
    bg__field_tensor t = {0};
    while (bg__field_tensor_next(at->call->op, at->args, &t)) {
        const bg__call *idle = t.input ? find_idle_writer(r, at->call, t.tensor) : NULL;
        if (idle == NULL)
            continue;
        bg__report_add(
            r->poison->report, "unwritten-output", BG_FAULT, idle, t.tensor->data,
            "launch the work on the stream that the body is given (BG_CHECK_LEAKS names all such calls)",
            "%s left no node in the graph, but %s reads its output as %s, which keeps its contents from before the "
            "replay",
            idle->name, at->call->name, t.name);
        return true;
    }
    return false;
}

static bool report_first_dependent(const output_recording *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const recorded_output *at = &r->list[i], *cause;
        bg__poison_count count;
        if (at->bytes.held[BG__PATTERNS - 1] == NULL)
            return false; /* the replays differ from here on: some patterns have no record */
        if (r->poison->check != NULL) {
            if (r->poison->check->report(r->poison, at->call, at->name, &at->compared, &at->bytes))
                return true;
            continue;
        }
        count = bg__poison_compare(&at->bytes);
        if (count.differing == 0)
            continue;
        cause = find_unwritten_input(r, i);
        if (cause != NULL) {
            count = bg__poison_compare(&cause->bytes);
            bg__poison_report_unwritten(r->poison, cause->call, cause->name, &cause->bytes, &count);
            return true;
        }
        if (report_idle_writer(r, at))
            return true;
        bg__report_add(r->poison->report, "reads-unwritten", BG_FAULT, at->call, (const void *)at->bytes.address,
                       "look for scratch (bg_scratch) that is read before it is written, and for reads beyond the "
                       "ends of the inputs",
                       "%s of %s depends on memory that no op had written (scratch, unused ends of blocks, released "
                       "blocks, outputs before they are written): %zu of its %zu elements differ, its inputs do not",
                       at->name, at->call->name, count.differing, count.elements);
        return true;
    }
    return false;
}

bg_status bg__poison_find_call(const bg__poison *poison, bool *found)
{
    output_recording r = {.poison = poison};
    bg_status status = BG_OK;

    *found = false;
    for (int tries = 0; tries < TRIES; tries++)
        for (int p = 0; p < BG__PATTERNS; p++) {
            BG__TRY(replay_recorded(&r, (bg__pattern)p));
            r.begun = true;
        }
    *found = report_first_dependent(&r);
done:
    for (size_t i = 0; i < r.count; i++)
        bg__poison_free(&r.list[i].bytes);
    free(r.list);
    return status;
}
