#include "hostcuda/core/settings.h"

#include "hostcuda/fault/fault.h"
#include <hostcuda/hostcuda.h>
#include "hostcuda/memory/modes.h"
#include "hostcuda/core/schedule.h"
#include "hostcuda/core/state.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hc_settings_number(const char *text, const char *end, uint64_t limit, uint64_t *number)
{
    uint64_t value = 0;
    if (text == end)
        return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (limit - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *number = value;
    return true;
}

static bool read_seed(void)
{
    const char *text = getenv("HOSTCUDA_SEED");
    uint64_t seed = 0;
    if (text && *text && !hc_settings_number(text, text + strlen(text), UINT64_MAX - 9, &seed)) {
        fprintf(stderr, "hostcuda: HOSTCUDA_SEED is \"%s\"; allowed are 0 (order of issue) to %llu\n", text,
                (unsigned long long)UINT64_MAX - 9);
        return false;
    }
    hc_schedule_seed(seed);
    return true;
}

void hostcuda_seed(unsigned long long seed)
{
    (void)hc_begin_unnamed(); /* the environment's seed first, if nothing was called yet */
    hc_schedule_seed(seed);
    hc_unlock();
}

bool hc_settings_read(void)
{
    return read_seed() && hc_memory_modes_read(getenv("HOSTCUDA_MEMORY")) && hc_fault_read();
}
