#include "hostcuda/src/memory/capacity.h"

#include "hostcuda/src/core/core_state.h"

#include <unistd.h>

static size_t claimed_bytes[HC_DEVICES_MAX];

size_t hc_device_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)1 << 32;
}

size_t hc_device_free_bytes(int device)
{
    return hc_device_bytes() - claimed_bytes[device];
}

bool hc_device_claim_bytes(int device, size_t bytes)
{
    if (bytes > hc_device_free_bytes(device))
        return false;
    claimed_bytes[device] += bytes;
    return true;
}

void hc_device_unclaim_bytes(int device, size_t bytes)
{
    claimed_bytes[device] -= bytes;
}
