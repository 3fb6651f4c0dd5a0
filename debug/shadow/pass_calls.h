/* The op calls of one run of a pass: their arguments, and copies of their tensors. */
#ifndef BG_DEBUG_PASS_CALLS_H
#define BG_DEBUG_PASS_CALLS_H

#include "call_index.h"
#include "debug/compare/compare.h"
#include "debug/memory/chunks.h"
#include "debug/memory/tensors.h"
#include "debug/compare/tolerance.h"

typedef struct bg__pass_call {
    const bg__call *call;
    void *args;  /* its arguments after the call */
    void **held; /* for each tensor its copy in device memory; NULL: not kept, or not accessible */
    int tensors;
} bg__pass_call;

/* In the order in which the calls ended, or began. Starts zeroed. */
typedef struct bg__pass_calls {
    bool begun; /* it copies inputs when calls begin; otherwise outputs when they end */
    bg__pass_call *list;
    size_t count, capacity;
    bg__chunks copies;
    bg__call_index index; /* names of the calls, until bg__shadow_pair_calls changes them */
} bg__pass_calls;

/* hold: copies the tensors, on stream. */
bg_status bg__pass_calls_add(bg__pass_calls *calls, const bg__call *call, const void *args, bool hold,
                             cudaStream_t stream);
/* NULL: no call has that name. */
const bg__pass_call *bg__pass_calls_find(const bg__pass_calls *calls, const char *name);
/* The tensor of that field; *place: its index in `held`. NULL: there is none. */
const bg_tensor *bg__pass_call_find_tensor(const bg__pass_call *call, const char *field, int *place);
void bg__pass_calls_clear(bg__pass_calls *calls);
void bg__pass_calls_free(bg__pass_calls *calls);

/* A tensor of a call in another run, compared with its copy. */
typedef struct bg__pass_difference {
    const bg__call *call;
    const bg__field_tensor *field; /* the tensor in the other run; has fewer rows if the op allows it */
    const bg_tensor *tensor;       /* the tensor in this run */
    const void *held;
    bool shape;         /* shape or dtype differ; `found` is not set */
    bg_tensor compared; /* the rows of the batch in `field` */
    bgk_difference found;
} bg__pass_difference;
typedef struct bg__pass_comparison {
    const bg__tolerances *tolerances;
    bgk_difference *room;
    cudaStream_t stream;
    bg_status (*each)(void *user, const bg__pass_difference *difference); /* also called if nothing differs */
    void *user;
} bg__pass_comparison;
/* Compares the tensors of `call` in `args` with the copies of the call of the same name, if there is one. `skip` (NULL:
 * none) returns true for tensors that are not compared. */
bg_status bg__pass_calls_compare(const bg__pass_calls *calls, const bg__call *call, const void *args,
                                 bool (*skip)(const bg__call *call, const bg_tensor *tensor),
                                 const bg__pass_comparison *comparison);

#endif
