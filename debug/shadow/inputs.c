#include "inputs.h"

#include <stdlib.h>
#include <string.h>

enum { INPUTS_MAX = 32 }; /* inputs of an op (op.h) */

/* Chooses elements of the same size as the dtype; their meaning does not matter. */
static bgk_element element_of(const bg_tensor *tensor)
{
    switch (bg_dtype_bytes(tensor->dtype)) {
    case 8: return BGK_ELEMENT_I64;
    case 4: return BGK_ELEMENT_I32;
    case 2: return BGK_ELEMENT_F16;
    default: return BGK_ELEMENT_U8;
    }
}

/* Compares the batch's rows with themselves, which computes their digest. */
static bg_status queue_digest(const bg__call *call, const bg__field_tensor *t, bgk_difference *room,
                              cudaStream_t stream)
{
    const bgk_tolerance exact = {0};
    const bg_tensor rows = bg__field_batch_rows(call, t);
    cudaError_t error = bgk_compare(room, rows.data, rows.data, bg_tensor_bytes(&rows) / bg_dtype_bytes(rows.dtype),
                                    element_of(&rows), &exact, stream);
    bg_status status;

    if (error == cudaSuccess)
        return BG_OK;
    status = bg__fail_cuda(error, "cudaLaunchKernelExC");
    bg__error_add_location("the kernel that compares tensors");
    return status;
}

int bg__inputs_count(const bg__call_inputs *c)
{
    bg__field_tensor t = {0};
    int count = 0;
    while (bg__field_tensor_next(c->call->op, c->args, &t))
        count += t.input;
    return count;
}

/* Allocates a digest for each input. */
static bg_status allocate_digests(bg__inputs *inputs, bg__call_inputs *c, cudaStream_t stream)
{
    size_t bytes = (size_t)bg__inputs_count(c) * sizeof *c->digests;
    bg_status status = BG_OK;

    if (bytes == 0)
        return BG_OK;
    BG__TRY(bg__chunks_allocate(&inputs->digests, bytes, (void **)&c->digests));
    BG__TRY_CUDA(cudaMemsetAsync(c->digests, 0, bytes, stream));
done:
    return status;
}

bg_status bg__inputs_add(bg__inputs *inputs, const bg__call *call, const void *args, size_t ended, bool digests,
                         cudaStream_t stream)
{
    bg__call_inputs *c;
    bg__field_tensor t = {0};
    int number = 0;
    bg_status status;

    BG__TRY(BG__ARRAY_GROW(inputs->list, inputs->count, inputs->capacity, "calls of a pass"));
    c = &inputs->list[inputs->count];
    *c = (bg__call_inputs){.call = call, .ended = ended, .args = malloc(call->op->args_size)};
    if (c->args == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a call of %s", call->op->name);
    memcpy(c->args, args, call->op->args_size);
    status = bg__call_index_add(&inputs->index, call->name, call);
    if (status != BG_OK) {
        free(c->args);
        return status;
    }
    inputs->count++;
    if (!digests)
        return BG_OK;
    BG__TRY(allocate_digests(inputs, c, stream));
    while (bg__field_tensor_next(call->op, args, &t)) {
        bool reached;
        if (!t.input)
            continue;
        BG__TRY(bg__tensor_is_accessible(t.tensor, &reached));
        if (reached)
            BG__TRY(queue_digest(call, &t, &c->digests[number], stream));
        c->held |= (uint32_t)reached << number;
        number++;
    }
done:
    return status;
}

bg__call_inputs *bg__inputs_find(const bg__inputs *inputs, const char *name)
{
    const bg__call_key *key = bg__call_index_find_name(&inputs->index, name);
    return key != NULL ? &inputs->list[key - inputs->index.keys] : NULL;
}

/* Queues the current digests at room, and a copy of the kept ones behind them, so that one read gets both. */
static bg_status queue_digests(const bg__call_inputs *inputs, const void *args, uint32_t which, bgk_difference *room,
                               cudaStream_t stream, int *count)
{
    size_t bytes = (size_t)bg__inputs_count(inputs) * sizeof *room;
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    *count = 0;
    BG__TRY_CUDA(cudaMemsetAsync(room, 0, bytes, stream));
    while (bg__field_tensor_next(inputs->call->op, args, &t))
        if (t.input) {
            if ((which >> *count & 1) != 0)
                BG__TRY(queue_digest(inputs->call, &t, &room[*count], stream));
            ++*count;
        }
    BG__TRY_CUDA(cudaMemcpyAsync(room + *count, inputs->digests, bytes, cudaMemcpyDeviceToDevice, stream));
done:
    return status;
}

bg_status bg__inputs_compare_digests(const bg__call_inputs *inputs, const void *args, uint32_t which,
                                     bgk_difference *room, cudaStream_t stream, uint32_t *equal)
{
    bgk_difference digests[2 * INPUTS_MAX];
    int count;
    bg_status status = BG_OK;

    *equal = 0;
    if (which == 0)
        return BG_OK;
    BG__TRY(queue_digests(inputs, args, which, room, stream, &count));
    BG__TRY(bg__copy_and_wait(digests, room, 2 * (size_t)count * sizeof *digests, stream));
    for (int i = 0; i < count; i++)
        *equal |= (uint32_t)(digests[i].digest[0] == digests[count + i].digest[0]) << i;
    *equal &= which;
done:
    return status;
}

void bg__inputs_reset(bg__inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        inputs->list[i].state = BG__INPUTS_UNKNOWN;
        inputs->list[i].differ = 0;
    }
}

void bg__inputs_clear(bg__inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        free(inputs->list[i].args);
    inputs->count = 0;
    bg__chunks_free(&inputs->digests);
    bg__call_index_clear(&inputs->index);
}

void bg__inputs_free(bg__inputs *inputs)
{
    bg__inputs_clear(inputs);
    bg__call_index_free(&inputs->index);
    free(inputs->list);
    *inputs = (bg__inputs){0};
}
