#include "accesses.h"

#include <stdlib.h>

#include "debug/memory/allocate.h"

bg_status bg__accesses_add(bg__accesses *a, const bg__access *access)
{
    bg_status status;
    BG__TRY(BG__ARRAY_GROW(a->list, a->count, a->capacity, "tensors"));
    a->list[a->count++] = *access;
done:
    return status;
}

static int compare_begins(const void *x, const void *y, void *user)
{
    const bg__access *list = user;
    size_t one = *(const size_t *)x, other = *(const size_t *)y;
    uintptr_t a = list[one].begin, b = list[other].begin;
    return a != b ? (a > b) - (a < b) : (one > other) - (one < other);
}

bg_status bg__accesses_sort(bg__accesses *a)
{
    bg_status status;

    for (a->leaves = 1; a->leaves < a->count;)
        a->leaves *= 2;
    BG__TRY(BG__ALLOCATE(a->by_begin, a->count, "tensors"));
    BG__TRY(BG__ALLOCATE(a->leaf, a->count, "tensors"));
    BG__TRY(BG__ALLOCATE(a->latest, 2 * a->leaves, "tensors"));
    for (size_t i = 0; i < a->count; i++)
        a->by_begin[i] = i;
    if (a->count > 0)
        qsort_r(a->by_begin, a->count, sizeof *a->by_begin, compare_begins, a->list);
    for (size_t i = 0; i < a->count; i++)
        a->leaf[a->by_begin[i]] = i;
done:
    return status;
}

static void update_latest_end(bg__accesses *a, size_t index, uintptr_t end)
{
    size_t at = a->leaves + a->leaf[index];
    a->latest[at] = end;
    for (at /= 2; at > 0; at /= 2) {
        uintptr_t left = a->latest[2 * at], right = a->latest[2 * at + 1];
        a->latest[at] = left > right ? left : right;
    }
}

void bg__accesses_insert(bg__accesses *a, size_t index)
{
    update_latest_end(a, index, a->list[index].end);
}

void bg__accesses_remove(bg__accesses *a, size_t index)
{
    update_latest_end(a, index, 0);
}

/* Writes to `found` the overlapping accesses below node `at` of the tree. The leaves below `at` begin with leaf number
 * `first`. The recursion is as deep as the tree. */
static size_t find_overlapping_below(const bg__accesses *a, uintptr_t begin, uintptr_t end, size_t at, size_t first,
                                     size_t width, size_t *found)
{
    size_t count;

    if (a->latest[at] <= begin || first >= a->count || a->list[a->by_begin[first]].begin >= end)
        return 0;
    if (width == 1) {
        *found = a->by_begin[first];
        return 1;
    }
    count = find_overlapping_below(a, begin, end, 2 * at, first, width / 2, found);
    return count + find_overlapping_below(a, begin, end, 2 * at + 1, first + width / 2, width / 2, found + count);
}

static int compare_indices(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

size_t bg__accesses_find(const bg__accesses *a, uintptr_t begin, uintptr_t end, size_t *found)
{
    size_t count = find_overlapping_below(a, begin, end, 1, 0, a->leaves, found);
    if (count > 1)
        qsort(found, count, sizeof *found, compare_indices);
    return count;
}

void bg__accesses_free(bg__accesses *a)
{
    free(a->list);
    free(a->by_begin);
    free(a->leaf);
    free(a->latest);
    *a = (bg__accesses){0};
}
