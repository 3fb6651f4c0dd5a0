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
 * lock, whatever it returns; hc_end releases it and keeps an error as the thread's last one. */
cudaError_t hc_begin(void);
cudaError_t hc_end(cudaError_t error);
/* As hc_begin, without the errors of what ran before: for calls that still work then. */
cudaError_t hc_begin_quiet(void);

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

/* Handles given to the program, so that a wrong one is an error instead of a crash. */
enum hc_handle { HC_STREAM = 1, HC_EVENT, HC_GRAPH, HC_NODE, HC_EXEC, HC_USER_OBJECT, HC_MEMORY, HC_COMM };
bool hc_handle_add(enum hc_handle kind, const void *handle);
void hc_handle_remove(const void *handle);
bool hc_handle_is(enum hc_handle kind, const void *handle);

#endif
