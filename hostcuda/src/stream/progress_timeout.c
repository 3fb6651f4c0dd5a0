#include "hostcuda/src/stream/progress_timeout.h"

#include "hostcuda/src/core/core_number.h"
#include "hostcuda/src/core/core_schedule.h"

#include <stdio.h>
#include <string.h>

/* A program that still makes calls is hardly ever silent for so long, even on a busy machine. With a seed, running work
 * too early would change the order. */
enum { DEFAULT_MILLISECONDS = 200, SEEDED_MILLISECONDS = 1000, MILLISECONDS_MAX = 60000 };

static unsigned timeout;
static bool timeout_is_set; /* set by HOSTCUDA_PROGRESS */

bool hc_progress_timeout_read(const char *text)
{
    uint64_t value = 0;
    if (!text || !*text)
        return true;
    if (!hc_number_read(text, text + strlen(text), MILLISECONDS_MAX, &value)) {
        fprintf(stderr, "hostcuda: HOSTCUDA_PROGRESS is \"%s\"; allowed are 0 (off) to %d milliseconds\n", text,
                MILLISECONDS_MAX);
        return false;
    }
    timeout = (unsigned)value;
    timeout_is_set = true;
    return true;
}

unsigned hc_progress_timeout(void)
{
    if (timeout_is_set)
        return timeout;
    return hc_schedule_seeded() ? SEEDED_MILLISECONDS : DEFAULT_MILLISECONDS;
}
