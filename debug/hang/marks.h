/* Words of host memory that the device writes, and that any thread reads without a call of CUDA. */
#ifndef BG_DEBUG_MARKS_H
#define BG_DEBUG_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

typedef struct bg__marks {
    volatile uint32_t *words; /* NULL: none */
    void *device;             /* their address on the device */
    size_t capacity;
} bg__marks;

/* Gets `count` words, all 0. They are readable until the process ends, even after the context that registered them is
 * destroyed. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__marks_acquire(size_t count, bg__marks *marks);
/* Releases the words. The device must not write them any more. Does nothing if `words` is NULL. */
void bg__marks_release(bg__marks *marks);

#endif
