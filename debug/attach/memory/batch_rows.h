/* The rows of memory that belong to a batch, as the program describes them. The other rows are padding. */
#ifndef BG_ATTACH_BATCH_ROWS_H
#define BG_ATTACH_BATCH_ROWS_H

#include "base/base.h"

typedef struct bg__batch_rows {
    uintptr_t base;
    size_t row; /* bytes */
    int64_t rows, live;
    bool floats;
} bg__batch_rows;

/* Sets the rows of a range. It replaces the ranges that it overlaps. Errors: OUT_OF_MEMORY. */
bg_status bg__rows_set(const bg__batch_rows *told);
/* Returns false if no rows begin at base. */
bool bg__rows_forget(uintptr_t base);
/* The bytes belong to another allocation now. */
void bg__rows_invalidate(uintptr_t base, size_t bytes);
/* Whether any rows are set. */
bool bg__rows_are_set(void);
/* Whether there are padding rows of floats. */
bool bg__rows_are_padded(void);
/* The caller frees the list. Errors: OUT_OF_MEMORY. */
bg_status bg__rows_copy(bg__batch_rows **list, size_t *count);

#endif
