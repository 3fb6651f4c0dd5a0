/* HOSTCUDA_MEMORY: modes that reveal wrong accesses. poison: new and freed memory holds NaN. fence: pages around blocks
 * and in place of freed ones are inaccessible, and device memory is accessible only to device work. reuse: the next
 * block of the same size gets the address that was freed last. never: no address is used twice. */
#ifndef HOSTCUDA_MEMORY_MODES_H
#define HOSTCUDA_MEMORY_MODES_H

#include <stdbool.h>

enum { HC_POISON = 1, HC_FENCE = 2, HC_REUSE = 4, HC_NEVER_REUSE = 8 };
enum { HC_POISON_BYTE = 0xff }; /* a NaN in every floating-point format */

extern unsigned hc_memory_modes; /* the modes that are on */

/* Returns false, with a message on stderr, if a word is not allowed. NULL: no modes. */
bool hc_memory_modes_read(const char *text);

#endif
