#include "ledger.h"

#include <stdatomic.h>

#include "attach.h"
#include "blocks.h"

static atomic_bool is_used;

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
    const bg__stack *stack = bg__block_free_matters(BG__LEDGER, base) ? bg__stack_here() : NULL;
    bg_site site = {NULL, 0};
    if (stack != NULL)
        site = bg__stack_site(stack);
    if (bg__block_freed(BG__LEDGER, base, 0, site))
        bg__book_memory_moved();
}

void bg__ledger_note_graphs(void)
{
    if (atomic_load(&is_used))
        bg__book_note_blocks();
}
