/* The last uses of the memory of graphs, and the findings on uses that nothing orders ("unordered"). The lock of
 * stream_order.c protects all of it. */
#ifndef BG_ATTACH_USE_HISTORY_H
#define BG_ATTACH_USE_HISTORY_H

#include "vector_clocks.h"
#include "debug/attach/stacks/stacks.h"
#include "signature.h"

/* A node, or work outside of graphs, that uses memory. Names live until the process ends. */
typedef struct bg__memory_user {
    const char *name;  /* "scale#0" of a graph, "scale", "memcpy" */
    const char *graph; /* NULL: outside of graphs */
    uint64_t owner;    /* number of the graph, since names are not unique; 0: outside of graphs */
    bg_site site;      /* of its launch; for a node, of the captured launch */
    CUstream stream;
    bg__epoch work;
} bg__memory_user;

/* Adds memory that a graph uses. Its uses are recorded after bg__history_sort. rest: bytes from begin to the end of its
 * block; 0: unknown. Both return false if out of host memory; bg__history_add_range also if there are too many places.
 */
bool bg__history_add_range(uintptr_t begin, uintptr_t end, size_t rest);
bool bg__history_sort(void);
/* Whether a graph uses some of these bytes. */
bool bg__history_has_range(uintptr_t begin, uintptr_t end);
/* Whether the device may have written some of these bytes. */
bool bg__history_may_be_written(uintptr_t begin, uintptr_t end);
/* Records that work of the program uses these bytes, and reports earlier uses that nothing orders with it. threads: of
 * a kernel, which uses an unknown number of bytes from begin on; 0: the work uses exactly these bytes. */
void bg__history_record_use(uintptr_t begin, uintptr_t end, uint64_t threads, bg__access_kind use,
                            const bg__memory_user *user);
/* The last certain write of some of these bytes. */
typedef struct bg__last_write {
    bg__memory_user user; /* name NULL: none */
    uint64_t order;
    bool is_unread;      /* no later use reads these bytes, or may read them */
    const char *perhaps; /* a later use, of another owner, that may have written them; NULL: none */
} bg__last_write;
bg__last_write bg__history_last_write(uintptr_t begin, uintptr_t end, uint64_t owner, uint64_t since);
/* Returns the number of the last use. */
uint64_t bg__history_last_order(void);
/* The bytes belong to another allocation now. */
void bg__history_forget_range(uintptr_t begin, uintptr_t end);

#endif
