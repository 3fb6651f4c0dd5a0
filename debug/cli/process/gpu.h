/* Finds the first GPU through the driver, without linking it. */
#ifndef BG_CLI_GPU_H
#define BG_CLI_GPU_H

#include <stdbool.h>

typedef struct cli_gpu {
    char name[256];
    int count;
    int capability;      /* 90 is 9.0 */
    int driver_version;  /* the newest CUDA version that the driver supports: 13000 is 13.0 */
    const char *missing; /* why there is no GPU; NULL: there is one */
    int error;           /* the driver's error code, or 0 */
} cli_gpu;

/* Returns whether the driver has a GPU; if not, sets missing and error. */
bool cli_gpu_find(cli_gpu *gpu);

#endif
