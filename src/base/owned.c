#include "base/owned.h"

#include <stdlib.h>

bg_status bg__owned_add(bg__owned *owned, void *object, void (*destroy)(void *object))
{
    bg_status status;
    BG__TRY(BG__ARRAY_GROW(owned->list, owned->count, owned->capacity, "objects of the program"));
    owned->list[owned->count++] = (bg__owned_object){object, destroy};
done:
    return status;
}

void bg__owned_free(bg__owned *owned)
{
    while (owned->count > 0) {
        bg__owned_object last = owned->list[--owned->count];
        last.destroy(last.object);
    }
    free(owned->list);
    *owned = (bg__owned){0};
}
