#include "hostcuda/src/memory/mapped.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14 */
#endif

/* Linux makes the pages resident, like pinned memory, if all of them are mapped and writable. Older kernels refuse. */
static bool populate_pages(const void *address, size_t bytes)
{
    size_t into = (uintptr_t)address % (size_t)sysconf(_SC_PAGESIZE);
    return bytes && madvise((char *)(uintptr_t)address - into, into + bytes, MADV_POPULATE_WRITE) == 0;
}

/* Mappings are listed in order of address; adjacent ones count as one. Reading all of them is slow if a program
 * registers many parts. */
bool hc_memory_is_mapped(const void *address, size_t bytes, bool written)
{
    if (populate_pages(address, bytes))
        return true;
    uintptr_t at = (uintptr_t)address, end = at + bytes;
    FILE *maps = fopen("/proc/self/maps", "re");
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
