#include "graph/compile_table.h"

#include <stdatomic.h>

static _Atomic(const bg__compile_table *) the_table;

void bg__compile_set_table(const bg__compile_table *table)
{
    atomic_store(&the_table, table);
}

const bg__compile_table *bg__compile_get_table(void)
{
    return atomic_load(&the_table);
}
