/* Digests of the tensors that calls read, taken when the calls begin: whether a call of the graph gets the same inputs
 * as in the eager pass. */
#ifndef BG_DEBUG_INPUTS_H
#define BG_DEBUG_INPUTS_H

#include "debug/memory/chunks.h"
#include "debug/memory/tensors.h"
#include "kernels/library/compare.h"
#include "pass_calls.h"

/* How the inputs of a call of the graph compare with those in the eager pass. */
typedef enum bg__input_state {
    BG__INPUTS_UNKNOWN, /* not compared: its segment ran as a whole */
    BG__INPUTS_EQUAL,
    BG__INPUTS_PARTLY, /* the inputs that the device can read are equal */
    BG__INPUTS_DIFFER
} bg__input_state;

/* A call of the eager pass. */
typedef struct bg__call_inputs {
    const bg__call *call;
    void *args;              /* the arguments when it began */
    size_t ended;            /* how many calls of the pass had ended by then */
    bgk_difference *digests; /* for each of its inputs, in device memory */
    uint32_t held;           /* a bit for each input whose digest is known */
    bg__input_state state;   /* in the last walk over the graph */
    uint32_t differ;         /* in that walk, a bit for each input that differs */
} bg__call_inputs;

/* In the order in which the calls began. Starts zeroed. */
typedef struct bg__inputs {
    bg__call_inputs *list;
    size_t count, capacity;
    bg__chunks digests;
    bg__call_index index; /* names as in bg__pass_calls */
} bg__inputs;

/* Adds a call that begins. digests: queues the digests of its inputs on stream. */
bg_status bg__inputs_add(bg__inputs *inputs, const bg__call *call, const void *args, size_t ended, bool digests,
                         cudaStream_t stream);
/* NULL: no call has that name. */
bg__call_inputs *bg__inputs_find(const bg__inputs *inputs, const char *name);
int bg__inputs_count(const bg__call_inputs *inputs);
/* Compares the inputs in args that `which` selects (a bit for each) with the recorded digests. *equal: a bit for each
 * that is equal. room: device memory for twice as many digests as an op has inputs. Waits for stream. */
bg_status bg__inputs_compare_digests(const bg__call_inputs *inputs, const void *args, uint32_t which,
                                     bgk_difference *room, cudaStream_t stream, uint32_t *equal);
/* Called before a walk over the graph. */
void bg__inputs_reset(bg__inputs *inputs);
void bg__inputs_clear(bg__inputs *inputs);
void bg__inputs_free(bg__inputs *inputs);

#endif
