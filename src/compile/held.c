/* The tensors of a run's calls, and their contents during its proof. */
#include "compile/proof.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/library/random.h"

static const unsigned long long seed = 1;

/* ---- the tensors of the calls ---- */

static bg__held *find_held(const bg__proof *p, const bg_tensor *tensor)
{
    for (int i = 0; i < p->count; i++)
        if (p->list[i].tensor.data == tensor->data && p->list[i].bytes == bg_tensor_bytes(tensor))
            return &p->list[i];
    return NULL;
}

/* Whether the last rows of a tensor may be padding. Integers are excluded, since they may be indices. */
static bool has_padding(const bg__proof *p, const bg__held *h)
{
    return p->run->rows > 1 && bg__tensor_is_float(&h->tensor) && h->tensor.rank > 0 &&
           h->tensor.dim[0] == p->run->rows;
}

static bg_status add_held(bg__proof *p, bg__held held)
{
    bg_status status;
    BG__TRY(BG__GROW(p->list, p->count, p->capacity, "tensors of a rule"));
    p->list[p->count++] = held;
done:
    return status;
}

/* The last call that writes a tensor gives it its name in messages. */
static bg_status hold(bg__proof *p, const bg__call *call, const bg_field *field, const bg_tensor *tensor)
{
    bool written = field->role != BG_ROLE_IN;
    bg__held *known = find_held(p, tensor);

    if (bg_tensor_bytes(tensor) == 0)
        return BG_OK;
    if (known == NULL)
        return add_held(p, (bg__held){.tensor = *tensor,
                                      .call = call,
                                      .field = field,
                                      .bytes = bg_tensor_bytes(tensor),
                                      .writer = written ? call : NULL,
                                      .written = written,
                                      .output = written && field->role != BG_ROLE_INOUT});
    if (!written && known->writer == call) /* in place */
        known->output = false;
    if (tensor->dtype != known->tensor.dtype) { /* floats have tolerances; integers may be places in memory */
        known->mixed = true;
        known->tensor = bg__tensor_is_float(tensor) ? *tensor : known->tensor;
    }
    if (written) {
        known->writer = known->written ? known->writer : call;
        known->written = true;
        known->call = call;
        known->field = field;
    }
    return BG_OK;
}

typedef bg_status (*visit)(bg__proof *p, const bg__call *call, const bg_field *field, const bg_tensor *tensor);

static bg_status each_tensor(bg__proof *p, visit visit)
{
    bg_status status = BG_OK;

    for (int i = 0; i < p->run->rule->count; i++) {
        const bg__call *call = p->run->calls[i];
        for (uint32_t f = 0; f < call->op->field_count; f++) {
            const bg_tensor *at = bg__tensors_of(&call->op->fields[f], call->kept);
            for (int k = 0; k < bg__tensors_in(&call->op->fields[f]); k++)
                BG__TRY(visit(p, call, &call->op->fields[f], &at[k]));
        }
    }
done:
    return status;
}

/* A call's scratch may lie where an earlier call had an input that was released in between. */
static bg_status hold_memory(bg__proof *p)
{
    int tensors = p->count;
    bg_status status = BG_OK;

    for (int i = 0; i < p->run->rule->count; i++) {
        const bg__call *call = p->run->calls[i];
        for (size_t b = 0; b < call->memory->count; b++) {
            const bg__block *block = &call->memory->blocks[b];
            bg_tensor memory = bg_tensor_1d(block->ptr, BG_U8, (int64_t)block->bytes);
            bool has_tensor = false;
            for (int h = 0; h < tensors; h++) {
                bool overlaps = bg__tensors_overlap(&p->list[h].tensor, &memory);
                p->list[h].reused |= overlaps;
                has_tensor |= overlaps;
                if (overlaps && !p->list[h].written) /* the rest of the tensor must be restored, too */
                    BG__TRY(add_held(
                        p, (bg__held){
                               .tensor = p->list[h].tensor, .call = call, .bytes = p->list[h].bytes, .written = true}));
            }
            if (has_tensor)
                BG__TRY(
                    add_held(p, (bg__held){.tensor = memory, .call = call, .bytes = block->bytes, .written = true}));
        }
    }
done:
    return status;
}

