/* Replays with patterns in memory that no op may read before another op has written it. */
#ifndef BG_DEBUG_POISON_H
#define BG_DEBUG_POISON_H

#include "debug/memory/footprint.h"
#include "debug/memory/snapshot.h"
#include "debug/report/report.h"

/* A range of memory, and its contents after the replay with each pattern. */
typedef struct bg__poison_bytes {
    uintptr_t address;
    size_t bytes, element; /* element: bytes of an element */
    const bg__spans *poisoned;
    unsigned char *held[BG__PATTERNS];
    bool varies;  /* the range differs between two replays with one pattern */
    size_t at;    /* the first byte that differs */
    char *spread; /* for each element, its enum bg__poison_spread; NULL: all elements are BG__SAME */
} bg__poison_bytes;
/* How much an element differs between replays with one pattern. NEAR: only by rounding, as sums in another order do.
 * FAR: by more. */
enum bg__poison_spread { BG__SAME, BG__NEAR, BG__FAR };
enum { BG__POISON_TRIES = 8 }; /* replays may be equal by chance */
/* After the first replay with that pattern, copies the range from the device. After a later replay with the same
 * pattern, compares the range with the copy. */
bg_status bg__poison_read(bg__poison_bytes *bytes, bg__pattern pattern, cudaStream_t stream);
void bg__poison_free(bg__poison_bytes *bytes);
/* unwritten: elements that still have each pattern; differing: other elements that differ between patterns. */
typedef struct bg__poison_count {
    size_t elements, unwritten, differing;
} bg__poison_count;
bg__poison_count bg__poison_compare(const bg__poison_bytes *bytes);
/* Whether an element depends on the pattern: the element differs more between patterns than between replays with one
 * pattern. */
bool bg__poison_differs(const bg__poison_bytes *bytes, size_t element);
bool bg__poison_is_unwritten(const bg__poison_bytes *bytes, size_t element);

struct bg__poison;
struct bg__field_tensor;
/* The functions by which a check other than bg_check_poison uses these replays (padding.c). */
typedef struct bg__poison_check {
    /* Called at the end of bg__poison_fill_memory. */
    bg_status (*fill)(const struct bg__poison *poison, bg__pattern pattern);
    /* Whether an output of a call is compared. *compared: the part of the output that is compared. */
    bool (*is_compared_output)(const struct bg__poison *poison, const bg__call *call, const struct bg__field_tensor *t,
                               bg_tensor *compared);
    /* Reports an output if it differs between patterns. Returns false if it does not. */
    bool (*report)(const struct bg__poison *poison, const bg__call *call, const char *name, const bg_tensor *compared,
                   const bg__poison_bytes *bytes);
} bg__poison_check;

/* One check. */
typedef struct bg__poison {
    bg_graph *graph;
    cudaStream_t stream;
    bg_report *report;
    bg__footprint footprint;
    bg__snapshot image; /* the contents of memory before the check */
    bg__spans poisoned;
    const bg__poison_check *check; /* NULL: bg_check_poison */
    void *user;                    /* for the functions of `check` */
} bg__poison;
/* Ends a check: restores memory and frees the members of `poison`. If `status` and the restore are OK, sets *report. */
bg_status bg__poison_end(bg__poison *poison, bg_status status, bg_report **report);
/* Restores memory, then fills memory with the pattern: the memory that no op may read, or the padding rows. */
bg_status bg__poison_fill_memory(const bg__poison *poison, bg__pattern pattern);
void bg__poison_report_unwritten(const bg__poison *poison, const bg__call *call, const char *name,
                                 const bg__poison_bytes *bytes, const bg__poison_count *count);

/* Reports the first call at fault, by stepping through replays (poison_calls.c). *found: there is one. */
bg_status bg__poison_find_call(const bg__poison *poison, bool *found);

#endif
