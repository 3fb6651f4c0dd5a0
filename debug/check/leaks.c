/* Finds work that runs during a capture instead of being captured. Overwrites the outputs of the pass, and captures the
 * pass again without a launch. Work outside the capture wrote each output that changes. */
#include "leaks.h"

#include <stdlib.h>
#include <string.h>

#include "addresses.h"
#include "debug/memory/snapshot.h"
#include "debug/memory/tensors.h"

/* An output of a call that was captured. */
typedef struct watched_output {
    const bg__call *call;
    char name[96];
    const bg_tensor *tensor;
    unsigned char *before; /* its contents before the capture */
    bool changed;
} watched_output;

struct bg__leaks {
    bg_graph *graph;
    cudaStream_t stream;
    bg__spans ignored; /* memory that eager bodies may write, and memory that belongs to the capture */
    bg__spans watched_memory;
    bg__spans freed_memory; /* watched memory that the capture has freed or reused */
    bg__snapshot image;     /* the contents of the watched outputs */
    watched_output *list;
    size_t count, capacity;
};
typedef struct bg__leaks leak_search;

static uintptr_t tensor_end(const bg_tensor *tensor)
{
    return (uintptr_t)tensor->data + bg_tensor_bytes(tensor);
}

static bool is_ignored_tensor(const leak_search *s, const bg_tensor *tensor)
{
    return bg__spans_overlap(&s->ignored, (uintptr_t)tensor->data, tensor_end(tensor));
}

/* ---- outputs to watch ---- */

/* Whether the body of an eager call runs during a capture without launches. The body runs if the op has a capture stub.
 * The body also runs if only it knows the shapes of its outputs, which are in bridge buffers. */
static bool body_may_run(const bg__call *call)
{
    bool runs = call->op->attributes_.capture_stub != NULL;
    for (size_t i = 0; i < call->own.count; i++)
        runs |= call->own.blocks[i].kind == BG__BRIDGE;
    return call->eager && runs;
}

static bg_status ignore_call_blocks(leak_search *s, const bg__call *call)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < call->own.count; i++) {
        uintptr_t begin = (uintptr_t)call->own.blocks[i].ptr;
        BG__TRY(bg__spans_add(&s->ignored, begin, begin + call->own.blocks[i].bytes));
    }
done:
    return status;
}

static bg_status ignore_eager_outputs(leak_search *s)
{
    bg_status status = BG_OK;

    for (const bg__call *run = bg__graph_root(s->graph)->runs; run != NULL; run = run->last_run)
        BG__TRY(ignore_call_blocks(s, run));
    for (const bg__call *call = bg__call_next(bg__graph_root(s->graph)); call != NULL; call = bg__call_next(call)) {
        const void *args = body_may_run(call) ? bg__graph_call_args(s->graph, call) : NULL;
        bg__field_tensor t = {0};
        BG__TRY(ignore_call_blocks(s, call));
        while (args != NULL && bg__field_tensor_next(call->op, args, &t))
            if (t.output)
                BG__TRY(bg__spans_add_tensor(&s->ignored, t.tensor));
    }
done:
    return status;
}

static bg_status watch_output(leak_search *s, const bg__call *call, const bg__field_tensor *t)
{
    bg_status status;
    bool reached;

    BG__TRY(bg__tensor_is_accessible(t->tensor, &reached));
    if (!reached || is_ignored_tensor(s, t->tensor))
        goto done;
    BG__TRY(BG__ARRAY_GROW(s->list, s->count, s->capacity, "outputs"));
    BG__TRY(bg__spans_add_tensor(&s->watched_memory, t->tensor));
    s->list[s->count] = (watched_output){.call = call, .tensor = t->tensor};
    memcpy(s->list[s->count++].name, t->name, sizeof t->name);
done:
    return status;
}

