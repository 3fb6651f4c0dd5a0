/* What every part of the host device shares: the lock, the devices, the calling thread, and handles.
 *
 * The parts are folders. Each includes and calls only those above it in this list:
 *   core     the lock, devices, threads, handles, the order of a seed, names of errors
 *   kernel   kernels that the program has shown, and running their blocks
 *   memory   blocks, and what is behind them: poison, fences; copies checked
 *   op       operations: what streams queue and what nodes hold
 *   graph    graphs, and programs: their operations in the order in which they run
 *   stream   streams, events, captures, and the queue that runs work
 *   exec     executable graphs
 *   call     how every call begins and ends; the variables of the environment; faults; what hostcuda.h offers;
 *            the way of a runtime call through the driver's library
 *   runtime  the calls of CUDA's runtime
 *   driver   those of its driver
 *   cublas   those of cuBLAS
 *   nccl     those of NCCL
 * What calls share lies below them: up to exec, nothing knows of a call. The kernels' own functions (kernel_abi.h) are
 * in kernel. */
#ifndef HOSTCUDA_STATE_H
#define HOSTCUDA_STATE_H

/* The functions of the CUDA API are what a program links; all else stays inside. */
#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HC_DEVICES_MAX = 64 };
enum { HC_PRIORITY_LEAST = 0, HC_PRIORITY_GREATEST = -5 }; /* of streams and of kernel nodes */
/* The flags of a device for which the program has set none. */
#define HC_DEVICE_FLAGS cudaDeviceLmemResizeToMax

struct hc_device {
    cudaError_t sticky; /* a failed kernel's error: every later call on this device returns it */
    cudaError_t coming; /* an injected one, which the next wait finds */
    cudaStream_t legacy;
    unsigned flags;             /* what the program has set: kept, and no more */
    bool peers[HC_DEVICES_MAX]; /* those whose memory it may use */
};

struct hc_forward;

/* What a thread is in the middle of. */
struct hc_inside {
    bool host_function;
    const char *door;           /* the driver's function that has called one of the runtime to do its work */
    struct hc_forward *forward; /* the call of the runtime that goes through the driver's library */
    struct hc_forward *arrived; /* the one that the driver's function which runs is for */
};

/* Who calls on a thread: the program, or a tool between two instructions of it. */
struct hc_caller {
    struct hc_inside inside;
    cudaError_t last_error;
};

/* A thread of the program. */
struct hc_thread {
    uint64_t id; /* never given twice */
    int device;
    bool context; /* the device's is current, as the driver has it */
    cudaError_t last_error;
    enum cudaStreamCaptureMode mode;
    struct hc_inside inside;
    int tools;                /* above 0: a tool calls, which hostcuda_tool has said */
    struct hc_caller program; /* meanwhile, what the program is in the middle of */
    cudaStream_t per_thread[HC_DEVICES_MAX];
};

/* Shared state is never freed: while one thread ends the process and runs destructors, others may still use it. */
void hc_lock(void);
void hc_unlock(void);
/* Waits, without the lock, until hc_wake. */
void hc_sleep(void);
void hc_wake(void);
/* The same for who waits for one thing alone: until it is signalled, or for so long (0: without end). False: the time
 * is over. */
bool hc_sleep_on(pthread_cond_t *condition, unsigned milliseconds);

/* Call once, before the other functions. ended is called when a thread ends that has called the API; its struct is
 * freed afterwards. False: no memory. */
bool hc_threads_start(void (*ended)(struct hc_thread *thread));
void hc_devices_start(int count);

struct hc_thread *hc_thread(void);
/* The calling thread has called the API before. */
bool hc_thread_is_known(void);
int hc_device_count(void);
/* The nearest priority that the devices have. */
int hc_device_priority(int priority);
struct hc_device *hc_device(int index);
/* The error that a wait on the device returns when the work has run. */
cudaError_t hc_device_outcome(int index);

/* Handles given to the program, so that a wrong one is an error instead of a crash. */
enum hc_handle { HC_STREAM = 1, HC_EVENT, HC_GRAPH, HC_NODE, HC_EXEC, HC_USER_OBJECT, HC_MEMORY, HC_COMM, HC_POOL };
bool hc_handle_add(enum hc_handle kind, const void *handle);
void hc_handle_remove(const void *handle);
bool hc_handle_is(enum hc_handle kind, const void *handle);
size_t hc_handle_count(enum hc_handle kind);

#endif
