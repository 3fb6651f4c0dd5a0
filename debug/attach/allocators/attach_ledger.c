#include "attach_ledger.h"

#include <stdatomic.h>

#include "debug/attach/graphs/graph_table.h"
#include "debug/attach/memory/blocks.h"
#include "debug/attach/stacks/stacks.h"

static atomic_bool is_used, is_due;

void bg__ledger_record_alloc(uintptr_t base, size_t bytes)
{
    bool moved = false;
    atomic_store(&is_used, true);
    (void)bg__block_record_alloc(BG__ALLOCATOR_LEDGER, base, bytes, &moved); /* the size is known */
    if (moved)
        bg__graph_table_count_block_move();
}

void bg__ledger_record_later(void)
{
    atomic_store(&is_due, true);
}

void bg__ledger_record_if_due(void)
{
    if (atomic_load(&is_used) && atomic_load(&is_due) && atomic_exchange(&is_due, false))
        bg__graph_table_record_blocks();
}

void bg__ledger_record_free(uintptr_t base)
{
    const bg__stack *stack;
    bg_site site = {NULL, 0};

    bg__ledger_record_if_due();
    stack = bg__block_free_needs_site(BG__ALLOCATOR_LEDGER, base) ? bg__stack_here() : NULL;
    if (stack != NULL)
        site = bg__stack_site(stack);
    if (bg__block_record_free(BG__ALLOCATOR_LEDGER, base, 0, site))
        bg__graph_table_count_block_move();
}

void bg__ledger_record_graphs(void)
{
    if (atomic_load(&is_used))
        bg__graph_table_record_blocks();
}
