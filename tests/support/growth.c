#include "growth.h"

#include <cuda_runtime_api.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

const growth_look growth_slack = {.resident = 512 * 1024, .heap = 64 * 1024, .device = 0};

bool growth_take(growth_look *look)
{
    struct mallinfo2 heap;
    size_t left = 0, total = 0;
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    bool read =
        file != NULL && fscanf(file, "%*u %lu", &pages) == 1; /* NOLINT(cert-err34-c): the kernel's own numbers */

    if (file != NULL)
        fclose(file);
    if (!read || cudaMemGetInfo(&left, &total) != cudaSuccess) {
        fprintf(stderr, "%s cannot be asked for\n", read ? "device memory" : "/proc/self/statm");
        return false;
    }
    heap = mallinfo2(); /* after the file's buffer has come and gone */
    look->resident = pages * (size_t)sysconf(_SC_PAGESIZE);
    look->heap = heap.uordblks + heap.hblkhd;
    look->device = total - left;
    return true;
}

static bool tell(const char *what, size_t first, size_t last, size_t slack)
{
    bool grew = last > first + slack;
    printf("%-24s %12.1f KiB at first, %12.1f at the end: %+.1f (allowed: %.1f)%s\n", what, (double)first / 1024,
           (double)last / 1024, ((double)last - (double)first) / 1024, (double)slack / 1024, grew ? "  GREW" : "");
    return grew;
}

bool growth_tell(const growth_look *first, const growth_look *last)
{
    bool grew = tell("resident set", first->resident, last->resident, growth_slack.resident);
    grew |= tell("host heap", first->heap, last->heap, growth_slack.heap);
    grew |= tell("device memory", first->device, last->device, growth_slack.device);
    return grew;
}
