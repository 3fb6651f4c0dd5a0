#include "hostcuda/src/stream/patience.h"

#include "hostcuda/src/core/core_number.h"
#include "hostcuda/src/core/core_schedule.h"

#include <stdio.h>
#include <string.h>

/* A program that still makes calls is hardly ever silent for so long, even on a busy machine. With a seed, running work
 * too early would change the order. */
enum { PLAIN = 200, SEEDED = 1000, LONGEST = 60000 };

static unsigned patience;
static bool patience_set; /* set by HOSTCUDA_PROGRESS */

bool hc_patience_read(const char *text)
{
    uint64_t value = 0;
    if (!text || !*text)
        return true;
    if (!hc_number_read(text, text + strlen(text), LONGEST, &value)) {
        fprintf(stderr, "hostcuda: HOSTCUDA_PROGRESS is \"%s\"; allowed are 0 (off) to %d milliseconds\n", text,
                LONGEST);
        return false;
    }
    patience = (unsigned)value;
    patience_set = true;
    return true;
}

unsigned hc_patience(void)
{
    if (patience_set)
        return patience;
    return hc_schedule_seeded() ? SEEDED : PLAIN;
}
