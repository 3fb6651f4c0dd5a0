/* Replays with patterns in memory that no op may read before another has written it. */
#ifndef BG_DEBUG_POISON_H
#define BG_DEBUG_POISON_H

#include "debug/memory/footprint.h"
#include "debug/memory/snapshot.h"
#include "debug/report/report.h"

/* Memory from address on, and what it held after the replay with each pattern. */
typedef struct bg__poison_bytes {
    uintptr_t address;
    size_t bytes, element; /* element: of the dtype */
    const bg__spans *poisoned;
    unsigned char *held[BG__PATTERNS];
    bool varies;  /* they were not the same after two replays with one pattern */
    size_t at;    /* the first byte that was not */
    char *spread; /* of each element (bg__poison_spread); NULL: all are the same */
} bg__poison_bytes;
/* By how much an element differs after replays with one pattern: by rounding, as sums in another order; or by more. */
enum bg__poison_spread { BG__SAME, BG__NEAR, BG__FAR };
enum { BG__POISON_TRIES = 8 }; /* of replays that may be equal by chance */
/* Copies them from the device after the replay with that pattern; after a later one, compares them. */
bg_status bg__poison_read(bg__poison_bytes *bytes, bg__pattern pattern, cudaStream_t stream);
void bg__poison_free(bg__poison_bytes *bytes);
/* unwritten: elements that still hold each pattern; differing: elements that differ between patterns otherwise. */
typedef struct bg__poison_count {
    size_t elements, unwritten, differing;
} bg__poison_count;
bg__poison_count bg__poison_compare(const bg__poison_bytes *bytes);
/* Whether an element depends on the pattern: it differs by more than it does after replays with one. */
bool bg__poison_differs(const bg__poison_bytes *bytes, size_t element);
bool bg__poison_is_unwritten(const bg__poison_bytes *bytes, size_t element);

struct bg__poison;
struct bg__field_tensor;
/* What another check than bg_check_poison does with these replays (padding.c). */
typedef struct bg__poison_check {
    /* Behind bg__poison_prepare. */
    bg_status (*fill)(const struct bg__poison *poison, bg__pattern pattern);
    /* Whether an output of a call is compared, and which part of it. */
    bool (*judges)(const struct bg__poison *poison, const bg__call *call, const struct bg__field_tensor *t,
                   bg_tensor *compared);
    /* Reports an output if it differs between patterns. false: it does not. */
    bool (*report)(const struct bg__poison *poison, const bg__call *call, const char *name, const bg_tensor *compared,
                   const bg__poison_bytes *bytes);
} bg__poison_check;

/* One check. */
typedef struct bg__poison {
    bg_graph *graph;
    cudaStream_t stream;
    bg_report *report;
    bg__footprint footprint;
    bg__snapshot image; /* what memory held before the check */
    bg__spans poisoned;
    const bg__poison_check *check; /* NULL: bg_check_poison */
    void *user;                    /* of check */
} bg__poison;
/* Ends a check that came to status: restores memory, frees what poison has, and sets *report if all went well. */
bg_status bg__poison_end(bg__poison *poison, bg_status status, bg_report **report);
/* Restores memory, and fills what no op may read, or padding rows, with the pattern. */
bg_status bg__poison_prepare(const bg__poison *poison, bg__pattern pattern);
void bg__poison_report_unwritten(const bg__poison *poison, const bg__call *call, const char *name,
                                 const bg__poison_bytes *bytes, const bg__poison_count *count);

/* Reports the first call at fault, by stepping through replays (poison_calls.c). *found: there is one. */
bg_status bg__poison_find_call(const bg__poison *poison, bool *found);

#endif
