/* The kernels that the host device knows. */
#ifndef HOSTCUDA_KERNELS_H
#define HOSTCUDA_KERNELS_H

#include <hostcuda/kernel_abi.h>
#include "hostcuda/src/core/core_state.h"

/* The error for a pointer that is not a kernel; CUDA takes it for a handle of another kind (measured). */
#define HC_NO_KERNEL cudaErrorInvalidResourceHandle

/* Optional functions of a library's kernel that waits for other ranks. The kernel is called repeatedly until it is
 * done. These functions are called with the lock held and with the op's own arguments. */
struct hc_kernel_hooks {
    void (*retain)(void **arguments); /* an op was made of the arguments */
    void (*release)(void **arguments);
    bool (*ready)(void **arguments, uint64_t sequence); /* whether the item of this number may call the kernel now */
    void (*skip)(void **arguments);                     /* the kernel will not be called, since its device has failed */
};

struct hc_kernel {
    struct hc_kernel *next;
    const void *function;
    const struct hostcuda_kernel_type *type; /* NULL: known only by its mark, and its parameters could not be read */
    const struct hostcuda_kernel_type *previous_type; /* read from its name; a running launch may still use it */
    const char *name;                                 /* NULL: not looked up yet */
    char *name_storage;
    bool native;                         /* a library's kernel: called once a grid, on the OS thread's stack */
    const struct hc_kernel_hooks *hooks; /* may be NULL */
    int shared_limit;                    /* limit of dynamic shared memory for launches; the last value set */
    int runtime_shared_limit;            /* the last value set by the runtime, which ignores the driver's */
    int carveout;                        /* per cent of the cache; -1: no preference */
    int cluster_policy, other_clusters;
    char function_handle; /* its address is the driver's CUfunction; the kernel's own address is its CUkernel */
};

/* Returns the kernel of a function or, as CUDA allows, of a CUkernel. NULL: it was never registered, and has no mark.
 */
struct hc_kernel *hc_kernel_find(const void *function);
/* Returns the kernel of a function only. */
struct hc_kernel *hc_kernel_find_function(const void *function);
/* Returns the kernel behind a handle of the driver; NULL if there is none. */
struct hc_kernel *hc_kernel_from_cufunction(const void *handle);
struct hc_kernel *hc_kernel_from_cukernel(const void *handle);
/* Registers a library's kernel, implemented in C, at first use. Returns NULL if there is no memory. */
struct hc_kernel *hc_kernel_register_native(const void *function, const struct hostcuda_kernel_type *type,
                                            const char *name);
/* Needs the lock. */
const char *hc_kernel_name(struct hc_kernel *kernel);
/* For use without the lock, while the kernel runs. Returns "(unnamed)" if the name was never looked up. */
const char *hc_kernel_name_unlocked(const struct hc_kernel *kernel);
size_t hc_kernel_parameter_bytes(const struct hc_kernel *kernel);
/* Returns CUDA's error for a launch of this shape. */
cudaError_t hc_kernel_check_launch(struct hc_kernel *kernel, dim3 grid, dim3 block, size_t shared_bytes);
/* Returns a parameter's offset and size on a GPU. `bytes` may be NULL. */
cudaError_t hc_kernel_get_parameter(struct hc_kernel *kernel, size_t index, size_t *offset, size_t *bytes);
/* Called inside a library's kernel: its launch fails. */
void hc_kernel_fail(void);
/* Called inside a library's kernel: it is not done, and runs again when it is ready. */
void hc_kernel_not_done(void);
/* Runs the whole grid on the calling thread, without the lock. cudaErrorNotReady: it has to run again. */
cudaError_t hc_kernel_run(const struct hc_kernel *kernel, dim3 grid, dim3 block, size_t shared_bytes, void **arguments);

#endif
