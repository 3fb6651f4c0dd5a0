/* HOSTCUDA_MEMORY: memory that makes wrong accesses show.
 * poison: fresh and freed memory holds NaN. fence: pages around blocks and in place of freed ones cannot be touched,
 * and device memory only by device work. reuse: the next block of the same size gets the address that was freed last.
 * never: no address is given twice. */
#ifndef HOSTCUDA_HOSTILE_H
#define HOSTCUDA_HOSTILE_H

#include "hostcuda/stream/ops.h"
#include "hostcuda/core/state.h"

enum { HC_POISON = 1, HC_FENCE = 2, HC_REUSE = 4, HC_NEVER = 8 };
enum { HC_POISON_BYTE = 0xff }; /* NaN in every floating-point format */

extern unsigned hc_hostile; /* the modes that are on */

/* False: a word that is not allowed, with a sentence on stderr. NULL: none. */
bool hc_hostile_start(const char *modes);

/* The memory of a block; NULL: no memory. */
void *hc_backing_take(size_t bytes, size_t alignment, bool device, uint64_t id);
void hc_backing_give(void *base);
/* Of a block that work allocates or frees when it runs: the address may be used from now on, or no longer. */
void hc_backing_set_live(const struct hc_block *block, bool live);
/* The address lies in or beside a block, live or freed: it is no memory of the program's own. */
bool hc_backing_owns(const void *address);

/* Runs an op's work with device memory open to it. IllegalAddress: it touched what it may not; a sentence says what. */
cudaError_t hc_fence_run(cudaError_t (*work)(const struct hc_op *op), const struct hc_op *op);
/* Inside that work, before a library touches these bytes on threads of its own: false, with a sentence, when it may
 * not. */
bool hc_fence_allows(const void *address, size_t bytes);
/* The handler of faults, if it is not there: the program may have set one of its own. */
void hc_fence_install(void);

#endif
