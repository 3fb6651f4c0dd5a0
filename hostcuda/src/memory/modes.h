/* HOSTCUDA_MEMORY: memory that makes wrong accesses show.
 * poison: fresh and freed memory holds NaN. fence: pages around blocks and in place of freed ones cannot be touched,
 * and device memory only by device work. reuse: the next block of the same size gets the address that was freed last.
 * never: no address is given twice. */
#ifndef HOSTCUDA_MODES_H
#define HOSTCUDA_MODES_H

#include <stdbool.h>

enum { HC_POISON = 1, HC_FENCE = 2, HC_REUSE = 4, HC_NEVER = 8 };
enum { HC_POISON_BYTE = 0xff }; /* NaN in every floating-point format */

extern unsigned hc_memory_modes; /* those that are on */

/* False: a word that is not allowed, with a sentence on stderr. NULL: none. */
bool hc_memory_modes_read(const char *text);

#endif
