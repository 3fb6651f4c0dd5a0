/* The driver's functions, looked up at run time: without a driver a call fails, instead of the program's start. */
#include "base/base.h"

#include <stdatomic.h>
#include <string.h>

bg_status bg__driver_get_entry_point(const char *name, unsigned since, void *function)
{
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSuccess;
    void *address = NULL;
    bg_status status = BG_OK;

    bg__foreign_error_note(); /* a caller that uses only the driver has not called it */
    BG__TRY_CUDA(cudaGetDriverEntryPointByVersion(name, &address, since, cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess || address == NULL)
        BG__FAIL(BG_ERROR_UNSUPPORTED, "the driver does not provide %s of CUDA %u.%u; update the driver", name,
                 since / 1000, since % 1000 / 10);
    memcpy(function, &address, sizeof address); /* ISO C has no cast from void * to a function pointer */
done:
    return status;
}

bg_status bg__driver_find_capture_info(bg__capture_info_function *found)
{
    static _Atomic(bg__capture_info_function) known;
    bg_status status = BG_OK;

    *found = atomic_load_explicit(&known, memory_order_acquire);
    if (*found != NULL)
        return BG_OK;
    BG__TRY(bg__driver_get_entry_point("cuStreamGetCaptureInfo", 12030, (void *)found));
    atomic_store_explicit(&known, *found, memory_order_release);
done:
    return status;
}
