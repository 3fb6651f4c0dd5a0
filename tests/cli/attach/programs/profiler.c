/* Preloaded beside the shim, as profilers are: opens the driver for itself before the program begins, and counts the
 * program's calls of the runtime. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
EXPORT int cudaStreamBeginCapture(void *stream, int mode);
static _Atomic int captures;

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL)
        abort();
    return found;
}

__attribute__((constructor)) static void begin(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *address;
    int (*get_version)(int *), version = 0;
    if (driver == NULL)
        return; /* there is none without the shim */
    address = symbol(driver, "cuDriverGetVersion");
    memcpy(&get_version, &address, sizeof address);
    if (get_version(&version) != 0 || version < 12000)
        abort();
}

/* One that the tools do not make: on the host device they call the program's runtime. */
int cudaStreamBeginCapture(void *stream, int mode)
{
    int (*next)(void *, int);
    void *address = symbol(RTLD_NEXT, "cudaStreamBeginCapture");
    memcpy(&next, &address, sizeof address);
    captures++;
    return next(stream, mode);
}

__attribute__((destructor)) static void end(void)
{
    if (captures > 0)
        printf("profiler: %d captures\n", captures);
}
