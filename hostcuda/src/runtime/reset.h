/* cudaDeviceReset and cudaSetDeviceFlags, for the driver, too. */
#ifndef HOSTCUDA_RUNTIME_RESET_H
#define HOSTCUDA_RUNTIME_RESET_H

#include "hostcuda/src/core/core_state.h"

/* Waits for the device and frees its memory. An error of its work stays, as CUDA's documentation has it, and streams,
 * events and graphs stay the program's. */
cudaError_t hc_device_reset(int device);

/* The flags that the runtime and the driver have alike. Of those for the scheduling only one may be set; those that
 * mean nothing here are dropped. */
cudaError_t hc_device_set_flags(int device, unsigned flags);

#endif
