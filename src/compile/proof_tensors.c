/* The tensors of a run's calls, and their contents during its proof. */
#include "compile/proof.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/library/random.h"

static const unsigned long long random_seed = 1;

/* ---- the tensors of the calls ---- */

static bg__proof_tensor *find_tensor(const bg__proof *p, const bg_tensor *tensor)
{
    for (int i = 0; i < p->count; i++)
        if (p->list[i].tensor.data == tensor->data && p->list[i].bytes == bg_tensor_bytes(tensor))
            return &p->list[i];
    return NULL;
}

/* Whether the last rows of a tensor may be padding. Integers are excluded, since they may be indices. */
static bool has_padding(const bg__proof *p, const bg__proof_tensor *h)
{
    return p->run->rows > 1 && bg__tensor_is_float(&h->tensor) && h->tensor.rank > 0 &&
           h->tensor.dim[0] == p->run->rows;
}

static bg_status add_tensor(bg__proof *p, bg__proof_tensor held)
{
    bg_status status;
    BG__TRY(BG__ARRAY_GROW(p->list, p->count, p->capacity, "tensors of a rule"));
    p->list[p->count++] = held;
done:
    return status;
}

/* The last call that writes a tensor gives it its name in messages. */
static bg_status record_tensor(bg__proof *p, const bg__call *call, const bg_field *field, const bg_tensor *tensor)
{
    bool written = field->role != BG_ROLE_IN;
    bg__proof_tensor *known = find_tensor(p, tensor);

    if (bg_tensor_bytes(tensor) == 0)
        return BG_OK;
    if (known == NULL)
        return add_tensor(p, (bg__proof_tensor){.tensor = *tensor,
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

static bg_status visit_tensors(bg__proof *p, visit visit)
{
    bg_status status = BG_OK;

    for (int i = 0; i < p->run->rule->count; i++) {
        const bg__call *call = p->run->calls[i];
        for (uint32_t f = 0; f < call->op->field_count; f++) {
            const bg_tensor *at = bg__field_tensors(&call->op->fields[f], call->kept);
            for (int k = 0; k < bg__field_count_tensors(&call->op->fields[f]); k++)
                BG__TRY(visit(p, call, &call->op->fields[f], &at[k]));
        }
    }
done:
    return status;
}

/* A call's scratch may lie where an earlier call had an input that was released in between. */
static bg_status record_call_memory(bg__proof *p)
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
                    BG__TRY(add_tensor(
                        p, (bg__proof_tensor){
                               .tensor = p->list[h].tensor, .call = call, .bytes = p->list[h].bytes, .written = true}));
            }
            if (has_tensor)
                BG__TRY(add_tensor(
                    p, (bg__proof_tensor){.tensor = memory, .call = call, .bytes = block->bytes, .written = true}));
        }
    }
done:
    return status;
}

static bg_status mark_shared(bg__proof *p, const bg__call *call, const bg_field *field, const bg_tensor *tensor)
{
    bool reads = field->role == BG_ROLE_IN || field->role == BG_ROLE_INOUT;

    for (int i = 0; i < p->count; i++) {
        bg__proof_tensor *h = &p->list[i];
        h->shared |= bg__tensors_overlap_in_part(tensor, &h->tensor);
        h->read |= reads && h->written && h->writer != call && bg__tensors_overlap(tensor, &h->tensor);
    }
    return BG_OK;
}

/* Pageable host memory can be copied, but kernels can neither fill nor compare it. */
static bg_status refuse_unprovable(bg__proof *p)
{
    bool any = false;
    bg_status status = BG_OK;

    for (int i = 0; i < p->count && bg__proof_is_open(p); i++) {
        const bg__proof_tensor *h = &p->list[i];
        const char *name = h->field != NULL ? h->field->name : "memory";
        struct cudaPointerAttributes attributes;
        BG__TRY_CUDA(cudaPointerGetAttributes(&attributes, h->tensor.data));
        any |= h->written && h->field != NULL;
        if (attributes.type == cudaMemoryTypeUnregistered)
            bg__proof_outcome_set(
                p->finding, BG_FUSION_UNPROVEN,
                "%s of %s is in pageable host memory, which kernels cannot compare; use memory of cudaMallocHost", name,
                h->call->name);
        else if ((uintptr_t)h->tensor.data % bg_dtype_bytes(h->tensor.dtype) != 0)
            bg__proof_outcome_set(p->finding, BG_FUSION_UNPROVEN, "%s of %s is not aligned to its type", name,
                                  h->call->name);
    }
    if (!any && bg__proof_is_open(p))
        bg__proof_outcome_set(p->finding, BG_FUSION_UNPROVEN,
                              "the calls write no tensor, so there is nothing to compare; declare their outputs");
done:
    return status;
}

/* ---- room ---- */

