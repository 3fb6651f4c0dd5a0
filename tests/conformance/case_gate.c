#include "case_gate.h"

#include "conformance_kernels.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

static atomic_int gate_is_open, has_returned, has_given_up;

static void sleep_ms(int milliseconds)
{
    const struct timespec time = {0, milliseconds * 1000000L};
    nanosleep(&time, NULL);
}

static void CUDART_CB wait_for_gate(void *unused)
{
    (void)unused;
    for (int ms = 0; !atomic_load(&gate_is_open) && ms < GATE_MS_MAX; ms++)
        sleep_ms(1);
    atomic_store(&has_given_up, !atomic_load(&gate_is_open));
    atomic_store(&has_returned, 1);
}

static void CUDART_CB take_long(void *unused)
{
    (void)unused;
    sleep_ms((int)GATE_LONG_MS);
    atomic_store(&has_returned, 1);
}

/* CUDA loads a kernel when it is first used, and may wait for the device then: not behind the gate. */
static cudaError_t load_kernels(void)
{
    return ck_add_function() ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t gate_hold(cudaStream_t stream)
{
    cudaError_t error = load_kernels();
    atomic_store(&gate_is_open, 0);
    atomic_store(&has_given_up, 0);
    atomic_store(&has_returned, 0);
    return error ? error : cudaLaunchHostFunc(stream, wait_for_gate, NULL);
}

cudaError_t gate_open(void)
{
    atomic_store(&gate_is_open, 1);
    return cudaSuccess;
}

cudaError_t gate_take_long(cudaStream_t stream)
{
    cudaError_t error = load_kernels();
    atomic_store(&has_returned, 0);
    return error ? error : cudaLaunchHostFunc(stream, take_long, NULL);
}

bool gate_returned(void)
{
    return atomic_load(&has_returned);
}

bool gate_gave_up(void)
{
    return atomic_load(&has_given_up);
}

bool gate_wait_until(const volatile int *place, int value)
{
    for (int ms = 0; *place != value && ms < GATE_WAIT_MS_MAX; ms++)
        sleep_ms(1);
    return *place == value;
}
