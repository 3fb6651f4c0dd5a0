/* What a proof measures on the device: contents of memory, whether inputs have changed, and differences from the
 * expected contents. All work is queued; one wait reads the results. */
#include "compile/proof.h"

#include <stdlib.h>
#include <string.h>

/* ---- layout ---- */

/* Lays out the lists in device memory, or in the host's copy of it. */
static void lay_out_results(bg__proof_results *results, int count, void *memory)
{
    size_t n = (size_t)count;
    results->differences = memory;
    results->probes = (bgk_probe *)(void *)(results->differences + n * BG__TRIAL_SLOTS);
    results->heads = (unsigned long long *)(void *)(results->probes + n * BG__TRIAL_SLOTS);
}

static bgk_difference *difference_at(const bg__proof *p, const bg__proof_results *results, bg__trial_slot slot,
                                     int index)
{
    return &results->differences[(int)slot * p->count + index];
}

static bgk_probe *probe_at(const bg__proof *p, const bg__proof_results *results, bg__trial_slot slot, int index)
{
    return &results->probes[(int)slot * p->count + index];
}

/* ---- what the device finds ---- */

static bg_status clear_results(bg__proof *p)
{
    bg_status status = BG_OK;

    lay_out_results(&p->room, p->count, p->piece->compiled->room);
    memset(p->found.differences, 0, bg__proof_results_bytes(p));
    for (int i = 0; i < BG__TRIAL_SLOTS * p->count; i++)
        p->found.differences[i] = (bgk_difference)BGK_DIFFERENCE_NONE;
    BG__TRY_CUDA(cudaMemcpyAsync(p->room.differences, p->found.differences, bg__proof_results_bytes(p),
                                 cudaMemcpyHostToDevice, p->stream));
done:
    return status;
}

static bg_status read_results(const bg__proof *p)
{
    bg_status status = BG_OK;
    BG__TRY_CUDA(cudaMemcpyAsync(p->found.differences, p->room.differences, bg__proof_results_bytes(p),
                                 cudaMemcpyDeviceToHost, p->stream));
    BG__TRY_CUDA(cudaStreamSynchronize(p->stream));
done:
    return status;
}

static bg_status allocate_results(bg__proof *p)
{
    p->memory = malloc(bg__proof_results_bytes(p));
    if (p->memory == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %d tensors", p->count);
    lay_out_results(&p->found, p->count, p->memory);
    return bg__proof_reserve(p, bg__proof_align(bg__proof_results_bytes(p)));
}

/* ---- constants ---- */

enum { HEAD_BYTES = sizeof(unsigned long long) };

static bool is_call_input(const bg__proof_tensor *h)
{
    return !h->output && h->field != NULL;
}

/* Queues two digests: of the tensor without its last word, and without its first. If the digests are equal, and the
 * elements in the first word are equal, all elements are equal. */
static bg_status queue_constant_check(const bg__proof *p, int index)
{
    static const bg__trial_slot slots[] = {BG__SLOT_BEFORE, BG__SLOT_CALLS};
    const bg__proof_tensor *h = &p->list[index];
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaMemcpyAsync(&p->room.heads[index], h->tensor.data, h->bytes < HEAD_BYTES ? h->bytes : HEAD_BYTES,
                                 cudaMemcpyDefault, p->stream));
    for (size_t k = 0; k < 2 && h->bytes > HEAD_BYTES; k++)
        BG__TRY_CUDA(bgk_probe_memory(probe_at(p, &p->room, slots[k], index), (char *)h->tensor.data + k * HEAD_BYTES,
                                      h->bytes - HEAD_BYTES, BGK_NO_FLOATS, p->stream));
done:
    return status;
}

static bool is_constant(const bg__proof *p, int index)
{
    const bg__proof_tensor *h = &p->list[index];
    const char *head = (const char *)&p->found.heads[index];
    size_t size = bg_dtype_bytes(h->tensor.dtype);
    bool same =
        probe_at(p, &p->found, BG__SLOT_BEFORE, index)->digest == probe_at(p, &p->found, BG__SLOT_CALLS, index)->digest;

    for (size_t at = size; at < h->bytes && at < HEAD_BYTES; at += size)
        same &= memcmp(head, head + at, size) == 0;
    return same;
}

