/* Words of host memory that the device writes, and any thread reads without a call of CUDA. */
#ifndef BG_DEBUG_MARKS_H
#define BG_DEBUG_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

typedef struct bg__marks {
    volatile uint32_t *words; /* NULL: none */
    void *device;             /* the same, as the device knows them */
    size_t capacity;
} bg__marks;

/* count words, all 0. They are readable until the process ends, also when the context is gone that the device wrote
 * them in. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__marks_take(size_t count, bg__marks *marks);
/* The device writes them no more. */
void bg__marks_give(bg__marks *marks);

#endif
