/* The rows of "runners" in a report (docs/report-format.md). They may come from files, and have any contents. */
#ifndef BG_DEBUG_RUNNER_MIX_H
#define BG_DEBUG_RUNNER_MIX_H

#include <cjson/cJSON.h>

#include "bucket_sizes.h"

/* The rows of the ranks of one runner, which must all have the same schedule; or one row. */
typedef struct bg__runner_group {
    const cJSON **rows;
    size_t count;
} bg__runner_group;

/* Puts each row into a group of the same name and configuration, in which each rank occurs once. Groups are in the
 * order of their first rows. There are at most as many groups as rows; the caller frees *groups alone. Errors:
 * OUT_OF_MEMORY. */
bg_status bg__runner_groups_make(const cJSON *rows, bg__runner_group **groups, size_t *count);

/* Whether all numbers of the row are valid for a runner: from 0 to 2^53. */
bool bg__runner_row_is_valid(const cJSON *row);

/* Reads the batches whose size decides how they run, from all rows of a group. Families without graphs are left out.
 * The caller frees mix. Errors: OUT_OF_MEMORY, IO (breakgraph has not written the rows). */
bg_status bg__runner_mix_read(const bg__runner_group *group, bg__size_mix *mix);
void bg__runner_mix_free(bg__size_mix *mix);

/* What a schedule needs, estimated from the captured buckets of a row: what a size between two of these buckets needs
 * lies between what the two need. */
typedef struct bg__size_need {
    size_t buckets;     /* buckets to capture, of all variants */
    double pool_bytes;  /* bytes for the largest bucket; all buckets share them */
    double graph_bytes; /* bytes of the driver, for all graphs */
    double capture_ms;
} bg__size_need;
/* Only `buckets` is set if no bucket was captured. */
bg__size_need bg__runner_estimate_need(const cJSON *row, const bg__size_mix *mix, const int *sizes, size_t count);

#endif