static bg_status list_outputs(leak_search *s)
{
    bg_status status = BG_OK;
    for (const bg__call *call = bg__call_next(bg__graph_root(s->graph)); call != NULL; call = bg__call_next(call)) {
        bg__field_tensor t = {0};
        while (!call->eager && call->kept != NULL && bg__field_tensor_next(call->op, call->kept, &t))
            if (t.output)
                BG__TRY(watch_output(s, call, &t));
    }
done:
    return status;
}

/* ---- before and after ---- */

/* Replaces the values by values that an op does not write. Integers become 0 or 1, since bodies that run may use
 * integers as indices. */
static void fill_changed_values(unsigned char *held, const bg_tensor *tensor)
{
    size_t bytes = bg_tensor_bytes(tensor), element = bg_dtype_bytes(tensor->dtype);

    if (bg__tensor_is_float(tensor)) {
        for (size_t i = 0; i < bytes; i++)
            held[i] = bg__pattern_byte(BG__PLACED, (uintptr_t)tensor->data + i);
        return;
    }
    for (size_t i = 0; i < bytes; i += element) {
        bool zero = true;
        for (size_t k = 0; k < element; k++)
            zero &= held[i + k] == 0;
        memset(held + i, 0, element);
        held[i] = zero;
    }
}

static bg_status overwrite_outputs(leak_search *s)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < s->count; i++) {
        watched_output *w = &s->list[i];
        size_t bytes = bg_tensor_bytes(w->tensor);
        w->before = malloc(bytes);
        if (w->before == NULL) {
            status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu bytes of an output", bytes);
            goto done;
        }
        BG__TRY(bg__copy_and_wait(w->before, w->tensor->data, bytes, s->stream));
        fill_changed_values(w->before, w->tensor);
        BG__TRY(bg__copy_and_wait(w->tensor->data, w->before, bytes, s->stream));
    }
    /* Outputs may overlap. */
    for (watched_output *w = s->list; w < s->list + s->count; w++)
        BG__TRY(bg__copy_and_wait(w->before, w->tensor->data, bg_tensor_bytes(w->tensor), s->stream));
done:
    return status;
}

static bg_status compare_outputs(leak_search *s)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < s->count; i++) {
        watched_output *w = &s->list[i];
        size_t bytes = bg_tensor_bytes(w->tensor);
        unsigned char *after;
        if (bg__spans_overlap(&s->freed_memory, (uintptr_t)w->tensor->data, tensor_end(w->tensor)))
            continue;
        after = malloc(bytes);
        if (after == NULL)
            return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu bytes of an output", bytes);
        status = bg__copy_and_wait(after, w->tensor->data, bytes, s->stream);
        w->changed = status == BG_OK && memcmp(w->before, after, bytes) != 0;
        free(after);
        BG__TRY(status);
    }
done:
    return status;
}

/* ---- which calls leak ---- */

static bool is_called_inside(const bg__call *call, const bg__call *outer)
{
    for (call = call->parent; call != NULL; call = call->parent)
        if (call == outer)
            return true;
    return false;
}

static void report_leak(const watched_output *w, bg_report *report)
{
    bg__report_add(report, "leak", BG_FAULT, w->call, w->tensor->data, BG__LEAK_ADVICE,
                   "%s of %s was written during the capture of the pass: work of the call ran on a stream that is "
                   "not captured, and replays do not run it",
                   w->name, w->call->name);
}

/* Whether an inner call left no node and has an output that changed. Inner calls follow the outer call in the list. */
static bool has_inner_leak(const leak_search *s, const watched_output *w)
{
    for (const watched_output *inner = w + 1; inner < s->list + s->count; inner++) {
        if (inner->call == w->call)
            continue;
        if (!is_called_inside(inner->call, w->call))
            break;
        if (inner->changed && bg__call_is_idle(inner->call))
            return true;
    }
    return false;
}

/* Reports each leak once, since several calls may have an output in the same memory. First reports outputs of calls
 * that captured no node, since the replay cannot write these outputs. Of nested calls without a node, only the
 * innermost call is reported. Then reports the first call of each other changed output, unless the output overlaps
 * memory of an earlier finding. */