static bg_status note_shared(bg__proof *p, const bg__call *call, const bg_field *field, const bg_tensor *tensor)
{
    bool reads = field->role == BG_ROLE_IN || field->role == BG_ROLE_INOUT;

    for (int i = 0; i < p->count; i++) {
        bg__held *h = &p->list[i];
        h->shared |= bg__tensors_overlap_in_part(tensor, &h->tensor);
        h->read |= reads && h->written && h->writer != call && bg__tensors_overlap(tensor, &h->tensor);
    }
    return BG_OK;
}

/* Pageable host memory can be copied, but kernels can neither fill nor compare it. */
static bg_status refuse(bg__proof *p)
{
    bool any = false;
    bg_status status = BG_OK;

    for (int i = 0; i < p->count && bg__proof_is_open(p); i++) {
        const bg__held *h = &p->list[i];
        const char *name = h->field != NULL ? h->field->name : "memory";
        struct cudaPointerAttributes attributes;
        BG__TRY_CUDA(cudaPointerGetAttributes(&attributes, h->tensor.data));
        any |= h->written && h->field != NULL;
        if (attributes.type == cudaMemoryTypeUnregistered)
            bg__finding_set(p->finding, BG_FUSION_UNPROVEN,
                            "%s of %s is in pageable memory of the host, with which nothing can be proven", name,
                            h->call->name);
        else if ((uintptr_t)h->tensor.data % bg_dtype_bytes(h->tensor.dtype) != 0)
            bg__finding_set(p->finding, BG_FUSION_UNPROVEN, "%s of %s is not aligned to its type", name, h->call->name);
    }
    if (!any && bg__proof_is_open(p))
        bg__finding_set(p->finding, BG_FUSION_UNPROVEN, "the calls write no tensor that could be compared");
done:
    return status;
}

/* ---- room ---- */

bg_status bg__room_need(const bg__proof *p, size_t bytes)
{
    bg__compiled *compiled = p->piece->compiled;
    bg_status status = BG_OK;

    if (bytes <= compiled->room_bytes)
        return BG_OK;
    bg__device_free(compiled->room);
    compiled->room = NULL;
    compiled->room_bytes = 0;
    BG__TRY(bg__device_alloc(bytes, &compiled->room));
    compiled->room_bytes = bytes;
done:
    return status;
}

static bool needs_copy(const bg__proof *p, const bg__held *h)
{
    return !h->written && !h->shared && (has_padding(p, h) || h->constant);
}

/* Lays out the tensors' copies from base on; base NULL: only measures. Returns the end. */
static size_t place_copies(bg__proof *p, char *base, bool keep_inputs)
{
    size_t at = bg__room_aligned(bg__proof_results_bytes(p));

    for (int i = 0; i < p->count; i++) {
        bg__held *h = &p->list[i];
        char **places[] = {h->written || keep_inputs ? &h->before : NULL, h->written ? &h->expected : NULL,
                           needs_copy(p, h) ? &h->copy : NULL};
        for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
            if (places[k] == NULL)
                continue;
            at += places[k] == &h->copy ? (uintptr_t)h->tensor.data % BG__ROOM_ALIGNED : 0; /* aligned as the tensor */
            if (base != NULL)
                *places[k] = base + at;
            at = bg__room_aligned(at + h->bytes);
        }
    }
    return at;
}

/* Inputs are saved if there is room for them. Too little memory closes the proof: a pass that fits without its proofs
 * must not fail. */
static bg_status take_room(bg__proof *p)
{
    bool keep_inputs = true;
    bg_status status = bg__room_need(p, place_copies(p, NULL, true));

    if (status == BG_ERROR_OUT_OF_MEMORY) {
        keep_inputs = false;
        bg__fail_forget_cause();
        bg__ignore(cudaPeekAtLastError());
        status = bg__room_need(p, place_copies(p, NULL, false));
    }
    if (status == BG_ERROR_OUT_OF_MEMORY) {
        bg__fail_forget_cause();
        bg__ignore(cudaPeekAtLastError());
        bg__finding_set(p->finding, BG_FUSION_UNPROVEN, "the proof needs more memory: %s", bg_last_error());
        return BG_OK;
    }
    if (status == BG_OK)
        place_copies(p, p->piece->compiled->room, keep_inputs);
    return status;
}

/* ---- contents ---- */

