/* The ways in which programs come by the driver's functions. ways WAY [PATH] prints what launches through it returned.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void plug_in_function(void);
typedef int init_function(unsigned flags);
typedef int launch_function(void *exec, void *stream);
typedef int lookup_function(const char *name, void **function, int version, unsigned long long flags);
typedef int lookup_v2_function(const char *name, void **function, int version, unsigned long long flags, int *status);
typedef int bias_function(void *texture, float bias);
typedef int kernel_function(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                            unsigned bytes, void *stream, void **parameters, void **extra);

static void *open_library(const char *path, int mode)
{
    void *library = dlopen(path, RTLD_NOW | mode);
    if (library == NULL) {
        printf("%s\n", dlerror());
        exit(1);
    }
    return library;
}

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        printf("%s\n", dlerror());
        exit(1);
    }
    return found;
}

/* C has no cast from a data pointer to a function's. */
#define AS(type, name, pointer)                                                                                        \
    type *name;                                                                                                        \
    do {                                                                                                               \
        void *address_ = pointer;                                                                                      \
        memcpy(&name, &address_, sizeof name);                                                                         \
    } while (0)

static void *word(uintptr_t value)
{
    return (void *)value; /* NOLINT(performance-no-int-to-ptr) */
}

static void init(void *library)
{
    AS(init_function, function, symbol(library, "cuInit"));
    printf("cuInit: %d\n", function(0));
}

static void launch(void *address, uintptr_t exec)
{
    AS(launch_function, function, address);
    printf("cuGraphLaunch: %d\n", function(word(exec), word(2)));
}

static void by_name(void *library)
{
    init(library);
    launch(symbol(library, "cuGraphLaunch"), 1);
    launch(symbol(library, "cuGraphLaunch_ptsz"), 1);
}

/* Closed more often than opened, and opened again. */
static void close_and_open(const char *path)
{
    void *library = open_library(path, RTLD_LOCAL);
    by_name(library);
    (void)dlclose(library);
    (void)dlclose(library);
    by_name(open_library(path, RTLD_LOCAL));
}

/* As in CUDA 11. */
static void by_lookup(void *library)
{
    void *found = NULL;
    AS(lookup_function, look_up, symbol(library, "cuGetProcAddress"));
    init(library);
    printf("status: %d\n", look_up("cuGraphLaunch", &found, 11000, 0));
    launch(found, 1);
}

/* As in libcudart: before cuInit, each version of each name, also of the function that asks. */
static void by_lookup_v2(void *library)
{
    void *found = NULL;
    int status = -1;
    AS(lookup_v2_function, first, symbol(library, "cuGetProcAddress_v2"));
    printf("status: %d\n", first("cuGetProcAddress", &found, 12000, 0, &status));
    AS(lookup_v2_function, look_up, found);
    init(library);
    look_up("cuGraphLaunch", &found, 13000, 0, &status);
    launch(found, 1);
    look_up("cuGraphLaunch", &found, 13000, 2, &status);
    launch(found, 1);
    printf("too old: %d", look_up("cuGraphLaunch", &found, 9000, 0, &status));
    printf(", status %d, %s\n", status, found == NULL ? "NULL" : "an address");
    printf("not there: %d", look_up("cuNone", &found, 13000, 0, &status));
    printf(", status %d, %s\n", status, found == NULL ? "NULL" : "an address");
}

/* What the driver lacks, arguments of all kinds, and answers of the tools. */
static void arguments(void *library)
{
    AS(bias_function, bias, symbol(library, "cuTexRefSetMipmapLevelBias"));
    printf("first call of all: %d\n", bias(word(8), 2.5F));
    init(library);
    printf("float: %d\n", bias(word(8), 1.5F));
    AS(init_function, missing, symbol(library, "cuCtxSynchronize"));
    printf("missing: %d\n", missing(0));
    AS(kernel_function, kernel, symbol(library, "cuLaunchKernel"));
    int sum = 0;
    for (int i = 1; i <= 11; i++)
        sum += i * i;
    int got = kernel(word(1), 2, 3, 4, 5, 6, 7, 8, word(9), (void **)word(10), (void **)word(11));
    printf("kernel: %s\n", got == sum ? "all arguments" : "others");
    for (uintptr_t exec = 77; exec <= 80; exec++)
        launch(symbol(library, "cuGraphLaunch"), exec);
}

/* PATH is a plug-in that needs the driver: which functions does it get? */
static void by_plug_in(const char *path, int mode)
{
    AS(plug_in_function, run, symbol(open_library(path, RTLD_LOCAL | mode), "run_plug_in"));
    run();
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "", *path = argc > 2 ? argv[2] : "libcuda.so.1";
    if (strcmp(way, "dlopen") == 0)
        by_name(open_library(path, RTLD_LOCAL));
    else if (strcmp(way, "close") == 0)
        close_and_open(path);
    else if (strcmp(way, "v1") == 0)
        by_lookup(open_library(path, RTLD_LOCAL));
    else if (strcmp(way, "v2") == 0)
        by_lookup_v2(open_library(path, RTLD_GLOBAL));
    else if (strcmp(way, "arguments") == 0)
        arguments(open_library(path, RTLD_LOCAL));
    else if (strcmp(way, "needed") == 0)
        by_plug_in(path, 0);
    else if (strcmp(way, "deepbind") == 0)
        by_plug_in(path, RTLD_DEEPBIND);
    else
        return 2;
    return 0;
}
