#include "hostcuda/memory/mapped.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The mappings stand in the order of their addresses; those that touch are one memory. */
bool hc_mapped_for_use(const void *address, size_t bytes, bool written)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    uintptr_t at = (uintptr_t)address, end = at + bytes;
    char *line = NULL;
    size_t room = 0;
    if (!maps)
        return true;
    while (at < end && getline(&line, &room, maps) > 0) {
        uintptr_t low = 0, high = 0;
        char read = '-', write = '-';
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %c%c", &low, &high, &read, &write) != 4 || high <= at)
            continue;
        if (low > at || read != 'r' || (written && write != 'w'))
            break;
        at = high;
    }
    free(line);
    fclose(maps);
    return at >= end;
}
