#include "attach_ledger.h"

#include <stdatomic.h>

#include "debug/attach/graphs/book.h"
#include "debug/attach/memory/blocks.h"
#include "debug/attach/stacks/stacks.h"

static atomic_bool is_used, due;

void bg__ledger_alloc(uintptr_t base, size_t bytes)
{
    bool moved = false;
    atomic_store(&is_used, true);
    (void)bg__block_allocated(BG__LEDGER, base, bytes, &moved); /* the size is known */
    if (moved)
        bg__book_memory_moved();
}

void bg__ledger_free(uintptr_t base)
{
    const bg__stack *stack;
    bg_site site = {NULL, 0};

    bg__ledger_note_due();
    stack = bg__block_free_matters(BG__LEDGER, base) ? bg__stack_here() : NULL;
    if (stack != NULL)
        site = bg__stack_site(stack);
    if (bg__block_freed(BG__LEDGER, base, 0, site))
        bg__book_memory_moved();
}

void bg__ledger_note_later(void)
{
    atomic_store(&due, true);
}

void bg__ledger_note_due(void)
{
    if (atomic_load(&is_used) && atomic_load(&due) && atomic_exchange(&due, false))
        bg__book_note_blocks();
}

void bg__ledger_note_graphs(void)
{
    if (atomic_load(&is_used))
        bg__book_note_blocks();
}
