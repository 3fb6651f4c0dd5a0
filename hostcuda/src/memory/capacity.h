/* How much memory each device has, and how much of it is taken. */
#ifndef HOSTCUDA_CAPACITY_H
#define HOSTCUDA_CAPACITY_H

#include <stdbool.h>
#include <stddef.h>

/* What a device is said to have: this machine's memory. */
size_t hc_device_bytes(void);
size_t hc_device_free_bytes(int device);
/* False: the device has not so much left. */
bool hc_device_claim(int device, size_t bytes);
void hc_device_unclaim(int device, size_t bytes);

#endif
