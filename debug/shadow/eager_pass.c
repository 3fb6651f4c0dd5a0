#include "eager_pass.h"

#include <stdlib.h>

#include "memory/ledger.h"

bg_status bg__eager_pass_create(bg__eager_pass *pass, const char *name, bg_forward forward, void *user,
                                const bg_capture_options *options, bg__snapshot *before)
{
    pass->before = before;
    pass->inner.begun = true;
    return bg__graph_of_forward(&pass->graph, name, forward, user, options, false);
}

/* ---- streams beside its own ---- */

static bg_status find_side(bg__eager_pass *pass, cudaStream_t stream, bg__side_stream **side)
{
    bg_status status;

    for (size_t i = 0; i < pass->side_count; i++) {
        *side = &pass->sides[i];
        if ((*side)->stream == stream)
            return BG_OK;
    }
    BG__TRY(BG__GROW(pass->sides, pass->side_count, pass->side_capacity, "streams of a pass"));
    *side = &pass->sides[pass->side_count];
    **side = (bg__side_stream){.stream = stream};
    BG__TRY_CUDA(cudaEventCreateWithFlags(&(*side)->event, cudaEventDisableTiming));
    pass->side_count++;
done:
    return status;
}

static bg_status enter_side(bg__eager_pass *pass, cudaStream_t stream)
{
    bg__side_stream *side;
    bg_status status = BG_OK;

    if (stream == pass->stream)
        return BG_OK;
    BG__TRY(find_side(pass, stream, &side));
    side->open++;
done:
    return status;
}

static bg_status leave_side(bg__eager_pass *pass, cudaStream_t stream)
{
    bg__side_stream *side;
    bg_status status = BG_OK;

    if (stream == pass->stream)
        return BG_OK;
    BG__TRY(find_side(pass, stream, &side));
    side->open--;
    BG__TRY_CUDA(cudaEventRecord(side->event, stream));
done:
    return status;
}

/* The first failure of several waits, and its call. */
typedef struct wait {
    cudaError_t error;
    const char *call;
} wait;

static void note_wait(wait *first, cudaError_t error, const char *call)
{
    bg__ignore(error);
    if (first->error == cudaSuccess)
        *first = (wait){error, call};
}

/* A break joins streams in a capture; here nothing does that for those on which the pass called no op after its last
 * plain launch. */
static void wait_for_others(const bg__eager_pass *pass, wait *first)
{
    if (pass->all_streams && !bg__captured_any())
        note_wait(first, cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

/* Of the streams, forward may have destroyed those on which no call failed. */
static void wait_for_sides(const bg__eager_pass *pass, wait *first)
{
    for (size_t i = 0; i < pass->side_count; i++) {
        const bg__side_stream *side = &pass->sides[i];
        if (side->open > 0)
            note_wait(first, cudaStreamSynchronize(side->stream), "cudaStreamSynchronize");
        else
            note_wait(first, cudaEventSynchronize(side->event), "cudaEventSynchronize");
    }
}

static void forget_sides(bg__eager_pass *pass)
{
    for (size_t i = 0; i < pass->side_count; i++)
        BG__RELEASE(cudaEventDestroy(pass->sides[i].event));
    free(pass->sides);
    pass->sides = NULL;
    pass->side_count = pass->side_capacity = 0;
}

/* ---- while it runs ---- */

static bg_status before_call(void *user, const bg__call *call, const void *args, cudaStream_t stream)
{
    bg__eager_pass *pass = user;
    bg__field_tensor t = {0};
    bg_status status;

    BG__TRY(enter_side(pass, stream));
    while (bg__field_tensor_next(call->op, args, &t)) {
        uintptr_t begin = (uintptr_t)t.tensor->data, end = begin + bg_tensor_bytes(t.tensor);
        bool reached;
        if (!t.output || begin == 0 || bg__snapshot_has(pass->before, begin, end))
            continue;
        BG__TRY(bg__tensor_reach(t.tensor, &reached));
        if (reached)
            BG__TRY(bg__snapshot_add(pass->before, begin, end, stream));
    }
    if (pass->record && call->parent->op != NULL)
        BG__TRY(bg__pass_calls_add(&pass->inner, call, args, true, stream));
    if (pass->also != NULL)
        BG__TRY(pass->also->before(pass->also->user, call, args, stream));
    if (pass->references != NULL)
        BG__TRY(bg__references_before(pass->references, call, args, stream));
done:
    return status;
}

static bg_status after_call(void *user, const bg__call *call, const void *args, cudaStream_t stream)
{
    bg__eager_pass *pass = user;
    bg_status status;

    BG__TRY(bg__pass_calls_add(&pass->calls, call, args, pass->record, stream));
    if (pass->also != NULL)
        BG__TRY(pass->also->after(pass->also->user, call, args, stream));
    if (pass->references != NULL)
        BG__TRY(bg__references_after(pass->references, call, args, stream));
    BG__TRY(leave_side(pass, stream));
done:
    return status;
}

bg_status bg__eager_pass_run(bg__eager_pass *pass, cudaStream_t stream, bool record, const char *function)
{
    const bg__watcher watcher = {before_call, after_call, pass};
    bg__thread *self = bg__thread_self();
    const bg__watcher *outer = self->watcher;
    bg_status status;
    wait waited = {cudaSuccess, NULL};

    bg__pass_calls_clear(&pass->calls);
    bg__pass_calls_clear(&pass->inner);
    pass->record = record;
    pass->stream = stream;
    self->watcher = &watcher;
    status = bg__forward_pass(pass->graph, BG_PHASE_REPLAY, stream);
    self->watcher = outer;
    if (pass->references != NULL)
        bg__references_free(pass->references); /* what calls that failed have left */
    bg__pending_note();                        /* forward may have left an error of its own */
    /* Also where it failed: what was queued writes tensors that are put back next. */
    note_wait(&waited, cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    wait_for_sides(pass, &waited);
    forget_sides(pass);
    wait_for_others(pass, &waited);
    if (status == BG_OK && waited.error != cudaSuccess)
        status = bg__fail_cuda(waited.error, waited.call);
    if (status != BG_OK)
        bg__fail_where("%s, the pass run eagerly", function);
    return status;
}

/* ---- afterwards ---- */

bg_status bg__eager_pass_written(const bg__eager_pass *pass, bg__spans *written)
{
    bg_status status = BG_OK;

    for (size_t i = 0; i < pass->calls.count; i++) {
        bg__field_tensor t = {0};
        while (bg__field_tensor_next(pass->calls.list[i].call->op, pass->calls.list[i].args, &t)) {
            uintptr_t begin = (uintptr_t)t.tensor->data, end = begin + bg_tensor_bytes(t.tensor);
            uint64_t generation = 0;
            bool reached;
            if (!t.output || begin == 0)
                continue;
            BG__TRY(bg__driver_generation(t.tensor->data, &generation)); /* 0: the pass has freed it */
            reached = generation != 0 && bg__snapshot_has(pass->before, begin, end);
            if (generation != 0 && !reached)
                BG__TRY(bg__tensor_reach(t.tensor, &reached));
            if (reached)
                BG__TRY(bg__spans_add(written, begin, end));
        }
    }
done:
    return status;
}

void bg__eager_pass_free(bg__eager_pass *pass)
{
    bg__pass_calls_free(&pass->calls);
    bg__pass_calls_free(&pass->inner);
    bg_graph_destroy(pass->graph);
    *pass = (bg__eager_pass){0};
}
