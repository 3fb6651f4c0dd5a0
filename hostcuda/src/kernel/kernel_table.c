#include "hostcuda/src/kernel/kernel_table.h"

#include "hostcuda/src/kernel/grid_state.h"
#include "hostcuda/src/kernel/kernel_signature.h"
#include "hostcuda/src/kernel/kernel_symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256, SHARED_DEFAULT = 48 << 10 };

static struct hc_kernel *table[BUCKETS];

static struct hc_kernel **bucket_of(const void *function)
{
    uint64_t hash = (uint64_t)(uintptr_t)function * 0x9e3779b97f4a7c15u;
    return &table[hash >> 56];
}

static struct hc_kernel *find_registered(const void *function)
{
    for (struct hc_kernel *kernel = *bucket_of(function); kernel; kernel = kernel->next)
        if (kernel->function == function)
            return kernel;
    return NULL;
}

static struct hc_kernel *find_handle(const void *handle, bool is_function)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct hc_kernel *kernel = table[i]; kernel; kernel = kernel->next)
            if (handle == (is_function ? (const void *)&kernel->function_handle : kernel))
                return kernel;
    return NULL;
}

struct hc_kernel *hc_kernel_from_cufunction(const void *handle)
{
    return find_handle(handle, true);
}

struct hc_kernel *hc_kernel_from_cukernel(const void *handle)
{
    return find_handle(handle, false);
}

static struct hc_kernel *add_kernel(const void *function, const struct hostcuda_kernel_type *type)
{
    struct hc_kernel *kernel = find_registered(function);
    if (kernel) {
        if (type && (!kernel->type || hc_signature_made_type(kernel->type))) {
            kernel->previous_type = kernel->type;
            __atomic_store_n(&kernel->type, type, __ATOMIC_RELEASE); /* more reliable than a type from the name */
        }
        return kernel;
    }
    kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return NULL; /* the launch then reports an unknown function */
    kernel->function = function;
    kernel->type = type;
    kernel->shared_limit = kernel->runtime_shared_limit = SHARED_DEFAULT;
    kernel->carveout = -1;
    struct hc_kernel **bucket = bucket_of(function);
    kernel->next = *bucket;
    *bucket = kernel;
    return kernel;
}

/* ---- kernels that the program passes only by address ------------------------------------------------------------- */

static struct hc_kernel *add_marked_kernel(const void *function)
{
    char unknown[8];
    return function && hc_symbol_is_kernel(function)
               ? add_kernel(function, hc_signature_read(function, unknown, sizeof unknown))
               : NULL;
}

struct hc_kernel *hc_kernel_find_function(const void *function)
{
    struct hc_kernel *kernel = find_registered(function);
    return kernel ? kernel : add_marked_kernel(function);
}

struct hc_kernel *hc_kernel_find(const void *function)
{
    struct hc_kernel *kernel = find_registered(function);
    if (!kernel)
        kernel = hc_kernel_from_cukernel(function);
    return kernel ? kernel : add_marked_kernel(function);
}

static cudaError_t refuse_untyped(struct hc_kernel *kernel)
{
    char unknown[200];
    (void)hc_signature_read(kernel->function, unknown, sizeof unknown);
    fprintf(stderr,
            "hostcuda: the parameters of kernel %s are unknown: %s; before the first launch by address, call "
            "cudaFuncGetAttributes(&attributes, kernel) with the kernel itself, without a cast\n",
            hc_kernel_name(kernel), unknown);
    return cudaErrorNotSupported;
}

/* ---- registration ------------------------------------------------------------------------------------------------ */

void hostcuda_register_kernel(const void *function, const struct hostcuda_kernel_type *type)
{
    hc_lock();
    add_kernel(function, type);
    hc_unlock();
}

struct hc_kernel *hc_kernel_register_native(const void *function, const struct hostcuda_kernel_type *type,
                                            const char *name)
{
    struct hc_kernel *kernel = add_kernel(function, type);
    if (kernel && !kernel->native) { /* written once: a thread may run the kernel meanwhile, without the lock */
        kernel->native = true;
        kernel->name = name;
    }
    return kernel;
}

const char *hc_kernel_name_unlocked(const struct hc_kernel *kernel)
{
    const char *name = __atomic_load_n(&kernel->name, __ATOMIC_ACQUIRE);
    return name ? name : "(unnamed)";
}

const char *hc_kernel_name(struct hc_kernel *kernel)
{
    char text[32];
    if (kernel->name)
        return kernel->name;
    kernel->name_storage = hc_symbol_name(kernel->function);
    if (!kernel->name_storage) {
        snprintf(text, sizeof text, "kernel_%zx", (size_t)(uintptr_t)kernel->function);
        kernel->name_storage = strdup(text);
    }
    __atomic_store_n(&kernel->name, kernel->name_storage ? kernel->name_storage : "kernel", __ATOMIC_RELEASE);
    return kernel->name;
}

size_t hc_kernel_parameter_bytes(const struct hc_kernel *kernel)
{
    size_t count = kernel->type ? kernel->type->count : 0;
    return count ? kernel->type->offsets[count - 1] + kernel->type->sizes[count - 1] : 0;
}

static bool is_shape_allowed(dim3 grid, dim3 block)
{
    if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z)
        return false;
    if (grid.x > 0x7fffffffu || grid.y > 65535u || grid.z > 65535u)
        return false;
    if (block.x > HC_BLOCK_THREADS_MAX || block.y > HC_BLOCK_THREADS_MAX || block.z > 64)
        return false;
    return (size_t)block.x * block.y * block.z <= HC_BLOCK_THREADS_MAX;
}

cudaError_t hc_kernel_check_launch(struct hc_kernel *kernel, dim3 grid, dim3 block, size_t shared_bytes)
{
    if (!kernel)
        return HC_NO_KERNEL;
    if (!is_shape_allowed(grid, block))
        return cudaErrorInvalidValue;
    if (shared_bytes > (size_t)kernel->shared_limit)
        return cudaErrorInvalidValue;
    return kernel->type ? cudaSuccess : refuse_untyped(kernel);
}

static _Thread_local cudaError_t native_result;

void hc_kernel_fail(void)
{
    native_result = cudaErrorLaunchFailure;
}

void hc_kernel_not_done(void)
{
    native_result = cudaErrorNotReady;
}

cudaError_t hc_kernel_run(const struct hc_kernel *kernel, dim3 grid, dim3 block, size_t shared_bytes, void **arguments)
{
    if (kernel->native) {
        native_result = cudaSuccess;
        kernel->type->invoke(kernel->function, arguments);
        return native_result;
    }
    const struct hostcuda_kernel_type *type = __atomic_load_n(&kernel->type, __ATOMIC_ACQUIRE);
    struct hc_grid run = {
        .function = hc_signature_made_type(type) ? (const void *)type : kernel->function,
        .invoke = type->invoke,
        .arguments = arguments,
        .name = hc_kernel_name_unlocked(kernel),
        .grid = {grid.x, grid.y, grid.z},
        .block = {block.x, block.y, block.z},
        .shared_bytes = shared_bytes,
    };
    return hc_grid_run(&run) ? cudaSuccess : cudaErrorLaunchFailure;
}

cudaError_t hc_kernel_get_parameter(struct hc_kernel *kernel, size_t index, size_t *offset, size_t *bytes)
{
    if (!kernel->type)
        return refuse_untyped(kernel);
    if (!offset || index >= kernel->type->count)
        return cudaErrorInvalidValue;
    *offset = kernel->type->offsets[index];
    if (bytes)
        *bytes = kernel->type->sizes[index];
    return cudaSuccess;
}
