#include "gpu.h"

#include <dlfcn.h>
#include <string.h>

enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 }; /* of CUdevice_attribute */

typedef struct driver {
    int (*init)(unsigned flags);
    int (*version)(int *version);
    int (*count)(int *count);
    int (*get)(int *device, int ordinal);
    int (*name)(char *name, int size, int device);
    int (*attribute)(int *value, int attribute, int device);
} driver;

static bool set_missing_gpu(cli_gpu *gpu, const char *why, int error)
{
    gpu->missing = why;
    gpu->error = error;
    return false;
}

static bool load_driver(void *library, driver *driver)
{
    *(void **)&driver->init = dlsym(library, "cuInit");
    *(void **)&driver->version = dlsym(library, "cuDriverGetVersion");
    *(void **)&driver->count = dlsym(library, "cuDeviceGetCount");
    *(void **)&driver->get = dlsym(library, "cuDeviceGet");
    *(void **)&driver->name = dlsym(library, "cuDeviceGetName");
    *(void **)&driver->attribute = dlsym(library, "cuDeviceGetAttribute");
    return driver->init && driver->version && driver->count && driver->get && driver->name && driver->attribute;
}

bool cli_gpu_find(cli_gpu *gpu)
{
    /* Never closed: the driver cannot be unloaded safely. */
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    driver driver;
    int device, major, minor, error;

    memset(gpu, 0, sizeof *gpu);
    if (library == NULL)
        return set_missing_gpu(gpu, "no driver: libcuda.so.1 cannot be loaded", 0);
    if (!load_driver(library, &driver))
        return set_missing_gpu(gpu, "libcuda.so.1 is not a CUDA driver", 0);
    if ((error = driver.init(0)) != 0)
        return set_missing_gpu(gpu, "cuInit failed", error);
    if ((error = driver.version(&gpu->driver_version)) != 0)
        return set_missing_gpu(gpu, "the driver does not report its version", error);
    if ((error = driver.count(&gpu->count)) != 0 || gpu->count == 0)
        return set_missing_gpu(gpu, "the driver finds no GPU (cuDeviceGetCount)", error);
    if ((error = driver.get(&device, 0)) != 0 || (error = driver.name(gpu->name, sizeof gpu->name, device)) != 0 ||
        (error = driver.attribute(&major, CAPABILITY_MAJOR, device)) != 0 ||
        (error = driver.attribute(&minor, CAPABILITY_MINOR, device)) != 0)
        return set_missing_gpu(gpu, "name and compute capability of GPU 0 cannot be read", error);
    gpu->capability = major * 10 + minor;
    return true;
}
