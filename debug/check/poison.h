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
} bg__poison_bytes;
/* Copies them from the device after the replay with that pattern. */
bg_status bg__poison_read(bg__poison_bytes *bytes, bg__pattern pattern, cudaStream_t stream);
void bg__poison_free(bg__poison_bytes *bytes);
/* unwritten: elements that still hold each pattern; differing: elements that differ between patterns otherwise. */
typedef struct bg__poison_count {
    size_t elements, unwritten, differing;
} bg__poison_count;
bg__poison_count bg__poison_compare(const bg__poison_bytes *bytes);
bool bg__poison_is_unwritten(const bg__poison_bytes *bytes, size_t element);

/* One check. */
typedef struct bg__poison {
    bg_graph *graph;
    cudaStream_t stream;
    bg_report *report;
    bg__footprint footprint;
    bg__snapshot image; /* what memory held before the check */
    bg__spans poisoned;
} bg__poison;
/* Restores memory, and fills what no op may read with the pattern. */
bg_status bg__poison_prepare(const bg__poison *poison, bg__pattern pattern);
void bg__poison_report_unwritten(const bg__poison *poison, const bg__call *call, const char *name,
                                 const bg__poison_bytes *bytes, const bg__poison_count *count);

/* Reports the first call at fault, by stepping through replays (poison_calls.c). *found: there is one. */
bg_status bg__poison_find_call(const bg__poison *poison, bool *found);

#endif
