#include "base/base.h"

#include <time.h>

double bg__now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with a valid clock and pointer */
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}
