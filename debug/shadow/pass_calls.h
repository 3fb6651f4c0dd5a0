/* The op calls of one run of a pass: what each was given, and what its tensors held. */
#ifndef BG_DEBUG_PASS_CALLS_H
#define BG_DEBUG_PASS_CALLS_H

#include "debug/compare/compare.h"
#include "debug/memory/tensors.h"
#include "debug/compare/tolerance.h"

typedef struct bg__pass_call {
    const bg__call *call;
    void *args;  /* as the caller got them back */
    void **held; /* for each tensor what it held, in device memory; NULL: it was not kept, or not reached */
    int tensors;
} bg__pass_call;

/* In the order in which they were done, or begun. Starts zeroed. */
typedef struct bg__pass_calls {
    bool begun; /* inputs, when the calls began; else outputs, when they were done */
    bg__pass_call *list;
    size_t count, capacity;
    size_t next; /* where to look first */
} bg__pass_calls;

/* hold: what the tensors hold is copied, on stream. */
bg_status bg__pass_calls_add(bg__pass_calls *calls, const bg__call *call, const void *args, bool hold,
                             cudaStream_t stream);
/* NULL: no call has that name. */
const bg__pass_call *bg__pass_calls_find(bg__pass_calls *calls, const char *name);
/* The tensor of that name; *place is its place in held. NULL: there is none. */
const bg_tensor *bg__pass_tensor(const bg__pass_call *call, const char *field, int *place);
void bg__pass_calls_clear(bg__pass_calls *calls);
void bg__pass_calls_free(bg__pass_calls *calls);

/* A tensor of a call of another run, beside what was held of it. */
typedef struct bg__pass_difference {
    const bg__call *call;
    const bg__field_tensor *field; /* of the other run; it may have fewer rows where that is allowed */
    const bg_tensor *tensor;       /* of this one */
    const void *held;
    bool shape; /* shape or dtype differ, and nothing else is known */
    bgk_difference found;
} bg__pass_difference;
typedef struct bg__pass_comparison {
    const bg__tolerances *tolerances;
    bgk_difference *room;
    cudaStream_t stream;
    bg_status (*each)(void *user, const bg__pass_difference *difference); /* also where nothing differs */
    void *user;
} bg__pass_comparison;
/* Compares the tensors of call, as args describes them now, with those of the call of that name. Nothing where there is
 * none, or nothing was held. skip (NULL: none) tells which tensors not to look at. */
bg_status bg__pass_calls_compare(bg__pass_calls *calls, const bg__call *call, const void *args,
                                 bool (*skip)(const bg__call *call, const bg_tensor *tensor),
                                 const bg__pass_comparison *comparison);

#endif