bg_status bg__held_list(bg__proof *p)
{
    bg_status status;
    BG__TRY(each_tensor(p, hold));
    BG__TRY(hold_memory(p));
    BG__TRY(each_tensor(p, note_shared));
    BG__TRY(refuse(p));
done:
    return status;
}

bg_status bg__held_keep(bg__proof *p)
{
    bg_status status;

    BG__TRY(take_room(p));
    for (int i = 0; i < p->count && bg__proof_is_open(p); i++)
        if (p->list[i].before != NULL)
            BG__TRY_CUDA(cudaMemcpyAsync(p->list[i].before, p->list[i].tensor.data, p->list[i].bytes, cudaMemcpyDefault,
                                         p->stream));
done:
    return status;
}

static bg_status clear_tail(const bg__proof *p, const bg__held *h, char *memory)
{
    size_t row = h->bytes / (size_t)p->run->rows, rows = (size_t)p->run->rows / 2;
    bg_status status = BG_OK;
    BG__TRY_CUDA(cudaMemsetAsync(memory + h->bytes - rows * row, 0, rows * row, p->stream));
done:
    return status;
}

static bg_status fill_random(const bg__proof *p, const bg__held *h, char *memory)
{
    static const bgk_element elements[] = {[BG_F32] = BGK_ELEMENT_F32,
                                           [BG_F64] = BGK_ELEMENT_F64,
                                           [BG_F16] = BGK_ELEMENT_F16,
                                           [BG_BF16] = BGK_ELEMENT_BF16};
    bg_status status = BG_OK;
    BG__TRY_CUDA(bgk_fill_random(memory, h->bytes / bg_dtype_bytes(h->tensor.dtype), elements[h->tensor.dtype],
                                 seed + (unsigned long long)(h - p->list), p->stream));
done:
    return status;
}

/* Whether the trial uses other values than the pass. */
static bool is_other(const bg__proof *p, const bg__held *h)
{
    if (h->output || h->shared || h->mixed || h->field == NULL)
        return false;
    return p->contents == BG__CONTENTS_PADDED
               ? has_padding(p, h)
               : p->contents == BG__CONTENTS_RANDOM && h->constant && bg__tensor_is_float(&h->tensor);
}

/* The byte that fills an output before a trial: NaN for floats, an unlikely value for integers (-1 is a likely one). An
 * output that a later call of the run reads gets other values, since that call may read elements that nothing has
 * written: large numbers, different in each tensor, so that its result is not NaN, and 0 for integers, so that no index
 * is out of range. */
static int pattern_of(const bg__proof *p, const bg__held *h)
{
    enum { NOT_A_NUMBER = 0xff, ONE = 0x5a, OTHER = 0xa5, LARGE = 0x7a, LARGE_ONES = 16 };
    if (h->read)
        return bg__tensor_is_float(&h->tensor) ? LARGE - (int)(h - p->list) % LARGE_ONES : 0;
    return bg__tensor_is_float(&h->tensor) ? NOT_A_NUMBER : p->contents == BG__CONTENTS_PATTERN ? ONE : OTHER;
}

/* Integers that a later call of the run reads are 0 in the first trial and 1 in the others. With 0 alone, an op that
 * adds to them, or that skips them where they are 0, would pass. */
static bg_status fill_output(const bg__proof *p, const bg__held *h, char *memory)
{
    const size_t element = bg_dtype_bytes(h->tensor.dtype);
    const bool index = h->read && !bg__tensor_is_float(&h->tensor);
    bg_status status = BG_OK;

    if (p->contents == BG__CONTENTS_REAL && !index)
        return BG_OK;
    BG__TRY_CUDA(cudaMemsetAsync(memory, pattern_of(p, h), h->bytes, p->stream));
    if (index && p->contents != BG__CONTENTS_PATTERN && h->bytes >= element)
        BG__TRY_CUDA(cudaMemset2DAsync(memory, element, 1, 1, h->bytes / element, p->stream));
done:
    return status;
}

static bg_status prepare(const bg__proof *p, const bg__held *h)
{
    char *memory = h->written ? h->tensor.data : h->copy;
    bg_status status = BG_OK;

    if (h->written)
        BG__TRY_CUDA(cudaMemcpyAsync(memory, h->before, h->bytes, cudaMemcpyDefault, p->stream));
    if (h->output)
        BG__TRY(fill_output(p, h, memory));
    if (!is_other(p, h))
        goto done;
    if (!h->written)
        BG__TRY_CUDA(cudaMemcpyAsync(memory, h->tensor.data, h->bytes, cudaMemcpyDefault, p->stream));
    BG__TRY(p->contents == BG__CONTENTS_PADDED ? clear_tail(p, h, memory) : fill_random(p, h, memory));
done:
    return status;
}

