/* Numbers for memory that graphs point into, with a text that is the same in each run of the program. */
#ifndef BG_ATTACH_MEMORY_IDS_H
#define BG_ATTACH_MEMORY_IDS_H

#include "debug/graph/nodes.h"
#include "debug/memory/pointers.h"
#include "debug/memory/spans.h"

/* Memory that has a number. */
typedef struct bg__memory_id {
    const char *id;    /* the same in two runs for the same memory, if its thread is the same */
    long thread;       /* the thread that made it (bg__owners_thread_number); -1: none, or unknown */
    const char *text;  /* for messages */
    const char *stack; /* of the allocating call, a line for each frame, or "" */
    bool pool;         /* it belongs to an allocator that gives out parts of it, such as PyTorch's */
} bg__memory_id;
/* Called for each number that is new in this process, before the number is used. */
typedef void bg__memory_id_callback(size_t owner, const bg__memory_id *id);

/* What the addresses of one graph may point into. */
typedef struct bg__memory_ids {
    bg__memory_id_callback *tell;
    bg__allocations *notes; /* allocations that CUDA knows at the graph's addresses */
    bg__allocations own;    /* allocations by the graph's nodes */
    bg__spans host;         /* mappings of the process */
} bg__memory_ids;

/* Collects the memory that the addresses of graph may point into: allocations that CUDA knows, allocations by its
 * nodes, mappings of the process. bg__memory_ids_find then gives the numbers, and calls `tell` for each new one. nodes:
 * all nodes of graph. Call bg__memory_ids_end also after a failure. Errors: OUT_OF_MEMORY, UNSUPPORTED. */
bg_status bg__memory_ids_begin(bg__memory_ids *ids, bg_graph *graph, const bg__nodes *nodes,
                               bg__memory_id_callback *tell);
void bg__memory_ids_end(bg__memory_ids *ids);

enum { BG__CODE_ADDRESS_TEXT = 320 };
/* Writes what lies at address in a loaded file, as "add_one in program" or "program+0x1234", the same in each run.
 * Returns false if no loaded file contains address. */
bool bg__code_address_text(uintptr_t address, char *text, size_t bytes);

/* Returns false if `word` is no address of known memory; then it is a number. The caller serializes all calls. */
bool bg__memory_ids_find(bg__memory_ids *ids, uint64_t word, size_t *owner, size_t *offset);

#endif
