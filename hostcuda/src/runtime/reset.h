/* cudaDeviceReset and cudaSetDeviceFlags, also for the driver. */
#ifndef HOSTCUDA_RUNTIME_RESET_H
#define HOSTCUDA_RUNTIME_RESET_H

#include "hostcuda/src/core/core_state.h"

/* Waits for the device and frees its memory. An error of its work stays, as CUDA documents; streams, events and graphs
 * stay the program's. */
cudaError_t hc_device_reset(int device);

/* Sets the flags that the runtime and the driver have in common. Only one scheduling flag may be set; flags without a
 * meaning here are dropped. */
cudaError_t hc_device_set_flags(int device, unsigned flags);

#endif
