/* cudaMemcpy3D. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/call/driver_translation.h"
#include "hostcuda/src/runtime/runtime_copy.h"

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    CUDA_MEMCPY3D driver;
    HC_THROUGH_DRIVER_IF(hc_copy_3d_to_driver(p, &driver), cuMemcpy3DAsync, &driver, stream);
    struct hc_copy copy;
    cudaError_t error = hc_call_begin();
    if (!error)
        error = hc_copy_from_3d(p, &copy);
    if (!error && copy.depth)
        error = hc_copy_async(&copy, stream);
    return hc_call_end(error);
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
    CUDA_MEMCPY3D driver;
    HC_THROUGH_DRIVER_IF(hc_copy_3d_to_driver(p, &driver), cuMemcpy3D, &driver);
    struct hc_copy copy;
    cudaError_t error = hc_call_begin();
    if (!error)
        error = hc_copy_from_3d(p, &copy);
    if (!error && copy.depth)
        error = hc_copy_sync(&copy);
    return hc_call_end(error);
}
