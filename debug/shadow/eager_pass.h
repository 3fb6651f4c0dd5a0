/* Runs a pass eagerly, and records its calls. */
#ifndef BG_DEBUG_EAGER_PASS_H
#define BG_DEBUG_EAGER_PASS_H

#include "inputs.h"
#include "pass_calls.h"
#include "references.h"
#include "debug/memory/snapshot.h"

typedef struct bg__eager_pass {
    bg_graph *graph;            /* runs `forward` as one call */
    bg__snapshot *before;       /* gets copies of memory before calls write it */
    bg__references *references; /* NULL: ops are not compared with their references */
    bg__pass_calls calls;       /* calls of the last run */
    bg__pass_calls inner;       /* calls inside other calls, recorded when they began */
    bg__inputs inputs;          /* inputs of all calls */
    const bg_graph *captured;   /* the graph of the same pass; NULL: there is none */
    bool record;
    const bg__op_observer *also; /* another observer of each call; NULL: none */
} bg__eager_pass;

/* `before` must outlive the pass. Starts zeroed; call bg__eager_pass_free also after a failure. */
bg_status bg__eager_pass_create(bg__eager_pass *pass, const char *name, bg_forward forward, void *user,
                                const bg_capture_options *options, bg__snapshot *before);
/* Runs `forward` on `stream` and waits for it. record: keeps copies of the outputs and digests of the inputs. function:
 * the public function, for messages. */
bg_status bg__eager_pass_run(bg__eager_pass *pass, cudaStream_t stream, bool record, const char *function);
/* Whether a later step of graph (NULL: none) waits for an event. The program may order by it what the eager call leaves
 * on another stream: then its outputs are complete only after a wait for the device. */
bg_status bg__eager_pass_has_later_wait(const bg_graph *graph, const bg__call *call, bool *waits);
/* Whether the host may wait for the device now. */
bool bg__eager_pass_can_synchronize(void);
/* Adds the outputs of the calls that lie in memory that the device can access. */
bg_status bg__eager_pass_add_outputs(const bg__eager_pass *pass, bg__spans *written);
void bg__eager_pass_free(bg__eager_pass *pass);

#endif
