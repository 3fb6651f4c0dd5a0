/* breakgraph doctor: what this machine has, and what the environment says. */
#include "cli.h"
#include "gpu.h"

#include <breakgraph/breakgraph.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show_driver(void)
{
    cli_gpu gpu;
    bool found = cli_gpu_find(&gpu);
    if (gpu.driver_version)
        printf("  driver       for CUDA %d.%d\n", gpu.driver_version / 1000, gpu.driver_version % 1000 / 10);
    if (found) {
        printf("  GPU          %s, compute capability %d.%d%s\n", gpu.name, gpu.capability / 10, gpu.capability % 10,
               gpu.count > 1 ? ", and more" : "");
        return;
    }
    printf("  GPU          none: %s", gpu.missing);
    printf(gpu.error ? " (CUDA error %d)\n" : "\n", gpu.error);
}

/* True where the CUDA calls of this build have a device. */
static bool show_devices(void)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        printf("✗ device       none: %s (%s)\n", cudaGetErrorString(error), cudaGetErrorName(error));
        if (strcmp(bg_device_kind(), "cuda") == 0)
            printf("               a machine without a GPU can use the host device: build with make DEVICE=host\n");
        return false;
    }
    for (int i = 0; i < count; i++) {
        struct cudaDeviceProp properties;
        error = cudaGetDeviceProperties(&properties, i);
        if (error != cudaSuccess) {
            printf("✗ device %-5d %s (%s)\n", i, cudaGetErrorString(error), cudaGetErrorName(error));
            return false;
        }
        printf("✓ device %-5d %s, %zu MiB, %d multiprocessors\n", i, properties.name, properties.totalGlobalMem >> 20,
               properties.multiProcessorCount);
    }
    return true;
}

static bool show_variables(void)
{
    bool valid = true;
    for (size_t i = 0; i < cli_variables_count; i++) {
        const cli_variable *variable = &cli_variables[i];
        const char *value = getenv(variable->name);
        const char *allowed = value && *value ? cli_variable_allowed(variable, value) : NULL;
        if (value == NULL || *value == '\0')
            printf("  %-18s not set\n", variable->name);
        else if (allowed == NULL)
            printf("✓ %-18s %s\n", variable->name, value);
        else
            printf("✗ %-18s \"%s\"; allowed: %s\n", variable->name, value, allowed);
        valid = valid && allowed == NULL;
    }
    return valid;
}

int cli_doctor(int argc, char **argv)
{
    bool devices, variables;
    if (argc > 1) {
        fprintf(stderr, "breakgraph doctor: unknown argument '%s'; it takes none\n", argv[1]);
        return CLI_USAGE;
    }
    printf("breakgraph %s, built for %s\n", bg_version(),
           strcmp(bg_device_kind(), "host") == 0 ? "the host device" : "NVIDIA's CUDA runtime");
    printf("  toolkit      CUDA %d.%d at build time\n", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    show_driver();
    devices = show_devices();
    printf("\nEnvironment\n");
    variables = show_variables();
    return devices && variables ? CLI_OK : CLI_FAILED;
}
