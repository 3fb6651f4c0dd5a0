/* Runs the calls of a run and its op from the same memory, and compares what they write. */
#include "compile/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/library/compare.h"

/* A tensor that a run writes: what it held before, and what the calls make of it. Or one that it only reads and that
 * may have padding: others may read it meanwhile, so that a copy of it is padded. Or memory of a call, which nobody
 * compares. */
typedef struct held {
    bg_tensor tensor;
    const bg__call *call;
    const bg_field *field; /* NULL: memory of the call */
    size_t bytes;
    bool written;
    bool shared; /* only read: another tensor of the run overlaps it in part, so that no copy can stand for it */
    char *before, *expected; /* in compiled->room; before: or the copy */
} held;

typedef struct proof {
    const bg__piece *piece;
    const bg__run *run;
    cudaStream_t stream;
    held *list;
    int count;
    size_t capacity;
    bool padded;
    bool differs; /* a result, when it was compared last */
    bg__call op;  /* the op's call, which is in no graph */
    bg__finding *finding;
} proof;

/* ---- memory ---- */

static held *find_held(const proof *p, const bg_tensor *tensor)
{
    for (int i = 0; i < p->count; i++)
        if (p->list[i].tensor.data == tensor->data && p->list[i].bytes == bg_tensor_bytes(tensor))
            return &p->list[i];
    return NULL;
}

static bool is_float(bg_dtype dtype)
{
    return dtype == BG_F32 || dtype == BG_F64 || dtype == BG_F16 || dtype == BG_BF16;
}

/* Rows that may be padding: of what has as many rows as the run. Integers stay, since they are places in memory. */
static bool has_padding(const proof *p, const bg_tensor *tensor)
{
    return p->run->rows > 1 && is_float(tensor->dtype) && tensor->rank > 0 && tensor->dim[0] == p->run->rows;
}

/* The last call that writes a tensor gives it its name in messages. */
static bg_status hold(proof *p, const bg__call *call, const bg_field *field, const bg_tensor *tensor)
{
    bool written = field->role != BG_ROLE_IN;
    held *known = find_held(p, tensor);
    bg_status status = BG_OK;

    if ((!written && !has_padding(p, tensor)) || bg_tensor_bytes(tensor) == 0)
        return BG_OK;
    if (known == NULL) {
        BG__TRY(BG__GROW(p->list, p->count, p->capacity, "tensors of a rule"));
        known = &p->list[p->count++];
        *known = (held){.tensor = *tensor, .call = call, .field = field, .bytes = bg_tensor_bytes(tensor)};
    }
    if (!written)
        goto done;
    known->written = true;
    known->call = call;
    known->field = field;
done:
    return status;
}

static bg_status hold_all(proof *p)
{
    bg_status status = BG_OK;

    for (int i = 0; i < p->run->rule->count; i++) {
        const bg__call *call = p->run->calls[i];
        for (uint32_t f = 0; f < call->op->field_count; f++) {
            const bg_tensor *at = bg__tensors_of(&call->op->fields[f], call->kept);
            for (int k = 0; k < bg__tensors_in(&call->op->fields[f]); k++)
                BG__TRY(hold(p, call, &call->op->fields[f], &at[k]));
        }
    }
done:
    return status;
}

static bool has_tensor_in(const proof *p, const bg_tensor *memory)
{
    bool found = false;

    for (int i = 0; i < p->run->rule->count && !found; i++) {
        const bg__call *call = p->run->calls[i];
        for (uint32_t f = 0; f < call->op->field_count; f++) {
            const bg_tensor *at = bg__tensors_of(&call->op->fields[f], call->kept);
            for (int k = 0; k < bg__tensors_in(&call->op->fields[f]); k++)
                found |= bg__tensors_overlap(&at[k], memory);
        }
    }
    return found;
}

/* Scratch of one call may be where an input of an earlier one was that is released between them. */
static bg_status hold_memory(proof *p)
{
    bg_status status = BG_OK;

    for (int i = 0; i < p->run->rule->count; i++) {
        const bg__call *call = p->run->calls[i];
        for (size_t b = 0; b < call->memory->count; b++) {
            const bg__block *block = &call->memory->blocks[b];
            bg_tensor memory = bg_tensor_1d(block->ptr, BG_U8, (int64_t)block->bytes);
            if (!has_tensor_in(p, &memory))
                continue;
            BG__TRY(BG__GROW(p->list, p->count, p->capacity, "tensors of a rule"));
            p->list[p->count++] = (held){.tensor = memory, .call = call, .bytes = block->bytes, .written = true};
        }
    }
done:
    return status;
}

