/* options.state: tensors that a pass changes. They are restored if the pass fails, or ran only to be captured. */
#include "capture/capture.h"

#include <stdlib.h>

bg_status bg__state_save(bg__state *state, const bg_tensor *tensors, size_t count, const char *what,
                         cudaStream_t stream)
{
    bg_status status = BG_OK;

    if (count == 0)
        return BG_OK;
    state->saved = calloc(count, sizeof *state->saved);
    if (state->saved == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu state tensors", count);
    for (size_t i = 0; i < count; i++) {
        bg__saved_tensor *saved = &state->saved[i];
        if (!bg__tensor_is_valid(&tensors[i]))
            return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s[%zu] is not a valid tensor: dtype %d, rank %d", what, i,
                            (int)tensors[i].dtype, tensors[i].rank);
        saved->bytes = bg_tensor_bytes(&tensors[i]);
        saved->data = tensors[i].data;
        state->count = i + 1;
        if (saved->bytes == 0)
            continue;
        if (saved->data == NULL)
            return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s[%zu] has no memory", what, i);
        BG__TRY(bg__device_alloc(saved->bytes, &saved->copy));
        BG__TRY_CUDA(cudaMemcpyAsync(saved->copy, saved->data, saved->bytes, cudaMemcpyDefault, stream));
    }
done:
    return status;
}

bg_status bg__state_restore(const bg__state *state, cudaStream_t stream)
{
    bg__relaxed_mode relaxed;
    bg_status status = BG_OK;

    if (state->count == 0)
        return BG_OK;
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    for (size_t i = 0; i < state->count; i++) {
        const bg__saved_tensor *saved = &state->saved[i];
        if (saved->copy != NULL)
            BG__TRY_CUDA(cudaMemcpyAsync(saved->data, saved->copy, saved->bytes, cudaMemcpyDefault, stream));
    }
    BG__TRY_CUDA(cudaStreamSynchronize(stream)); /* the copies are freed next */
done:
    bg__relaxed_mode_end(relaxed);
    return status;
}

void bg__state_free(bg__state *state)
{
    for (size_t i = 0; i < state->count; i++)
        bg__device_free(state->saved[i].copy);
    free(state->saved);
    *state = (bg__state){NULL, 0};
}
