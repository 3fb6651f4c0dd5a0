/* cudaMemcpy3D. */
#include "hostcuda/call/call.h"
#include "hostcuda/runtime/copy.h"

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    struct hc_copy copy;
    cudaError_t error = hc_begin();
    if (!error)
        error = hc_copy_from_3d(p, &copy);
    if (!error && copy.depth)
        error = hc_copy_async(&copy, stream);
    return hc_end(error);
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
    struct hc_copy copy;
    cudaError_t error = hc_begin();
    if (!error)
        error = hc_copy_from_3d(p, &copy);
    if (!error && copy.depth)
        error = hc_copy_sync(&copy);
    return hc_end(error);
}