/* Of those that are only read. */
static void find_shared(const proof *p)
{
    for (int i = 0; i < p->run->rule->count; i++) {
        const bg__call *call = p->run->calls[i];
        for (uint32_t f = 0; f < call->op->field_count; f++) {
            const bg_tensor *at = bg__tensors_of(&call->op->fields[f], call->kept);
            for (int k = 0; k < bg__tensors_in(&call->op->fields[f]); k++)
                for (int h = 0; h < p->count; h++)
                    p->list[h].shared |= bg__tensors_overlap_in_part(&at[k], &p->list[h].tensor);
        }
    }
}

static size_t aligned_bytes(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static bg_status take_room(proof *p)
{
    bg__compiled *compiled = p->piece->compiled;
    size_t bytes = aligned_bytes(sizeof(bgk_difference));
    bg_status status = BG_OK;
    char *at;

    for (int i = 0; i < p->count; i++)
        bytes += (p->list[i].written ? 2 : 1) * aligned_bytes(p->list[i].bytes);
    if (bytes > compiled->room_bytes) {
        bg__device_free(compiled->room);
        compiled->room = NULL;
        compiled->room_bytes = 0;
        BG__TRY(bg__device_alloc(bytes, &compiled->room));
        compiled->room_bytes = bytes;
    }
    at = (char *)compiled->room + aligned_bytes(sizeof(bgk_difference));
    for (int i = 0; i < p->count; i++) {
        p->list[i].before = at;
        at += aligned_bytes(p->list[i].bytes);
        if (!p->list[i].written)
            continue;
        p->list[i].expected = at;
        at += aligned_bytes(p->list[i].bytes);
    }
done:
    return status;
}

typedef enum direction { SAVE, RESTORE, EXPECT } direction;

static bg_status copy_all(const proof *p, direction what)
{
    bg_status status = BG_OK;

    for (int i = 0; i < p->count; i++) {
        const held *h = &p->list[i];
        void *to = what == SAVE ? h->before : what == EXPECT ? h->expected : h->tensor.data;
        const void *from = what == RESTORE ? h->before : h->tensor.data;
        if (!h->written)
            continue;
        BG__TRY_CUDA(cudaMemcpyAsync(to, from, h->bytes, cudaMemcpyDefault, p->stream));
    }
done:
    return status;
}

/* The last half of the rows of what is written, or of copies of what is only read. */
static bg_status clear_padding(const proof *p, bool written)
{
    bg_status status = BG_OK;

    for (int i = 0; i < p->count; i++) {
        const held *h = &p->list[i];
        size_t row = h->bytes / (size_t)p->run->rows, rows = (size_t)p->run->rows / 2;
        char *end = (written ? (char *)h->tensor.data : h->before) + h->bytes;
        if (h->written == written && has_padding(p, &h->tensor))
            BG__TRY_CUDA(cudaMemsetAsync(end - rows * row, 0, rows * row, p->stream));
    }
done:
    return status;
}

static bg_status pad_copies(const proof *p)
{
    bg_status status = BG_OK;

    for (int i = 0; i < p->count; i++) {
        const held *h = &p->list[i];
        if (!h->written)
            BG__TRY_CUDA(cudaMemcpyAsync(h->before, h->tensor.data, h->bytes, cudaMemcpyDefault, p->stream));
    }
    BG__TRY(clear_padding(p, false));
done:
    return status;
}

static void use_copy(const proof *p, bg_tensor *tensor)
{
    for (int i = 0; i < p->count; i++) {
        const held *h = &p->list[i];
        if (h->written || h->shared || !bg__tensor_is_inside(tensor, &h->tensor))
            continue;
        tensor->data = h->before + ((char *)tensor->data - (char *)h->tensor.data);
        return;
    }
}

static void use_copies(const proof *p, const bg_op *op, void *args)
{
    for (uint32_t f = 0; f < op->field_count; f++) {
        bg_tensor *at = (bg_tensor *)(void *)((char *)args + op->fields[f].offset);
        for (int k = 0; k < bg__tensors_in(&op->fields[f]); k++)
            use_copy(p, &at[k]);
    }
}

static bool is_open(const proof *p)
{
    return p->finding->state == BG_FUSION_APPLIED;
}

/* ---- bodies ---- */

/* Outside the graph, as a body at a break. */
static bg_status run_body(const proof *p, bg__call *call, const void *args)
{
    bg_capture *capture = p->piece->capture;
    cudaStream_t stream = call->stream;
    void *own = malloc(call->op->args_size), *want = call->want;
    bg__body_scope scope;
    bg_status status;

    if (own == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the arguments of %s", call->name);
    memcpy(own, args, call->op->args_size);
    if (p->padded)
        use_copies(p, call->op, own);
    scope = bg__body_enter(BG_PHASE_EAGER, call);
    capture->in_body = true;
    call->want = NULL; /* what it has captured stays */
    status = bg__call_run(call, call->op->body, own, p->stream);
    call->want = want;
    capture->in_body = false;
    bg__body_leave(scope);
    if (status == BG_OK)
        bg__pending_note(); /* it may have left an error of its own */
    call->stream = stream;
    free(own);
    return status;
}

static bg_status run_calls(const proof *p)
{
    bg_status status = BG_OK;
    for (int i = 0; i < p->run->rule->count && status == BG_OK; i++)
        status = run_body(p, p->run->calls[i], p->run->calls[i]->kept);
    return status;
}

static bg_status run_op(proof *p)
{
    return run_body(p, &p->op, p->run->args);
}

/* ---- comparing ---- */

/* A body that fails is a finding, and the calls stay; where memory is short, another capture tries again. */
static bg_status judge_failure(proof *p, bg_status status, const char *what, bg_fusion_state state)
{
    cudaError_t cause = bg__fail_cause();

    if (status == BG_OK || bg__device_is_gone(cause))
        return status;
    bg__ignore(cudaPeekAtLastError());
    p->finding->state = cause == cudaErrorMemoryAllocation ? BG_FUSION_UNPROVEN : state;
    snprintf(p->finding->why, sizeof p->finding->why, "%s: %s", what, bg_last_error());
    return BG_OK;
}

static bg_status try_calls(proof *p)
{
    bg__fail_forget_cause();
    return judge_failure(p, run_calls(p), "the calls cannot run again", BG_FUSION_UNPROVEN);
}

static bg_status try_op(proof *p)
{
    bg_status status;

    bg__fail_forget_cause();
    status = judge_failure(p, run_op(p), "its body failed", BG_FUSION_DIFFERS);
    if (status == BG_OK && p->finding->state == BG_FUSION_APPLIED && p->op.child != NULL) {
        p->finding->state = BG_FUSION_DIFFERS;
        snprintf(p->finding->why, sizeof p->finding->why, "its body calls ops, which the op of a rule must not");
    }
    return status;
}

static bg_status compare_all(proof *p, const char *when)
{
    char difference[240];
    bg_status status = BG_OK;

    p->differs = false;
    for (int i = 0; i < p->count && is_open(p); i++) {
        const held *h = &p->list[i];
        if (!h->written || h->field == NULL)
            continue;
        BG__TRY(bg__debug_hooks.compare(&h->tensor, h->expected, &p->op, p->run->rule->attributes_.tolerance,
                                        p->piece->compiled->room, p->stream, difference, sizeof difference));
        if (difference[0] == '\0')
            continue;
        p->differs = true;
        p->finding->state = BG_FUSION_DIFFERS;
        snprintf(p->finding->why, sizeof p->finding->why, "%s of %s differs from the calls' %s%s: %s", h->field->name,
                 h->call->name, h->field->name, when, difference);
    }
done:
    return status;
}

/* From the memory that there was at first. */
static bg_status run_and_compare(proof *p, bool op, const char *when)
{
    bg_status status;

    BG__TRY(copy_all(p, RESTORE));
    if (p->padded)
        BG__TRY(clear_padding(p, true));
    BG__TRY(op ? try_op(p) : try_calls(p));
    BG__TRY(compare_all(p, when));
done:
    return status;
}

static void set_unproven(const proof *p, const char *what, const char *of)
{
    p->finding->state = BG_FUSION_UNPROVEN;
    snprintf(p->finding->why, sizeof p->finding->why, "%s%.240s", what, of);
}

/* A rule that one rank drops is used on none. Bodies may hold collectives: all ranks run the same ones. */
static bg_status stop_together(proof *p)
{
    bool stopped = !is_open(p);
    bg_status status;

    BG__TRY(bg__ranks_any(&p->piece->capture->graph->ranks, p->run->name, &stopped));
    if (stopped && is_open(p))
        set_unproven(p, "another rank does not use it", "");
done:
    return status;
}

/* Runs the calls and the op once more. Calls whose results vary, such as where other work writes their memory
 * meanwhile, say nothing about the rule. A difference that shows once of twice may be the op's, or such work's: nobody
 * is blamed, and the rule is not tried again. */
static bg_status confirm(proof *p, const char *when)
{
    const bg__finding first = *p->finding;
    bg__finding again;
    bool calls_vary, differs = first.state != BG_FUSION_APPLIED;
    bg_status status;

    p->finding->state = BG_FUSION_APPLIED;
    BG__TRY(run_and_compare(p, false, when));
    calls_vary = !is_open(p);
    p->finding->state = BG_FUSION_APPLIED;
    BG__TRY(run_and_compare(p, true, when));
    again = *p->finding;
    *p->finding = first;
    if (calls_vary) {
        set_unproven(p, "the calls give another result when they run again; other work may write their memory: ",
                     differs ? first.why : again.why);
    } else if (differs != (again.state != BG_FUSION_APPLIED)) {
        set_unproven(p, "once of twice, as other work that writes its memory may have made it: ",
                     differs ? first.why : again.why);
        p->finding->known = true;
    }
done:
    return status;
}

static bg_status judge_op(proof *p, const char *when)
{
    bool differs;
    bg_status status;

    BG__TRY(run_and_compare(p, true, when));
    differs = p->differs;
    BG__TRY(bg__ranks_any(&p->piece->capture->graph->ranks, p->run->name, &differs));
    if (differs)
        BG__TRY(confirm(p, when));
    BG__TRY(stop_together(p));
done:
    return status;
}

static bg_status try_once(proof *p, const char *when)
{
    bg_status status = BG_OK;

    if (p->padded)
        BG__TRY(clear_padding(p, true));
    BG__TRY(try_calls(p));
    BG__TRY(copy_all(p, EXPECT));
    BG__TRY(stop_together(p));
    if (is_open(p))
        BG__TRY(judge_op(p, when));
    BG__TRY(copy_all(p, RESTORE));
done:
    return status;
}

static bg_status try_padded(proof *p)
{
    bg_status status = BG_OK;

    if (p->run->rows < 2 || !is_open(p))
        return BG_OK;
    BG__TRY(pad_copies(p));
    p->padded = true;
    status = try_once(p, " where the last rows are zero, as padding may be");
    p->padded = false;
done:
    return status;
}

/* ---- time ---- */

enum { REPEATS = 4, ROUNDS = 3 };

static bg_status capture_repeated(proof *p, bool op, cudaGraphExec_t *exec)
{
    cudaGraph_t graph = NULL;
    cudaError_t error;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaStreamBeginCapture(p->stream, p->piece->capture->options.mode));
    bg__fail_forget_cause();
    for (int i = 0; i < REPEATS && status == BG_OK; i++)
        status = op ? run_op(p) : run_calls(p);
    error = bg__end_capture(p->stream, &graph);
    if (status == BG_OK && error != cudaSuccess)
        status = bg__fail_cuda(error, "cudaStreamEndCapture");
    else
        bg__ignore(error);
    if (status == BG_OK) {
        error = bg__instantiate(graph, exec);
        if (error != cudaSuccess)
            status = bg__fail_cuda(error, "cudaGraphInstantiate");
    }
    status = judge_failure(p, status, op ? "it cannot be captured" : "the calls cannot be captured again",
                           op ? BG_FUSION_DIFFERS : BG_FUSION_UNPROVEN);
done:
    if (graph != NULL)
        BG__RELEASE(cudaGraphDestroy(graph));
    return status;
}

static bg_status time_launches(const proof *p, cudaGraphExec_t exec, cudaEvent_t begin, cudaEvent_t end, double *us)
{
    float milliseconds;
    double each;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaEventRecord(begin, p->stream));
    BG__TRY_CUDA(cudaGraphLaunch(exec, p->stream));
    BG__TRY_CUDA(cudaEventRecord(end, p->stream));
    BG__TRY_CUDA(cudaEventSynchronize(end));
    BG__TRY_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
    each = milliseconds * 1000.0 / REPEATS;
    if (*us == 0 || each < *us)
        *us = each;
done:
    return status;
}

