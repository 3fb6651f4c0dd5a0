/* Which rows of which memory belong to a batch, as the program tells: the others are padding. */
#ifndef BG_ATTACH_ROWS_H
#define BG_ATTACH_ROWS_H

#include "base/base.h"

typedef struct bg__told_rows {
    uintptr_t base;
    size_t row; /* bytes */
    int64_t rows, live;
    bool floats;
} bg__told_rows;

/* Takes the place of all that it overlaps. Errors: OUT_OF_MEMORY. */
bg_status bg__rows_tell(const bg__told_rows *told);
/* false: nothing was told of memory that begins at base. */
bool bg__rows_forget(uintptr_t base);
/* The bytes are other memory now. */
void bg__rows_drop(uintptr_t base, size_t bytes);
/* Whether anything is told. */
bool bg__rows_are_told(void);
/* Whether some floats are padding now. */
bool bg__rows_are_padded(void);
/* The caller frees the list. Errors: OUT_OF_MEMORY. */
bg_status bg__rows_copy(bg__told_rows **list, size_t *count);

#endif
