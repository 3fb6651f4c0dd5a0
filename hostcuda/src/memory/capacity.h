/* The memory of each device, and how much of it is allocated. */
#ifndef HOSTCUDA_CAPACITY_H
#define HOSTCUDA_CAPACITY_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the size of a device's memory: the size of this machine's memory. */
size_t hc_device_bytes(void);
size_t hc_device_free_bytes(int device);
/* Returns false if the device has less memory left. */
bool hc_device_claim_bytes(int device, size_t bytes);
void hc_device_unclaim_bytes(int device, size_t bytes);

#endif
