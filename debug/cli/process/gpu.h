/* The driver's first GPU, asked without linking the driver. */
#ifndef BG_CLI_GPU_H
#define BG_CLI_GPU_H

#include <stdbool.h>

typedef struct cli_gpu {
    char name[256];
    int count;
    int capability;      /* 90 is 9.0 */
    int driver_version;  /* CUDA's newest version that the driver serves: 13000 is 13.0 */
    const char *missing; /* why there is none, NULL where there is one */
    int error;           /* the driver's own code for that, or 0 */
} cli_gpu;

/* True where the driver answers and has a GPU. */
bool cli_gpu_find(cli_gpu *gpu);

#endif
