/* In front of the host device, which has no modules: each kernel has one of its own, whose handle is the kernel's.
 * LIBRARIES: it is a library. A module that is unloaded for the second time is unknown. */
#include <cuda.h>

#define DRIVER __attribute__((visibility("default")))
static void *unloaded;

static CUresult unload(void *handle)
{
    if (handle == unloaded)
        return CUDA_ERROR_INVALID_HANDLE;
    unloaded = handle;
    return CUDA_SUCCESS;
}

#ifdef LIBRARIES
DRIVER CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
    *library = (CUlibrary)(void *)kernel;
    return CUDA_SUCCESS;
}

DRIVER CUresult cuLibraryUnload(CUlibrary library)
{
    return unload(library);
}
#else
DRIVER CUresult cuFuncGetModule(CUmodule *module, CUfunction function)
{
    *module = (CUmodule)(void *)function;
    return CUDA_SUCCESS;
}

DRIVER CUresult cuModuleUnload(CUmodule module)
{
    return unload(module);
}
#endif
