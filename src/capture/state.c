/* options.state: tensors that a pass changes, put back where the pass does not count. */
#include "capture/capture.h"

#include <stdlib.h>

bg_status bg__state_save(bg_capture *capture)
{
    const bg_capture_options *options = &capture->options;
    bg_status status = BG_OK;

    if (options->state_count == 0)
        return BG_OK;
    capture->saved = calloc(options->state_count, sizeof *capture->saved);
    if (capture->saved == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for %zu state tensors", options->state_count);
    for (size_t i = 0; i < options->state_count; i++) {
        bg__saved *saved = &capture->saved[i];
        if (!bg__tensor_is_valid(&options->state[i]))
            return bg__fail(BG_ERROR_INVALID_ARGUMENT, "options.state[%zu] is no valid tensor: dtype %d, rank %d", i,
                            (int)options->state[i].dtype, options->state[i].rank);
        saved->bytes = bg_tensor_bytes(&options->state[i]);
        saved->data = options->state[i].data;
        capture->saved_count = i + 1;
        if (saved->bytes == 0)
            continue;
        if (saved->data == NULL)
            return bg__fail(BG_ERROR_INVALID_ARGUMENT, "options.state[%zu] has no memory", i);
        BG__TRY(bg__device_alloc(saved->bytes, &saved->copy));
        BG__TRY_CUDA(cudaMemcpyAsync(saved->copy, saved->data, saved->bytes, cudaMemcpyDefault, capture->origin));
    }
done:
    return status;
}

bg_status bg__state_restore(bg_capture *capture)
{
    bg__relaxed relaxed;
    bg_status status = BG_OK;

    if (capture->saved_count == 0)
        return BG_OK;
    BG__TRY(bg__relax_begin(&relaxed));
    for (size_t i = 0; i < capture->saved_count; i++) {
        const bg__saved *saved = &capture->saved[i];
        if (saved->copy != NULL)
            BG__TRY_CUDA(cudaMemcpyAsync(saved->data, saved->copy, saved->bytes, cudaMemcpyDefault, capture->origin));
    }
    BG__TRY_CUDA(cudaStreamSynchronize(capture->origin)); /* the copies are freed next */
done:
    bg__relax_end(relaxed);
    return status;
}

void bg__state_free(bg_capture *capture)
{
    for (size_t i = 0; i < capture->saved_count; i++)
        bg__device_free(capture->saved[i].copy);
    free(capture->saved);
    capture->saved = NULL;
    capture->saved_count = 0;
}
