/* The rows of "runners" in a report (docs/report-format.md). They may come from files, and hold anything. */
#ifndef BG_DEBUG_RUNNER_MIX_H
#define BG_DEBUG_RUNNER_MIX_H

#include <cjson/cJSON.h>

#include "sizes.h"

/* The rows of one runner's ranks, which must all have the same schedule; or one row. */
typedef struct bg__runner_group {
    const cJSON **rows;
    size_t count;
} bg__runner_group;

/* Puts each row into a group, the first of each group before those of the next one: of a name and configuration, each
 * rank once. There are as many groups as rows at most; the caller frees *groups alone. Errors: OUT_OF_MEMORY. */
bg_status bg__runner_groups_make(const cJSON *rows, bg__runner_group **groups, size_t *count);

/* Whether all numbers of the row can be those of a runner: not negative, and up to 2^53. */
bool bg__runner_row_fits(const cJSON *row);

/* Reads the batches whose size decides how they run, of all rows of a group. Families without graphs
 * are left out. Errors: OUT_OF_MEMORY, IO (the rows are not as breakgraph writes them). The caller frees it. */
bg_status bg__runner_mix_read(const bg__runner_group *group, bg__size_mix *mix);
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
