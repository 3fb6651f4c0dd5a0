/* Allocators that keep what is freed, and say so (breakgraph/attach.h). */
#ifndef BG_ATTACH_LEDGER_H
#define BG_ATTACH_LEDGER_H

#include <stddef.h>
#include <stdint.h>

/* On the program's thread, where that has happened. */
void bg__ledger_alloc(uintptr_t base, size_t bytes);
void bg__ledger_free(uintptr_t base);
/* Graphs that the program has just instantiated note the blocks that they use, if it has such an allocator. */
void bg__ledger_note_graphs(void);
/* The same of a graph in which the program sets many nodes, one by one: at the next launch, or before a block is freed.
 */
void bg__ledger_note_later(void);
void bg__ledger_note_due(void);

#endif
