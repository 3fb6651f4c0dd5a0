/* What every part of the host device shares: the lock, the devices, the calling thread, and errors. */
#ifndef HOSTCUDA_STATE_H
#define HOSTCUDA_STATE_H

/* The functions of the CUDA API are what a program links; all else stays inside. */
#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HC_DEVICES_MAX = 64 };

struct hc_device {
    cudaError_t sticky; /* a failed kernel's error: every later call on this device returns it */
    cudaError_t coming; /* an injected one, which the next wait finds */
    cudaStream_t legacy;
};

/* A thread of the program. */
struct hc_thread {
    uint64_t id; /* never given twice */
    int device;
    cudaError_t last_error;
    enum cudaStreamCaptureMode mode;
    bool in_host_function;
    cudaStream_t per_thread[HC_DEVICES_MAX];
};

/* Every function of the API is `error = hc_begin(); if (!error) error = ...; return hc_end(error);`. hc_begin takes the
 * lock, whatever it returns; hc_end releases it and keeps an error as the thread's last one. They stand in the function
 * itself, whose name is what HOSTCUDA_FAIL knows; a helper that begins for several uses hc_begin_as. */
#define hc_begin() hc_begin_as(__func__)
cudaError_t hc_begin_as(const char *name);
cudaError_t hc_end(cudaError_t error);
/* As hc_begin, without the errors of what ran before: for calls that still work then. */
#define hc_begin_quiet() hc_begin_quiet_as(__func__)
cudaError_t hc_begin_quiet_as(const char *name);
/* The same for what is no call of the program's to CUDA, or cannot fail. */
cudaError_t hc_begin_unnamed(void);

/* What all threads share lasts until the process is gone: others may go on while the one that ends it runs its
 * destructors. So nothing is freed there. */
void hc_lock(void);
void hc_unlock(void);
/* Waits, without the lock, until hc_wake. */
void hc_sleep(void);
void hc_wake(void);

struct hc_thread *hc_thread(void);
/* The calling thread has called the API before. */
bool hc_thread_is_known(void);
int hc_device_count(void);
struct hc_device *hc_device(int index);
/* What a wait on the device tells, once all it waited for has run. */
cudaError_t hc_device_outcome(int index);

/* Handles given to the program, so that a wrong one is an error instead of a crash. */
enum hc_handle { HC_STREAM = 1, HC_EVENT, HC_GRAPH, HC_NODE, HC_EXEC, HC_USER_OBJECT, HC_MEMORY, HC_COMM };
bool hc_handle_add(enum hc_handle kind, const void *handle);
void hc_handle_remove(const void *handle);
bool hc_handle_is(enum hc_handle kind, const void *handle);

#endif
