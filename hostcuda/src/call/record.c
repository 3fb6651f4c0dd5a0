#include "hostcuda/src/call/record.h"

#include "hostcuda/src/core/core_grow.h"

#include <stdio.h>
#include <string.h>

static const char **calls; /* in order of the calls; the names are literals */
static size_t call_count, call_capacity;
static bool recording;

void hc_record_set_enabled(bool on)
{
    if (on)
        call_count = 0;
    recording = on;
}

bool hc_recording(void)
{
    return recording;
}

void hc_record_add(const char *name)
{
    if (hc_array_reserve(&calls, &call_capacity, call_count + 1, sizeof(*calls))) {
        calls[call_count++] = name;
    } else {
        fprintf(stderr, "hostcuda: no memory to record more than %zu calls\n", call_count);
        recording = false;
    }
}

const char *hc_record_name(size_t index)
{
    return index < call_count ? calls[index] : NULL;
}

size_t hc_record_count(const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < call_count; i++)
        count += !name || !strcmp(name, calls[i]);
    return count;
}
