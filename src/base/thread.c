#include "base/base.h"

#include <stdatomic.h>

uint64_t bg__thread_id(void)
{
    static _Atomic uint64_t last;
    static _Thread_local uint64_t id;
    if (id == 0)
        id = atomic_fetch_add(&last, 1) + 1;
    return id;
}
