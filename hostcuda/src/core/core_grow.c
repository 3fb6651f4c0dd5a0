#include "hostcuda/src/core/core_grow.h"

#include <stdlib.h>
#include <string.h>

bool hc_array_reserve(void *list, size_t *capacity, size_t need, size_t element)
{
    enum { SMALLEST = 8 };
    if (need <= *capacity)
        return true;
    size_t wanted = *capacity ? *capacity : SMALLEST;
    void *items = NULL;
    while (wanted < need)
        wanted *= 2;
    memcpy(&items, list, sizeof items); /* accessing it as void ** would violate C's aliasing rule */
    items = realloc(items, wanted * element);
    if (!items)
        return false;
    memcpy(list, &items, sizeof items);
    *capacity = wanted;
    return true;
}
