/* Numbers for memory that graphs point into, which have the same text in each run of the program. */
#ifndef BG_ATTACH_MEMORY_IDS_H
#define BG_ATTACH_MEMORY_IDS_H

#include "debug/graph/nodes.h"
#include "debug/memory/pointers.h"
#include "debug/memory/spans.h"

/* Memory that has a number. */
typedef struct bg__memory_id {
    const char *id;    /* equal in two runs where the memory is, but for which thread has made it */
    long thread;       /* that has (bg__owners_thread); -1: none, or it is not known */
    const char *text;  /* for messages */
    const char *stack; /* of the call that allocated it, a line for each frame, or "" */
    bool pool;         /* an allocator has it, such as PyTorch's, which gives out parts of it */
} bg__memory_id;
/* Called for each number that is new in this process, before it is used. */
typedef void bg__memory_id_tell(size_t owner, const bg__memory_id *id);

/* For one graph. */
typedef struct bg__memory_ids {
    bg__memory_id_tell *tell;
    bg__allocations *notes; /* that CUDA knows, of the graph's addresses */
    bg__allocations own;    /* that the graph's nodes allocate */
    bg__spans host;         /* mappings of the process */
} bg__memory_ids;

/* nodes: all of graph. End it also after a failure. Errors: OUT_OF_MEMORY, UNSUPPORTED. */
bg_status bg__memory_ids_begin(bg__memory_ids *ids, bg_graph *graph, const bg__nodes *nodes, bg__memory_id_tell *tell);
void bg__memory_ids_end(bg__memory_ids *ids);

enum { BG__CODE_NAME = 320 };
/* "add_one in program", "program+0x1234": what is there in a file that is loaded, which has the same text in each run.
 * false: no file is. */
bool bg__code_name(uintptr_t address, char *text, size_t bytes);

/* false: word is the address of no memory that is known, and rather a number. Calls are made under one lock. */
bool bg__memory_id_find(bg__memory_ids *ids, uint64_t word, size_t *owner, size_t *offset);

#endif
