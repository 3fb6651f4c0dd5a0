#include "hostcuda/src/call/environment_settings.h"

#include "hostcuda/src/call/fault_injection.h"
#include "hostcuda/src/call/driver_library.h"
#include "hostcuda/src/core/core_number.h"
#include "hostcuda/src/core/core_schedule.h"
#include "hostcuda/src/core/core_state.h"
#include "hostcuda/src/memory/memory_modes.h"
#include "hostcuda/src/stream/progress_timeout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_device_count(int *count)
{
    const char *text = getenv("HOSTCUDA_DEVICES");
    char *end = NULL;
    *count = 1;
    if (!text || !*text)
        return true;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < 1 || value > HC_DEVICES_MAX) {
        fprintf(stderr, "hostcuda: HOSTCUDA_DEVICES is \"%s\"; allowed are 1 to %d\n", text, HC_DEVICES_MAX);
        return false;
    }
    *count = (int)value;
    return true;
}

static bool read_seed(void)
{
    const char *text = getenv("HOSTCUDA_SEED");
    uint64_t seed = 0;
    if (text && *text && !hc_number_read(text, text + strlen(text), UINT64_MAX - 9, &seed)) {
        fprintf(stderr, "hostcuda: HOSTCUDA_SEED is \"%s\"; allowed are 0 (order of issue) to %llu\n", text,
                (unsigned long long)UINT64_MAX - 9);
        return false;
    }
    hc_schedule_seed(seed);
    return true;
}

bool hc_settings_read(void)
{
    int devices = 0;
    bool ok = read_device_count(&devices) && read_seed() && hc_memory_modes_read(getenv("HOSTCUDA_MEMORY")) &&
              hc_fault_read(getenv("HOSTCUDA_FAIL")) && hc_through_driver_read(getenv("HOSTCUDA_THROUGH_DRIVER")) &&
              hc_progress_timeout_read(getenv("HOSTCUDA_PROGRESS"));
    if (ok)
        hc_devices_start(devices);
    return ok;
}