bg_status bg__proof_find_constants(bg__proof *p)
{
    bg_status status;

    BG__TRY(allocate_results(p));
    BG__TRY(clear_results(p));
    for (int i = 0; i < p->count; i++)
        if (is_call_input(&p->list[i]))
            BG__TRY(queue_constant_check(p, i));
    BG__TRY(read_results(p));
    for (int i = 0; i < p->count; i++) {
        bg__proof_tensor *h = &p->list[i];
        h->constant = is_call_input(h) && is_constant(p, i);
        p->any_constant |= h->constant && bg__tensor_is_float(&h->tensor) && !h->shared;
    }
done:
    return status;
}

/* A constant float that no copy can replace makes the proof inconclusive. A constant array of integers may never have
 * been filled: it makes the proof inconclusive, unless another input is a float or varies. A single integer is a value,
 * and never makes the proof inconclusive. */
bool bg__proof_is_conclusive(const bg__proof *p)
{
    bool varies = false, blind = false;

    for (int i = 0; i < p->count; i++) {
        const bg__proof_tensor *h = &p->list[i];
        if (!is_call_input(h))
            continue;
        if (bg__tensor_is_float(&h->tensor)) {
            if (h->constant && (h->shared || h->mixed))
                return false;
            varies = true;
        } else {
            varies |= !h->constant;
            blind |= h->constant && h->bytes > bg_dtype_bytes(h->tensor.dtype);
        }
    }
    return varies || !blind;
}

/* ---- a trial ---- */

bg_status bg__proof_begin_trial(bg__proof *p)
{
    bg_status status;
    BG__TRY(clear_results(p));
    BG__TRY(bg__proof_tensors_fill(p));
    BG__TRY(bg__proof_digest_inputs(p, BG__SLOT_BEFORE));
done:
    return status;
}

bg_status bg__proof_digest_inputs(const bg__proof *p, bg__trial_slot slot)
{
    bg_status status = BG_OK;
    for (int i = 0; i < p->count; i++)
        if (!p->list[i].written && !p->list[i].reused)
            BG__TRY_CUDA(bgk_probe_memory(probe_at(p, &p->room, slot, i), bg__proof_input_address(p, &p->list[i]),
                                          p->list[i].bytes, BGK_NO_FLOATS, p->stream));
done:
    return status;
}

/* The rule's tolerance. It holds for integers, such as indices, only if it names their type, and never for mixed types.
 */
static const char *choose_tolerance(const bg__proof *p, const bg__proof_tensor *h)
{
    const char *text = p->run->rule->attributes_.tolerance;
    if (h->mixed || text == NULL)
        return NULL;
    return bg__tensor_is_float(&h->tensor) || strstr(text, bg_dtype_name(h->tensor.dtype)) != NULL ? text : NULL;
}

bg_status bg__proof_compare_outputs(const bg__proof *p, bg__trial_slot slot)
{
    bg_status status = BG_OK;

    for (int i = 0; i < p->count; i++) {
        const bg__proof_tensor *h = &p->list[i];
        if (h->written && h->field != NULL)
            BG__TRY(bg__debug_hooks.compare(&h->tensor, h->expected, &p->op, choose_tolerance(p, h),
                                            difference_at(p, &p->room, slot, i), p->stream));
    }
done:
    return status;
}

/* A slot that was not launched has no digest. */
static bool is_input_changed(const bg__proof *p, bg__trial_slot slot, int index)
{
    unsigned long long digest = probe_at(p, &p->found, slot, index)->digest;
    return digest != 0 && digest != probe_at(p, &p->found, BG__SLOT_BEFORE, index)->digest;
}

bg_status bg__proof_end_trial(bg__proof *p)
{
    bg_status status;

    BG__TRY(read_results(p));
    for (int i = 0; i < p->count; i++) {
        bool changed = false;
        for (bg__trial_slot slot = BG__SLOT_CALLS; slot < BG__TRIAL_SLOTS; slot++)
            changed |= is_input_changed(p, slot, i);
        if (changed)
            BG__TRY(bg__proof_restore_input(p, &p->list[i]));
    }
done:
    return status;
}

const bg__proof_tensor *bg__proof_find_changed_input(const bg__proof *p, bg__trial_slot slot)
{
    for (int i = 0; i < p->count; i++)
        if (is_input_changed(p, slot, i))
            return &p->list[i];
    return NULL;
}

const bg__proof_tensor *bg__proof_find_differing(const bg__proof *p, bg__trial_slot slot,
                                                 const bgk_difference **difference)
{
    for (int i = 0; i < p->count; i++) {
        *difference = difference_at(p, &p->found, slot, i);
        if ((*difference)->beyond > 0)
            return &p->list[i];
    }
    return NULL;
}
