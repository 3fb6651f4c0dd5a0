/* State that all parts of the host device share: the lock, the devices, the calling thread, and handles.
 *
 * Each part is a folder. It includes and calls only the parts above it in this list:
 *   core     the lock, devices, threads, handles, the seeded order, names of errors
 *   kernel   registered kernels, and running their blocks
 *   memory   blocks and the memory behind them: poison, fences; checks of copies
 *   op       operations: what streams queue and graph nodes contain
 *   graph    graphs, and programs: their operations in the order in which they run
 *   stream   streams, events, captures, and the queue that runs work
 *   exec     executable graphs
 *   call     how every call begins and ends; environment variables; faults; the functions of hostcuda.h; runtime calls
 *            that go through libcuda.so.1
 *   runtime  CUDA's runtime calls
 *   driver   CUDA's driver calls
 *   cublas   cuBLAS's calls
 *   nccl     NCCL's calls
 * Parts up to exec do not know which call uses them. Functions that kernels call (kernel_abi.h) are in kernel.
 * Unless a comment says otherwise, functions that use shared state are called with the lock held. */
#ifndef HOSTCUDA_STATE_H
#define HOSTCUDA_STATE_H

/* Functions of the CUDA API are exported; all other functions are hidden. */
#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HC_DEVICES_MAX = 64 };
enum { HC_PRIORITY_LEAST = 0, HC_PRIORITY_GREATEST = -5 }; /* priorities of streams and kernel nodes */
/* A device's flags until the program sets them. */
#define HC_DEVICE_FLAGS cudaDeviceLmemResizeToMax

struct hc_device {
    cudaError_t sticky; /* error of a failed kernel, which every later call on this device returns */
    cudaError_t coming; /* an injected error, which the next wait returns */
    cudaStream_t legacy;
    unsigned flags;             /* set by the program; they have no effect */
    bool peers[HC_DEVICES_MAX]; /* peers whose memory the program may use */
};

struct hc_forward;

/* What a thread currently does. */
struct hc_call_state {
    bool host_function;
    const char *door; /* the driver function that is calling a runtime function to do the driver function's work */
    struct hc_forward *forward; /* the runtime call that is forwarded to libcuda */
    struct hc_forward *arrived; /* the forwarded call that the current driver function belongs to */
};

/* A caller on a thread: the program, or a tool between two of the program's calls. */
struct hc_caller {
    struct hc_call_state inside;
    cudaError_t last_error;
};

/* A thread of the program that has called the API. */
struct hc_thread {
    uint64_t id; /* never reused */
    int device;
    bool context; /* the device's context is current, as seen by the driver */
    cudaError_t last_error;
    enum cudaStreamCaptureMode mode;
    struct hc_call_state inside;
    int tools;                /* above 0: a tool calls (hostcuda_tool) */
    struct hc_caller program; /* the program's state while a tool calls */
    cudaStream_t per_thread[HC_DEVICES_MAX];
};

/* Never freed: while one thread ends the process and runs destructors, others may still use shared state. */
void hc_lock(void);
void hc_unlock(void);
/* Releases the lock and waits until hc_notify_change. */
void hc_wait_for_change(void);
void hc_notify_change(void);
/* Waits on one condition, for at most so many milliseconds (0: no limit). Returns false on timeout. */
bool hc_wait_on_condition(pthread_cond_t *condition, unsigned milliseconds);

/* Call it once, before the other functions. When a thread that has called the API ends, `ended` is called, and then the
 * thread's struct is freed. Returns false if there is no memory. */
bool hc_threads_start(void (*ended)(struct hc_thread *thread));
void hc_devices_start(int count);

struct hc_thread *hc_thread(void);
/* Whether the calling thread has called the API before. */
bool hc_thread_is_known(void);
int hc_device_count(void);
/* Returns the nearest priority that devices support. */
int hc_device_priority(int priority);
struct hc_device *hc_device(int index);
/* Returns the error that a wait for the device returns. Call it after the work has run. */
cudaError_t hc_device_error_after_wait(int index);

/* The handles that the program has. They are recorded, so that a wrong handle is an error and not a crash. */
enum hc_handle { HC_STREAM = 1, HC_EVENT, HC_GRAPH, HC_NODE, HC_EXEC, HC_USER_OBJECT, HC_MEMORY, HC_COMM, HC_POOL };
bool hc_handle_add(enum hc_handle kind, const void *handle);
void hc_handle_remove(const void *handle);
bool hc_handle_is(enum hc_handle kind, const void *handle);
size_t hc_handle_count(enum hc_handle kind);

#endif