bg_status bg__proof_reserve(const bg__proof *p, size_t bytes)
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

static bool needs_copy(const bg__proof *p, const bg__proof_tensor *h)
{
    return !h->written && !h->shared && (has_padding(p, h) || h->constant);
}

/* Lays out the tensors' copies from base on; base NULL: only measures. Returns the end. */
static size_t lay_out_copies(bg__proof *p, char *base, bool keep_inputs)
{
    size_t at = bg__proof_align(bg__proof_results_bytes(p));

    for (int i = 0; i < p->count; i++) {
        bg__proof_tensor *h = &p->list[i];
        char **places[] = {h->written || keep_inputs ? &h->before : NULL, h->written ? &h->expected : NULL,
                           needs_copy(p, h) ? &h->copy : NULL};
        for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
            if (places[k] == NULL)
                continue;
            at +=
                places[k] == &h->copy ? (uintptr_t)h->tensor.data % BG__PROOF_ALIGNMENT : 0; /* aligned as the tensor */
            if (base != NULL)
                *places[k] = base + at;
            at = bg__proof_align(at + h->bytes);
        }
    }
    return at;
}

/* Inputs are saved if there is room for them. Too little memory closes the proof: a pass that fits without its proofs
 * must not fail. */
static bg_status allocate_copies(bg__proof *p)
{
    bool keep_inputs = true;
    bg_status status = bg__proof_reserve(p, lay_out_copies(p, NULL, true));

    if (status == BG_ERROR_OUT_OF_MEMORY) {
        keep_inputs = false;
        bg__error_clear_cuda_cause();
        bg__clear_cuda_error(cudaPeekAtLastError());
        status = bg__proof_reserve(p, lay_out_copies(p, NULL, false));
    }
    if (status == BG_ERROR_OUT_OF_MEMORY) {
        bg__error_clear_cuda_cause();
        bg__clear_cuda_error(cudaPeekAtLastError());
        bg__proof_outcome_set(p->finding, BG_FUSION_UNPROVEN, "the proof needs more memory: %s", bg_last_error());
        return BG_OK;
    }
    if (status == BG_OK)
        lay_out_copies(p, p->piece->compiled->room, keep_inputs);
    return status;
}

/* ---- contents ---- */

bg_status bg__proof_tensors_collect(bg__proof *p)
{
    bg_status status;
    BG__TRY(visit_tensors(p, record_tensor));
    BG__TRY(record_call_memory(p));
    BG__TRY(visit_tensors(p, mark_shared));
    BG__TRY(refuse_unprovable(p));
done:
    return status;
}

bg_status bg__proof_tensors_save(bg__proof *p)
{
    bg_status status;

    BG__TRY(allocate_copies(p));
    for (int i = 0; i < p->count && bg__proof_is_open(p); i++)
        if (p->list[i].before != NULL)
            BG__TRY_CUDA(cudaMemcpyAsync(p->list[i].before, p->list[i].tensor.data, p->list[i].bytes, cudaMemcpyDefault,
                                         p->stream));
done:
    return status;
}

static bg_status clear_padding_rows(const bg__proof *p, const bg__proof_tensor *h, char *memory)
{
    size_t row = h->bytes / (size_t)p->run->rows, rows = (size_t)p->run->rows / 2;
    bg_status status = BG_OK;
    BG__TRY_CUDA(cudaMemsetAsync(memory + h->bytes - rows * row, 0, rows * row, p->stream));
done:
    return status;
}

static bg_status fill_random(const bg__proof *p, const bg__proof_tensor *h, char *memory)
{
    static const bgk_element elements[] = {[BG_F32] = BGK_ELEMENT_F32,
                                           [BG_F64] = BGK_ELEMENT_F64,
                                           [BG_F16] = BGK_ELEMENT_F16,
                                           [BG_BF16] = BGK_ELEMENT_BF16};
    bg_status status = BG_OK;
    BG__TRY_CUDA(bgk_fill_random(memory, h->bytes / bg_dtype_bytes(h->tensor.dtype), elements[h->tensor.dtype],
                                 random_seed + (unsigned long long)(h - p->list), p->stream));
done:
    return status;
}

/* Whether the trial uses other values than the pass. */
static bool has_other_values(const bg__proof *p, const bg__proof_tensor *h)
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
static int output_pattern(const bg__proof *p, const bg__proof_tensor *h)
{
    enum { NOT_A_NUMBER = 0xff, ONE = 0x5a, OTHER = 0xa5, LARGE = 0x7a, LARGE_ONES = 16 };
    if (h->read)
        return bg__tensor_is_float(&h->tensor) ? LARGE - (int)(h - p->list) % LARGE_ONES : 0;
    return bg__tensor_is_float(&h->tensor) ? NOT_A_NUMBER : p->contents == BG__CONTENTS_PATTERN ? ONE : OTHER;
}

