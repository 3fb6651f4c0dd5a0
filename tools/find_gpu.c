/* For the Makefile: with a GPU "name|compute capability|CUDA version of the driver|how many GPUs" and exit status 0;
 * without one, why not, and 1. */
#include "debug/cli/process/gpu.h"

#include <stdio.h>

int main(void)
{
    cli_gpu gpu;
    if (cli_gpu_find(&gpu)) {
        printf("%s|%d|%d.%d|%d\n", gpu.name, gpu.capability, gpu.driver_version / 1000, gpu.driver_version % 1000 / 10,
               gpu.count);
        return 0;
    }
    printf(gpu.error ? "%s (CUDA error %d)\n" : "%s\n", gpu.missing, gpu.error);
    return 1;
}
