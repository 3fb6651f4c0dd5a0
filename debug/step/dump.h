/* Dumps tensors of op calls as .npy files, with an index. */
#ifndef BG_DEBUG_DUMP_H
#define BG_DEBUG_DUMP_H

#include <breakgraph/report.h>

#include "graph/inspect.h"

typedef struct bg__dump bg__dump;

/* Creates the directory if needed; goes on with the dump of the same replay of the same graph that was stopped there.
 * replay: of the graph, from 0; -1: not known. Errors: INVALID_ARGUMENT if it has another index, or lacks files that it
 * lists; IO, OUT_OF_MEMORY. */
bg_status bg__dump_create(bg__dump **dump, const char *directory, const char *graph, int64_t replay);
/* Before the first call. total, hash: of the walk; given: it begins with *from. *from becomes the index with which the
 * dump begins. INVALID_ARGUMENT if what was dumped before is of other nodes, or does not end there. */
bg_status bg__dump_begin(bg__dump *dump, int total, uint64_t hash, bool given, int *from);
/* Writes all tensors of args. Waits for stream. */
bg_status bg__dump_call(bg__dump *dump, const bg__call *call, const void *args, cudaStream_t stream);
/* A node without tensors; the ranges that follow are this one's. kernel: as the source writes it, or its kind; place:
 * "segment 0, node 3 (...)"; note NULL: none. */
bg_status bg__dump_node(bg__dump *dump, const bg__call *call, const char *kernel, const char *place, const char *note);
/* Bytes that it wrote. */
typedef struct bg__dump_range {
    uintptr_t address;
    const void *data; /* in host memory: what is at address now */
    size_t bytes;     /* a multiple of an element */
    bg_dtype dtype;
    const char *held; /* "kernel parameter 2"; "": nothing points to it */
    uintptr_t block;  /* that the range lies in */
    size_t block_bytes;
} bg__dump_range;
bg_status bg__dump_written(bg__dump *dump, const bg__call *call, const bg__dump_range *range);
/* Something is missing in it: the caller writes no more, and the index says that it is not complete. */
void bg__dump_give_up(bg__dump *dump);
bool bg__dump_is_given_up(const bg__dump *dump);
/* The note of what is missing: from call on, or all (NULL). */
void bg__dump_note(bg_report *report, const bg__call *call, const char *why);
/* Writes the index. complete: all calls of the pass are in it. next: with which index it can go on; 0: it cannot. */
bg_status bg__dump_finish(bg__dump *dump, bool complete, int next);
/* Takes NULL. */
void bg__dump_free(bg__dump *dump);
/* INVALID_ARGUMENT if directory has an index, unless it is of a dump that was stopped. */
bg_status bg__dump_check(const char *directory);

#endif