/* Integers that a later call of the run reads are 0 in the first trial and 1 in the others. With 0 alone, an op that
 * adds to them, or that skips them where they are 0, would pass. */
static bg_status fill_output(const bg__proof *p, const bg__proof_tensor *h, char *memory)
{
    const size_t element = bg_dtype_bytes(h->tensor.dtype);
    const bool index = h->read && !bg__tensor_is_float(&h->tensor);
    bg_status status = BG_OK;

    if (p->contents == BG__CONTENTS_REAL && !index)
        return BG_OK;
    BG__TRY_CUDA(cudaMemsetAsync(memory, output_pattern(p, h), h->bytes, p->stream));
    if (index && p->contents != BG__CONTENTS_PATTERN && h->bytes >= element)
        BG__TRY_CUDA(cudaMemset2DAsync(memory, element, 1, 1, h->bytes / element, p->stream));
done:
    return status;
}

static bg_status fill_tensor(const bg__proof *p, const bg__proof_tensor *h)
{
    char *memory = h->written ? h->tensor.data : h->copy;
    bg_status status = BG_OK;

    if (h->written)
        BG__TRY_CUDA(cudaMemcpyAsync(memory, h->before, h->bytes, cudaMemcpyDefault, p->stream));
    if (h->output)
        BG__TRY(fill_output(p, h, memory));
    if (!has_other_values(p, h))
        goto done;
    if (!h->written)
        BG__TRY_CUDA(cudaMemcpyAsync(memory, h->tensor.data, h->bytes, cudaMemcpyDefault, p->stream));
    BG__TRY(p->contents == BG__CONTENTS_PADDED ? clear_padding_rows(p, h, memory) : fill_random(p, h, memory));
done:
    return status;
}

/* A call's memory may overlap outputs and released inputs: it is filled first, and copies last. */
static int fill_order(const bg__proof_tensor *h)
{
    return h->field == NULL ? 0 : h->written ? 1 : 2;
}

bg_status bg__proof_tensors_fill(const bg__proof *p)
{
    bg_status status = BG_OK;
    for (int order = 0; order < 3; order++)
        for (int i = 0; i < p->count; i++)
            if (fill_order(&p->list[i]) == order)
                BG__TRY(fill_tensor(p, &p->list[i]));
done:
    return status;
}

/* The contents of scratch are undefined: fills it with NaN, or -1 for integers. */
bg_status bg__proof_fill_scratch(const bg__proof *p)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < p->op.own.count && p->contents == BG__CONTENTS_PATTERN; i++)
        if (p->op.own.blocks[i].kind == BG__SCRATCH)
            BG__TRY_CUDA(cudaMemsetAsync(p->op.own.blocks[i].ptr, 0xff, p->op.own.blocks[i].bytes, p->stream));
done:
    return status;
}

bg_status bg__proof_save_expected(const bg__proof *p)
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
bg_status bg__proof_tensors_restore(const bg__proof *p)
{
    bg_status status = BG_OK;

    for (int i = 0; i < p->count; i++) {
        const bg__proof_tensor *h = &p->list[i];
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
            bg__clear_cuda_error(error);
    }
    return status;
}

/* ---- inputs ---- */

const char *bg__proof_input_address(const bg__proof *p, const bg__proof_tensor *h)
{
    return has_other_values(p, h) ? h->copy : h->tensor.data;
}

bg_status bg__proof_restore_input(const bg__proof *p, const bg__proof_tensor *h)
{
    bg_status status = BG_OK;

    if (has_other_values(p, h))
        return BG_OK;
    if (h->before != NULL)
        BG__TRY_CUDA(cudaMemcpyAsync(h->tensor.data, h->before, h->bytes, cudaMemcpyDefault, p->stream));
    else
        bg__warn("%s has changed %s of %s, an input; there was no memory to save it, so its contents are lost",
                 p->run->name, h->field->name, h->call->name);
done:
    return status;
}

/* ---- copies ---- */

static void substitute_copy(const bg__proof *p, bg_tensor *tensor)
{
    for (int i = 0; i < p->count; i++) {
        const bg__proof_tensor *h = &p->list[i];
        if (h->written || !has_other_values(p, h) || !bg__tensor_is_inside(tensor, &h->tensor))
            continue;
        tensor->data = h->copy + ((char *)tensor->data - (char *)h->tensor.data);
        return;
    }
}

void bg__proof_substitute_copies(const bg__proof *p, const bg_op *op, void *args)
{
    for (uint32_t f = 0; f < op->field_count; f++) {
        bg_tensor *at = (bg_tensor *)(void *)((char *)args + op->fields[f].offset);
        for (int k = 0; k < bg__field_count_tensors(&op->fields[f]); k++)
            substitute_copy(p, &at[k]);
    }
}
