/* Functions by which C launches kernels: the name, the parameters in parentheses, and what bgk::launch gets. */
#ifndef BG_TESTS_LAUNCHER_H
#define BG_TESTS_LAUNCHER_H

#include "kernels/launch.h"

#define LAUNCHER(name, parameters, ...)                                                                                \
    cudaError_t name parameters                                                                                        \
    {                                                                                                                  \
        return bgk::launch(__VA_ARGS__);                                                                               \
    }

/* A kernel as C names it. */
#define ADDRESS_OF(name, kernel)                                                                                       \
    const void *name(void)                                                                                             \
    {                                                                                                                  \
        return (const void *)kernel;                                                                                   \
    }

#endif
