/* Which sizes of buckets pad a mix of batches least. */
#ifndef BG_DEBUG_SIZES_H
#define BG_DEBUG_SIZES_H

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
    int query_len;        /* a bucket holds whole requests of so many tokens; 1 for mixed batches */
    bg__size_count *list; /* by tokens, ascending; those that its largest bucket can hold */
    size_t count, capacity;
} bg__size_family;

/* The batches of a runner whose size decides how they run. All families have the same schedule. */
typedef struct bg__size_mix {
    bg__size_family *families;
    size_t count, capacity;
    int max_tokens;
    double max_padding; /* as in the runner's configuration */
    bool has_mixed;     /* mixed batches have buckets: a decode batch that its own pads too much gets one of them */
} bg__size_mix;

/* The bucket that a size of the schedule makes for query_len, as the runner rounds it. */
int bg__size_round(int size, int query_len, int max_tokens);

/* What a schedule makes of a mix. */
typedef struct bg__size_cost {
    uint64_t batches, rows; /* that run by a graph, and their own rows */
    uint64_t padding_rows;
} bg__size_cost;
bg__size_cost bg__sizes_judge(const bg__size_mix *mix, const int *sizes, size_t count);

/* The best schedules of each length, as steps of a dynamic program. */
typedef struct bg__size_choices {
    int *candidates; /* ascending; the last one is in every schedule */
    int *before;     /* of each length, from 2 on: by candidate, the index of the size before it */
    size_t count;
    size_t most; /* the longest schedule, at most count sizes */
} bg__size_choices;

/* Finds, for 1 to `most` sizes, those with the fewest padding rows that cover at least `cover` percent of the batches:
 * all up to the largest size. max_padding is not looked at. Exact up to BG__SIZE_CANDIDATES different sizes of batches;
 * of more, some are left out. Time: proportional to most x count x log(count).
 * Errors: OUT_OF_MEMORY, NOT_FOUND (no batches). */
enum { BG__SIZE_CANDIDATES = 1 << 14 };
bg_status bg__sizes_choose(const bg__size_mix *mix, double cover, size_t most, bg__size_choices *choices);
/* The schedule of that length, 1 to choices->most. */
void bg__sizes_get(const bg__size_choices *choices, size_t length, int *sizes);
/* Raises sizes to whole requests where that changes nothing: 16 reads better than 13, which is rounded up to it. */
void bg__sizes_raise(const bg__size_mix *mix, int *sizes, size_t length);
void bg__sizes_free(bg__size_choices *choices);

#endif