static bg_status report_each_leak_once(leak_search *s, bg_report *report)
{
    bg__spans reported = {0};
    bg_status status = BG_OK;

    for (watched_output *w = s->list; w < s->list + s->count; w++)
        if (w->changed && bg__call_is_idle(w->call) && !has_inner_leak(s, w)) {
            report_leak(w, report);
            BG__TRY(bg__spans_add_tensor(&reported, w->tensor));
        }
    for (watched_output *w = s->list; w < s->list + s->count; w++)
        if (w->changed && !bg__spans_overlap(&reported, (uintptr_t)w->tensor->data, tensor_end(w->tensor))) {
            report_leak(w, report);
            BG__TRY(bg__spans_add_tensor(&reported, w->tensor));
        }
done:
    bg__spans_free(&reported);
    return status;
}

/* ---- begin and end ---- */

/* Finds watched outputs whose memory was freed or reused since the capture. */
static bg_status find_freed_outputs(leak_search *s)
{
    bg_finding finding = BG_FINDING_INIT;
    bg_report *report = NULL;
    bg_status status;

    BG__TRY(bg__report_create(&report, "check", bg__graph_name(s->graph)));
    BG__TRY(bg__check_addresses(s->graph, report));
    for (int i = 0; i < bg_report_count(report); i++) {
        uintptr_t address;
        BG__TRY(bg_report_get(report, i, &finding));
        address = (uintptr_t)finding.address;
        for (size_t k = 0; k < s->watched_memory.count; k++)
            if (address - s->watched_memory.list[k].begin <
                s->watched_memory.list[k].end - s->watched_memory.list[k].begin)
                BG__TRY(
                    bg__spans_add(&s->freed_memory, s->watched_memory.list[k].begin, s->watched_memory.list[k].end));
    }
done:
    bg_report_destroy(report);
    return status;
}

static void free_leak_search(leak_search *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->count; i++)
        free(s->list[i].before);
    free(s->list);
    bg__snapshot_free(&s->image);
    bg__spans_free(&s->freed_memory);
    bg__spans_free(&s->watched_memory);
    bg__spans_free(&s->ignored);
    free(s);
}

bg_status bg__leaks_begin(bg__leaks **leaks, bg_graph *graph, cudaStream_t stream)
{
    bg__leaks *s = calloc(1, sizeof *s);
    char text[1024];
    bg_status status = BG_OK;

    if (s == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory to look for leaks");
    s->graph = graph;
    s->stream = stream;
    BG__TRY(bg__wait_for_device("bg_check_recapture")); /* for work that uses the tensors, on any stream */
    BG__TRY(ignore_eager_outputs(s));
    BG__TRY(list_outputs(s));
    BG__TRY(find_freed_outputs(s));
    if (s->freed_memory.count > 0)
        goto done; /* the memory no longer belongs to the pass */
    BG__TRY(bg__snapshot_add_all(&s->image, &s->watched_memory, stream));
    status = overwrite_outputs(s);
    if (status != BG_OK) {
        snprintf(text, sizeof text, "%s", bg_last_error());
        (void)bg__snapshot_restore(&s->image, NULL, stream);
        bg__error_set_text(text);
        goto done;
    }
    *leaks = s;
    s = NULL;
done:
    free_leak_search(s);
    return status;
}

bg_status bg__leaks_end(bg__leaks *s, bg_report *report)
{
    bg_status status, restored;
    char text[1024];

    if (s == NULL)
        return BG_OK;
    BG__TRY(bg__wait_for_device("bg_check_recapture")); /* for leaked work, on any stream */
    BG__TRY(find_freed_outputs(s));
    if (report != NULL) {
        BG__TRY(compare_outputs(s));
        BG__TRY(report_each_leak_once(s, report));
    }
done:
    snprintf(text, sizeof text, "%s", bg_last_error());
    restored = bg__snapshot_restore(&s->image, &s->freed_memory, s->stream);
    if (restored == BG_OK || status != BG_OK)
        bg__error_set_text(text);
    free_leak_search(s);
    return status != BG_OK ? status : restored;
}
