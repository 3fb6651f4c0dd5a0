#include "rows.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "debug/memory/allocate.h"

static struct {
    pthread_mutex_t lock;
    bg__told_rows *list; /* none overlaps another */
    atomic_size_t count;
    size_t capacity;
    atomic_size_t padded; /* entries of the list with padding */
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_padded(const bg__told_rows *t)
{
    return t->floats && t->live < t->rows;
}

/* The order of the list does not matter. */
static void remove_one(size_t at)
{
    atomic_fetch_sub(&told.padded, (size_t)is_padded(&told.list[at]));
    told.list[at] = told.list[--told.count];
}

static void remove_overlapping(uintptr_t begin, uintptr_t end)
{
    for (size_t i = told.count; i-- > 0;) {
        const bg__told_rows *t = &told.list[i];
        if (t->base < end && begin < t->base + (size_t)t->rows * t->row)
            remove_one(i);
    }
}

bg_status bg__rows_tell(const bg__told_rows *added)
{
    bg_status status;

    pthread_mutex_lock(&told.lock);
    remove_overlapping(added->base, added->base + (size_t)added->rows * added->row);
    BG__TRY(BG__GROW(told.list, (size_t)told.count, told.capacity, "rows of batches"));
    told.list[told.count++] = *added;
    atomic_fetch_add(&told.padded, (size_t)is_padded(added));
done:
    pthread_mutex_unlock(&told.lock);
    return status;
}

bool bg__rows_forget(uintptr_t base)
{
    bool found = false;

    pthread_mutex_lock(&told.lock);
    for (size_t i = told.count; i-- > 0 && !found;) {
        found = told.list[i].base == base;
        if (found)
            remove_one(i);
    }
    pthread_mutex_unlock(&told.lock);
    return found;
}

void bg__rows_drop(uintptr_t base, size_t bytes)
{
    if (bytes == 0 || !bg__rows_are_told())
        return;
    pthread_mutex_lock(&told.lock);
    remove_overlapping(base, base + bytes);
    pthread_mutex_unlock(&told.lock);
}

bool bg__rows_are_told(void)
{
    return atomic_load(&told.count) > 0;
}

bool bg__rows_are_padded(void)
{
    return atomic_load(&told.padded) > 0;
}

bg_status bg__rows_copy(bg__told_rows **list, size_t *count)
{
    bg_status status;

    pthread_mutex_lock(&told.lock);
    *count = told.count;
    BG__TRY(BG__ALLOCATE(*list, told.count, "rows of batches"));
    if (told.count > 0)
        memcpy(*list, told.list, told.count * sizeof **list);
done:
    pthread_mutex_unlock(&told.lock);
    return status;
}
