/* cudaDeviceReset, for the driver, too. */
#ifndef HOSTCUDA_RUNTIME_RESET_H
#define HOSTCUDA_RUNTIME_RESET_H

#include "hostcuda/core/state.h"

/* Waits for the device and frees its memory. An error of its work stays, as CUDA's documentation has it, and streams,
 * events and graphs stay the program's. */
cudaError_t hc_device_reset(int device);

#endif
