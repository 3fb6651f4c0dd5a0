/* Is every address that a graph touches still what it was when the graph was captured?
 *
 * The ledger knows who owns an address: an allocation of the driver's, a block of a bg_pool, or a block of another
 * allocator that tells its own with bg_ledger_alloc and bg_ledger_free. It cannot see pointers that lie in device
 * memory or in descriptors. */
#ifndef BREAKGRAPH_CHECK_H
#define BREAKGRAPH_CHECK_H

#include <breakgraph/capture.h>
#include <breakgraph/report.h>
#include <breakgraph/status.h>

BG_BEGIN_C_

/* ---- the ledger: from any thread ------------------------------------------------------------------------------ */

/* Tells of a block that an allocator hands out of memory that it got from the driver in larger pieces; from here on the
 * bytes from ptr are that block's, inside whatever allocation they lie in. name is for messages, copied, and may be
 * NULL. Errors: INVALID_ARGUMENT (a NULL, 0 bytes, a block that was told already and not freed, or overlaps one),
 * OUT_OF_MEMORY, UNSUPPORTED (no driver), CUDA. */
BG_API bg_status bg_ledger_alloc(void *ptr, size_t bytes, const char *name);

/* The block goes back to its allocator: graphs that were captured with it must not be replayed any more. It is
 * remembered, so that what still uses it is called freed by name, until another block is told of there. Errors:
 * INVALID_ARGUMENT (a NULL, inside a block, freed already), NOT_FOUND (no block was told there). */
BG_API bg_status bg_ledger_free(void *ptr);

BG_END_C_

#endif
