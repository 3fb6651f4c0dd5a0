/* The kernels that the program has shown to the host device. */
#ifndef HOSTCUDA_KERNELS_H
#define HOSTCUDA_KERNELS_H

#include <hostcuda/kernel_abi.h>
#include "hostcuda/src/core/core_state.h"

/* A pointer that is no kernel; CUDA takes it for a handle of another kind (measured). */
#define HC_NO_KERNEL cudaErrorInvalidResourceHandle

/* What a library's kernel may add that has to wait for others: it is called again and again until it is done. All with
 * the lock, and with the op's own arguments. */
struct hc_kernel_hooks {
    void (*retain)(void **arguments); /* an op was made of them */
    void (*release)(void **arguments);
    bool (*ready)(void **arguments, uint64_t sequence); /* may an item of this number call it now? */
    void (*skip)(void **arguments);                     /* it will not be called: its device has failed */
};

struct hc_kernel {
    struct hc_kernel *next;
    const void *function;
    const struct hostcuda_kernel_type *type; /* NULL: known by its mark alone, and its parameters could not be read */
    const struct hostcuda_kernel_type *type_before; /* what its name said, and a launch may still use */
    const char *name;                               /* NULL until asked for */
    char *name_storage;
    bool native;                         /* a library's: called once for the whole grid, on the OS thread's stack */
    const struct hc_kernel_hooks *hooks; /* NULL: none */
    int shared_limit;                    /* what launches may have: what was set last */
    int shared_asked;                    /* the same by the runtime, which does not learn what the driver was told */
    int carveout;                        /* per cent of the cache; -1: no wish */
    int cluster_policy, other_clusters;
    char function_handle; /* its address is the driver's CUfunction; the kernel's own is its CUkernel */
};

/* The kernel that a program names by its function or, as CUDA lets it, by a CUkernel. NULL: it was never registered,
 * and has no mark. */
struct hc_kernel *hc_kernel_find(const void *function);
/* By its function alone. */
struct hc_kernel *hc_kernel_registered(const void *function);
/* The kernel behind a handle of the driver; NULL: it is none. */
struct hc_kernel *hc_kernel_of_function(const void *handle);
struct hc_kernel *hc_kernel_of_kernel(const void *handle);
/* A library's kernel, implemented in C: registered at first use. NULL: no memory. */
struct hc_kernel *hc_kernel_native(const void *function, const struct hostcuda_kernel_type *type, const char *name);
/* With the lock held. */
const char *hc_kernel_name(struct hc_kernel *kernel);
/* Without it, while the kernel runs: "(unnamed)" where nobody has asked for its name. */
const char *hc_kernel_known_name(const struct hc_kernel *kernel);
size_t hc_kernel_parameter_bytes(const struct hc_kernel *kernel);
/* What CUDA says of a launch of this shape. */
cudaError_t hc_kernel_check(struct hc_kernel *kernel, dim3 grid, dim3 block, size_t shared_bytes);
/* A parameter's place as on a GPU. `bytes` may be NULL. */
cudaError_t hc_kernel_parameter(struct hc_kernel *kernel, size_t index, size_t *offset, size_t *bytes);
/* From inside a library's kernel: its launch failed. */
void hc_kernel_fail(void);
/* The same: it is not done, and goes on when it is ready again. */
void hc_kernel_continue(void);
/* Runs the whole grid on the calling thread; without the lock. cudaErrorNotReady: it goes on later. */
cudaError_t hc_kernel_run(const struct hc_kernel *kernel, dim3 grid, dim3 block, size_t shared_bytes, void **arguments);

#endif