/* The shortest of several rounds each, in turn; the first round of each is not counted, since it uploads the graph. */
static bg_status measure(const proof *p, cudaGraphExec_t calls, cudaGraphExec_t op)
{
    cudaEvent_t begin = NULL, end = NULL;
    double ignored = 0;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaEventCreate(&begin));
    BG__TRY_CUDA(cudaEventCreate(&end));
    BG__TRY(time_launches(p, calls, begin, end, &ignored));
    BG__TRY(time_launches(p, op, begin, end, &ignored));
    for (int i = 0; i < ROUNDS; i++) {
        BG__TRY(time_launches(p, calls, begin, end, &p->finding->calls_us));
        BG__TRY(time_launches(p, op, begin, end, &p->finding->op_us));
    }
done:
    if (begin != NULL)
        BG__RELEASE(cudaEventDestroy(begin));
    if (end != NULL)
        BG__RELEASE(cudaEventDestroy(end));
    return status;
}

/* What one launch may vary from the next, of the time. */
static const double noise = 1.02;

/* Whether the op can be captured, and how long it takes. The times of the host device say nothing about a GPU. */
static bg_status compare_times(proof *p)
{
    cudaGraphExec_t calls = NULL, op = NULL;
    bg_status status = BG_OK;

    if (!is_open(p))
        return BG_OK;
    BG__TRY(capture_repeated(p, true, &op));
    BG__TRY(stop_together(p));
    if (!is_open(p) || strcmp(bg_device_kind(), "host") == 0)
        goto done;
    BG__TRY(capture_repeated(p, false, &calls));
    BG__TRY(stop_together(p));
    if (!is_open(p))
        goto done;
    BG__TRY(measure(p, calls, op));
    if (p->finding->op_us > p->finding->calls_us * noise) {
        p->finding->state = BG_FUSION_SLOWER;
        snprintf(p->finding->why, sizeof p->finding->why, "it takes %.2f us, and the calls take %.2f us",
                 p->finding->op_us, p->finding->calls_us);
    }
    BG__TRY(copy_all(p, RESTORE));
    BG__TRY(stop_together(p));
done:
    if (calls != NULL)
        BG__RELEASE(cudaGraphExecDestroy(calls));
    if (op != NULL)
        BG__RELEASE(cudaGraphExecDestroy(op));
    return status;
}

