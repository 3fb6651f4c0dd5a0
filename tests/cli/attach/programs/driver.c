/* A driver that is none: it counts its devices and its calls. For tests of the shim, which has to find its functions.
 */
#include <stdint.h>
#include <string.h>

#define DRIVER __attribute__((visibility("default")))
enum { VERSION = 13000, PER_THREAD = 2, NOT_FOUND = 1, TOO_OLD = 2 };

typedef unsigned long long flags;
DRIVER int cuInit(unsigned int how);
DRIVER int cuDriverGetVersion(int *version);
DRIVER int cuGraphLaunch(void *exec, void *stream);
DRIVER int cuGraphLaunch_ptsz(void *exec, void *stream);
DRIVER int cuGetProcAddress(const char *name, void **function, int version, flags how);
DRIVER int cuGetProcAddress_v2(const char *name, void **function, int version, flags how, int *status);
DRIVER int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned bytes, void *stream, void **parameters, void **extra);
DRIVER int cuTexRefSetMipmapLevelBias(void *texture, float bias);

int cuInit(unsigned int how)
{
    return how == 0 ? 0 : 1;
}

int cuDriverGetVersion(int *version)
{
    *version = VERSION;
    return 0;
}

/* Tells by its result which one it is, and what it was given. */
int cuGraphLaunch(void *exec, void *stream)
{
    return 1000 + (int)((uintptr_t)exec + (uintptr_t)stream);
}

int cuGraphLaunch_ptsz(void *exec, void *stream)
{
    return 2000 + (int)((uintptr_t)exec + (uintptr_t)stream);
}

/* 11 arguments: 5 come by the stack. Each has a weight of its own. */
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned bytes, void *stream, void **parameters, void **extra)
{
    return (int)((uintptr_t)f + 2 * gx + 3 * gy + 4 * gz + 5 * bx + 6 * by + 7 * bz + 8 * bytes +
                 9 * (uintptr_t)stream + 10 * (uintptr_t)parameters + 11 * (uintptr_t)extra);
}

int cuTexRefSetMipmapLevelBias(void *texture, float bias)
{
    return (int)((float)(uintptr_t)texture * bias);
}

/* A version before 3020 gets nothing of cuGraphLaunch, which came with 10000. */
int cuGetProcAddress_v2(const char *name, void **function, int version, flags how, int *status)
{
    int found = NOT_FOUND;
    int (*launch)(void *, void *) = how == PER_THREAD ? cuGraphLaunch_ptsz : cuGraphLaunch;
    int (*by_version)(const char *, void **, int, flags, int *) = cuGetProcAddress_v2;
    int (*plain)(const char *, void **, int, flags) = cuGetProcAddress;

    *function = NULL;
    if (strcmp(name, "cuGraphLaunch") == 0) {
        found = version < 10000 ? TOO_OLD : 0;
        if (found == 0)
            memcpy(function, &launch, sizeof launch);
    } else if (strcmp(name, "cuGetProcAddress") == 0) {
        found = 0;
        if (version >= 12000)
            memcpy(function, &by_version, sizeof by_version);
        else
            memcpy(function, &plain, sizeof plain);
    }
    if (status != NULL)
        *status = found;
    return found == NOT_FOUND ? 500 : 0;
}

int cuGetProcAddress(const char *name, void **function, int version, flags how)
{
    return cuGetProcAddress_v2(name, function, version, how, NULL);
}
