/* Finds the bucket sizes that pad a mix of batches least. */
#ifndef BG_DEBUG_BUCKET_SIZES_H
#define BG_DEBUG_BUCKET_SIZES_H

#include <breakgraph/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bg__size_count {
    int tokens;
    uint64_t batches;
} bg__size_count;

/* Batches that share buckets. */
typedef struct bg__size_family {
    int query_len;        /* tokens of a request; a bucket holds only whole requests; 1 for mixed batches */
    bg__size_count *list; /* by tokens, ascending; only sizes that its largest bucket can hold */
    size_t count, capacity;
} bg__size_family;

/* The batches of a runner whose size decides how they run. All families have the same schedule. */
typedef struct bg__size_mix {
    bg__size_family *families;
    size_t count, capacity;
    int max_tokens;
    double max_padding; /* as in the runner's configuration */
    bool has_mixed;     /* mixed batches have buckets; these also run decode batches that their own buckets pad too
                         * much */
} bg__size_mix;

/* Rounds a size of the schedule to the bucket for query_len, as the runner does. */
int bg__size_round(int size, int query_len, int max_tokens);

/* The cost of running a mix with a schedule. */
typedef struct bg__size_cost {
    uint64_t batches, rows; /* batches that run by a graph, and their own rows */
    uint64_t padding_rows;
} bg__size_cost;
bg__size_cost bg__sizes_cost(const bg__size_mix *mix, const int *sizes, size_t count);

/* The best schedule of each length, as steps of a dynamic program. */
typedef struct bg__size_choices {
    int *candidates; /* ascending; the last one is in every schedule */
    int *before;     /* for each length from 2 on, by candidate: the index of the previous size */
    size_t count;
    size_t most; /* length of the longest schedule, at most `count` */
} bg__size_choices;

/* Finds, for 1 to `most` sizes, the schedule with the fewest padding rows that covers at least `cover` percent of the
 * batches, all up to its largest size. Ignores max_padding. The result is exact for up to BG__SIZE_CANDIDATES different
 * sizes of batches; of more, some are left out. Time: proportional to most x count x log(count). Errors: OUT_OF_MEMORY,
 * NOT_FOUND (no batches). */
enum { BG__SIZE_CANDIDATES = 1 << 14 };
bg_status bg__sizes_choose(const bg__size_mix *mix, double cover, size_t most, bg__size_choices *choices);
/* Writes the schedule of that length, from 1 to choices->most, to sizes. */
void bg__sizes_schedule(const bg__size_choices *choices, size_t length, int *sizes);
/* Raises sizes to whole requests if this changes no bucket: 16 is more readable than 13, which the runner rounds up to
 * 16. */
void bg__sizes_round_up(const bg__size_mix *mix, int *sizes, size_t length);
void bg__sizes_free(bg__size_choices *choices);

#endif
