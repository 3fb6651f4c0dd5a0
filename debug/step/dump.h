/* Dumps tensors of op calls as .npy files, with an index. */
#ifndef BG_DEBUG_DUMP_H
#define BG_DEBUG_DUMP_H

#include <breakgraph/report.h>

#include "graph/inspect.h"

typedef struct bg__dump bg__dump;

/* Creates the directory if needed. Continues a stopped dump of the same replay of the same graph. replay: the graph's
 * replay, from 0; -1: unknown. Errors: INVALID_ARGUMENT if the directory has another index, or lacks files that the
 * index lists; IO, OUT_OF_MEMORY. */
bg_status bg__dump_create(bg__dump **dump, const char *directory, const char *graph, int64_t replay);
/* Call it before the first call. `total` and `hash` describe the walk. given: the caller has chosen *from, with which
 * the walk begins. *from becomes the index with which the dump begins. Errors: INVALID_ARGUMENT if the stopped dump has
 * other nodes, or ends elsewhere; OUT_OF_MEMORY. */
bg_status bg__dump_begin(bg__dump *dump, int total, uint64_t hash, bool given, int *from);
/* Writes all tensors of args. Waits for stream. */
bg_status bg__dump_call(bg__dump *dump, const bg__call *call, const void *args, cudaStream_t stream);
/* Begins a node without tensors; the ranges that follow belong to it. kernel: the kernel's name, or the node's kind.
 * place: "segment 0, node 3 (...)". note NULL: none. */
bg_status bg__dump_begin_node(bg__dump *dump, const bg__call *call, const char *kernel, const char *place,
                              const char *note);
/* Bytes that the node wrote. */
typedef struct bg__dump_range {
    uintptr_t address;
    const void *data; /* copy of the range, in host memory */
    size_t bytes;     /* a multiple of the element size */
    bg_dtype dtype;
    const char *held; /* "kernel parameter 2"; "": nothing points to it */
    uintptr_t block;  /* the allocation that contains the range */
    size_t block_bytes;
} bg__dump_range;
bg_status bg__dump_write_range(bg__dump *dump, const bg__call *call, const bg__dump_range *range);
/* The dump lacks something: the caller writes no more, and the index says that it is incomplete. */
void bg__dump_give_up(bg__dump *dump);
bool bg__dump_is_given_up(const bg__dump *dump);
/* Adds a note of what is missing: everything from `call` on, or the whole dump (NULL). */
void bg__dump_report_missing(bg_report *report, const bg__call *call, const char *why);
/* Writes the index. complete: it has all calls of the pass. next: the index with which a later dump can continue; 0:
 * none can. */
bg_status bg__dump_finish(bg__dump *dump, bool complete, int next);
/* NULL does nothing. */
void bg__dump_free(bg__dump *dump);
/* Errors: INVALID_ARGUMENT if directory has an index, unless that dump was stopped. */
bg_status bg__dump_check_directory(const char *directory);

#endif