/* A call's memory may overlap outputs and released inputs: it is filled first, and copies last. */
static int order_of(const bg__held *h)
{
    return h->field == NULL ? 0 : h->written ? 1 : 2;
}

bg_status bg__held_prepare(const bg__proof *p)
{
    bg_status status = BG_OK;
    for (int order = 0; order < 3; order++)
        for (int i = 0; i < p->count; i++)
            if (order_of(&p->list[i]) == order)
                BG__TRY(prepare(p, &p->list[i]));
done:
    return status;
}

/* The contents of scratch are undefined: fills it with NaN, or -1 for integers. */
bg_status bg__held_fill_scratch(const bg__proof *p)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < p->op.own.count && p->contents == BG__CONTENTS_PATTERN; i++)
        if (p->op.own.blocks[i].kind == BG__SCRATCH)
            BG__TRY_CUDA(cudaMemsetAsync(p->op.own.blocks[i].ptr, 0xff, p->op.own.blocks[i].bytes, p->stream));
done:
    return status;
}

bg_status bg__held_expect(const bg__proof *p)
{
    bg_status status = BG_OK;
    for (int i = 0; i < p->count; i++)
        if (p->list[i].written)
            BG__TRY_CUDA(cudaMemcpyAsync(p->list[i].expected, p->list[i].tensor.data, p->list[i].bytes,
                                         cudaMemcpyDefault, p->stream));
done:
    return status;
}

/* Restores memory after a failure, too: tries each copy, even if another one fails. */
bg_status bg__held_restore(const bg__proof *p)
{
    bg_status status = BG_OK;

    for (int i = 0; i < p->count; i++) {
        const bg__held *h = &p->list[i];
        cudaError_t error = h->before != NULL && (h->written || p->failed)
                                ? cudaMemcpyAsync(h->tensor.data, h->before, h->bytes, cudaMemcpyDefault, p->stream)
                                : cudaSuccess;
        if (error == cudaSuccess)
            continue;
        if (!bg__device_is_gone(error))
            bg__warn("%s of %s could not be restored after a proof of %s: %s",
                     h->field != NULL ? h->field->name : "scratch", h->call->name, p->run->name,
                     cudaGetErrorName(error));
        if (status == BG_OK)
            status = bg__fail_cuda(error, "cudaMemcpyAsync");
        else
            bg__ignore(error);
    }
    return status;
}

/* ---- inputs ---- */

const char *bg__held_read_at(const bg__proof *p, const bg__held *h)
{
    return is_other(p, h) ? h->copy : h->tensor.data;
}

bg_status bg__held_put_back(const bg__proof *p, const bg__held *h)
{
    bg_status status = BG_OK;

    if (is_other(p, h))
        return BG_OK;
    if (h->before != NULL)
        BG__TRY_CUDA(cudaMemcpyAsync(h->tensor.data, h->before, h->bytes, cudaMemcpyDefault, p->stream));
    else
        bg__warn("%s has changed %s of %s, which it must not write, and there was no memory to keep what that held",
                 p->run->name, h->field->name, h->call->name);
done:
    return status;
}

/* ---- copies ---- */

static void use_copy(const bg__proof *p, bg_tensor *tensor)
{
    for (int i = 0; i < p->count; i++) {
        const bg__held *h = &p->list[i];
        if (h->written || !is_other(p, h) || !bg__tensor_is_inside(tensor, &h->tensor))
            continue;
        tensor->data = h->copy + ((char *)tensor->data - (char *)h->tensor.data);
        return;
    }
}

void bg__held_use_copies(const bg__proof *p, const bg_op *op, void *args)
{
    for (uint32_t f = 0; f < op->field_count; f++) {
        bg_tensor *at = (bg_tensor *)(void *)((char *)args + op->fields[f].offset);
        for (int k = 0; k < bg__tensors_in(&op->fields[f]); k++)
            use_copy(p, &at[k]);
    }
}
