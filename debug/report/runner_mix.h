/* The rows of "runners" in a report (docs/report-format.md). They may come from files, and hold anything. */
#ifndef BG_DEBUG_RUNNER_MIX_H
#define BG_DEBUG_RUNNER_MIX_H

#include <cjson/cJSON.h>

#include "sizes.h"

/* Whether the rows are of one runner's ranks, which must all have the same schedule. A row is that of itself. */
bool bg__rows_are_of_ranks(const cJSON *row, const cJSON *other);

/* Whether all numbers of the row can be those of a runner: not negative, and up to 2^53. */
bool bg__runner_row_fits(const cJSON *row);

/* Reads the batches whose size decides how they run, of a row and the other ranks' in its list. Families without graphs
 * are left out. Errors: OUT_OF_MEMORY, IO (the rows are not as breakgraph writes them). The caller frees it. */
bg_status bg__runner_mix_read(const cJSON *row, bg__size_mix *mix);
void bg__runner_mix_free(bg__size_mix *mix);

/* What a schedule takes, by the buckets of a row that were captured: sizes between two of them are taken to need what
 * lies between. */
typedef struct bg__size_need {
    size_t buckets;     /* that are captured, of all variants */
    double pool_bytes;  /* what the largest of them needs; all share it */
    double graph_bytes; /* of the driver, for all graphs */
    double capture_ms;
} bg__size_need;
/* buckets alone where none was captured. */
bg__size_need bg__runner_need(const cJSON *row, const bg__size_mix *mix, const int *sizes, size_t count);

#endif
