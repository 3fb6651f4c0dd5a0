#include "batch_rows.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/events/subscribers.h"
#include "debug/memory/allocate.h"

static struct {
    pthread_mutex_t lock;
    bg__batch_rows *list; /* none overlaps another */
    atomic_size_t count;
    size_t capacity;
    atomic_size_t padded; /* how many entries of list have padding */
} batch_rows = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_padded(const bg__batch_rows *t)
{
    return t->floats && t->live < t->rows;
}

/* The order of the list does not matter. */
static void remove_at_locked(size_t at)
{
    atomic_fetch_sub(&batch_rows.padded, (size_t)is_padded(&batch_rows.list[at]));
    batch_rows.list[at] = batch_rows.list[--batch_rows.count];
}

static void remove_overlapping_locked(uintptr_t begin, uintptr_t end)
{
    for (size_t i = batch_rows.count; i-- > 0;) {
        const bg__batch_rows *t = &batch_rows.list[i];
        if (t->base < end && begin < t->base + (size_t)t->rows * t->row)
            remove_at_locked(i);
    }
}

bg_status bg__rows_set(const bg__batch_rows *added)
{
    bg_status status;

    pthread_mutex_lock(&batch_rows.lock);
    remove_overlapping_locked(added->base, added->base + (size_t)added->rows * added->row);
    BG__TRY(BG__ARRAY_GROW(batch_rows.list, (size_t)batch_rows.count, batch_rows.capacity, "rows of batches"));
    batch_rows.list[batch_rows.count++] = *added;
    atomic_fetch_add(&batch_rows.padded, (size_t)is_padded(added));
done:
    pthread_mutex_unlock(&batch_rows.lock);
    return status;
}

bool bg__rows_forget(uintptr_t base)
{
    bool found = false;

    pthread_mutex_lock(&batch_rows.lock);
    for (size_t i = batch_rows.count; i-- > 0 && !found;) {
        found = batch_rows.list[i].base == base;
        if (found)
            remove_at_locked(i);
    }
    pthread_mutex_unlock(&batch_rows.lock);
    return found;
}

void bg__rows_invalidate(uintptr_t base, size_t bytes)
{
    if (bytes == 0 || !bg__rows_are_set())
        return;
    pthread_mutex_lock(&batch_rows.lock);
    remove_overlapping_locked(base, base + bytes);
    pthread_mutex_unlock(&batch_rows.lock);
}

bool bg__rows_are_set(void)
{
    return atomic_load(&batch_rows.count) > 0;
}

bool bg__rows_are_padded(void)
{
    return atomic_load(&batch_rows.padded) > 0;
}

bg_status bg__rows_copy(bg__batch_rows **list, size_t *count)
{
    bg_status status;

    pthread_mutex_lock(&batch_rows.lock);
    *count = batch_rows.count;
    BG__TRY(BG__ALLOCATE(*list, batch_rows.count, "rows of batches"));
    if (batch_rows.count > 0)
        memcpy(*list, batch_rows.list, batch_rows.count * sizeof **list);
done:
    pthread_mutex_unlock(&batch_rows.lock);
    return status;
}

static void remove_changed(const bg__event *event)
{
    bg__rows_invalidate(event->base, event->bytes);
}

const bg__subscriber bg__fact_rows = {.name = "rows of batches", .on = {[BG__MEMORY_CHANGED] = remove_changed}};
