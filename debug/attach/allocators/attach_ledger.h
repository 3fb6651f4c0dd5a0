/* Caching allocators that report their blocks by breakgraph/attach.h. */
#ifndef BG_ATTACH_LEDGER_H
#define BG_ATTACH_LEDGER_H

#include <stddef.h>
#include <stdint.h>

/* Called on the thread that allocates or frees the block. */
void bg__ledger_record_alloc(uintptr_t base, size_t bytes);
void bg__ledger_record_free(uintptr_t base);
/* Records the blocks that new graphs use, if the program has such an allocator. */
void bg__ledger_record_graphs(void);
/* The same, delayed until bg__ledger_record_if_due, since a program may set many nodes one by one. */
void bg__ledger_record_later(void);
void bg__ledger_record_if_due(void);

#endif