/* ---- all of it ---- */

/* Also after a failure memory is as it was before: each copy is tried, since one of them may fail. */
static void restore_anyway(const proof *p)
{
    for (int i = 0; i < p->count; i++) {
        const held *h = &p->list[i];
        cudaError_t error = h->written
                                ? cudaMemcpyAsync(h->tensor.data, h->before, h->bytes, cudaMemcpyDefault, p->stream)
                                : cudaSuccess;
        bg__ignore(error);
        if (error != cudaSuccess && !bg__device_is_gone(error))
            bg__warn("%s of %s could not be restored after a proof of %s: %s",
                     h->field != NULL ? h->field->name : "scratch", h->call->name, p->run->name,
                     cudaGetErrorName(error));
    }
}

static bg_status prove(proof *p)
{
    bool saved = false;
    bg_status status;

    BG__TRY(hold_all(p));
    BG__TRY(hold_memory(p));
    find_shared(p);
    status = take_room(p);
    if (status == BG_ERROR_OUT_OF_MEMORY) { /* a pass that fits without its proofs is not to fail */
        bg__fail_forget_cause();
        status = judge_failure(p, status, "the proof needs more memory", BG_FUSION_UNPROVEN);
    }
    BG__TRY(status);
    BG__TRY(stop_together(p));
    if (!is_open(p))
        goto done;
    BG__TRY(copy_all(p, SAVE));
    saved = true;
    BG__TRY(try_once(p, ""));
    BG__TRY(try_padded(p));
    BG__TRY(compare_times(p));
    BG__TRY_CUDA(cudaStreamSynchronize(p->stream)); /* the op's memory is freed next */
done:
    if (status != BG_OK && saved)
        restore_anyway(p);
    return status;
}

bg_status bg__referee_prove_run(const bg__piece *piece, const bg__run *run, bg__finding *finding)
{
    proof p = {.piece = piece,
               .run = run,
               .stream = piece->capture->origin,
               .finding = finding,
               .op = {.op = run->rule->op,
                      .site = run->calls[0]->site,
                      .recorded = true,
                      .index = (unsigned)run->number,
                      .name = run->name}};
    char hidden = bg__fail_hide();
    bg_status status;

    p.op.memory = &p.op.own;
    status = prove(&p);
    if (status != BG_OK)
        bg__ignore(cudaStreamSynchronize(p.stream));
    else
        bg__fail_unhide(hidden);
    bg__call_clear(&p.op);
    free(p.list);
    return status;
}
