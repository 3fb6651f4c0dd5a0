#include "base/grow.h"

#include "base/errors.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 8 };

bg_status bg__array_grow(void *list, size_t *capacity, size_t need, size_t element_bytes, const char *what)
{
    size_t wanted = *capacity > 0 ? 2 * *capacity : FIRST_CAPACITY;
    void *items, *larger = NULL;

    if (need <= *capacity)
        return BG_OK;
    if (wanted < need)
        wanted = need;
    memcpy(&items, list, sizeof items); /* an assignment through void ** would break C's aliasing rule */
    if (wanted <= PTRDIFF_MAX / element_bytes)
        larger = realloc(items, wanted * element_bytes);
    if (larger == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu %s", wanted, what);
    memcpy(list, &larger, sizeof larger);
    *capacity = wanted;
    return BG_OK;
}
