/* Who used the memory of graphs last, and uses of it that nothing orders ("unordered"). Callers hold the lock of
 * around.c. */
#ifndef BG_ATTACH_HISTORY_H
#define BG_ATTACH_HISTORY_H

#include "clocks.h"
#include "debug/attach/stacks/stacks.h"
#include "signature.h"

/* Who uses memory. Names live until the process ends. */
typedef struct bg__user {
    const char *name;  /* "scale#0" of a graph, "scale", "memcpy" */
    const char *graph; /* NULL: it is in none */
    uint64_t owner;    /* of that graph, which may have another's name; 0: it is in none */
    bg_site site;      /* of its launch; in a graph, of the one that was captured */
    CUstream stream;
    bg__moment work;
} bg__user;

/* Memory that a graph uses: uses of it are kept from bg__history_sort on. rest: bytes from begin to the end of its
 * block; 0: unknown. false, also of bg__history_sort: out of host memory, or there is too much. */
bool bg__history_add(uintptr_t begin, uintptr_t end, size_t rest);
bool bg__history_sort(void);
/* Whether any is kept of these bytes. */
bool bg__history_has(uintptr_t begin, uintptr_t end);
/* Whether the device may have written there. */
bool bg__history_may_write(uintptr_t begin, uintptr_t end);
/* A use of these bytes, by work that the program has launched: compares it with those before, and keeps it. threads: of
 * a kernel, which uses what is at begin, nobody knows how much; 0: it uses all of the bytes. */
void bg__history_use(uintptr_t begin, uintptr_t end, uint64_t threads, bg__touch use, const bg__user *user);
/* Who has written some of these bytes last, as far as it is certain. */
typedef struct bg__wrote {
    bg__user user; /* name NULL: nobody */
    uint64_t order;
    bool is_unread;      /* nothing has read them since, or may have */
    const char *perhaps; /* another user of them since, not of this owner, that may have written; NULL: none */
} bg__wrote;
bg__wrote bg__history_wrote(uintptr_t begin, uintptr_t end, uint64_t owner, uint64_t since);
/* That of the last use. */
uint64_t bg__history_order(void);
/* The bytes are other memory now. */
void bg__history_forget(uintptr_t begin, uintptr_t end);

#endif
