/* Runs a pass eagerly, and records its calls. */
#ifndef BG_DEBUG_EAGER_PASS_H
#define BG_DEBUG_EAGER_PASS_H

#include "inputs.h"
#include "pass_calls.h"
#include "references.h"
#include "debug/memory/snapshot.h"

typedef struct bg__eager_pass {
    bg_graph *graph;            /* runs forward as one call */
    bg__snapshot *before;       /* gets copies of what the calls are about to write */
    bg__references *references; /* NULL: ops are not compared with theirs */
    bg__pass_calls calls;       /* of the last run */
    bg__pass_calls inner;       /* calls inside others, when they began */
    bg__inputs inputs;          /* of all calls */
    bool record;
    const bg__watcher *also; /* another watcher of each call; NULL: none */
} bg__eager_pass;

/* before must outlive the pass. Starts zeroed; call bg__eager_pass_free also after a failure. */
bg_status bg__eager_pass_create(bg__eager_pass *pass, const char *name, bg_forward forward, void *user,
                                const bg_capture_options *options, bg__snapshot *before);
/* Runs forward on stream and waits for it. record: keeps copies of the outputs, and
 * digests of the inputs. function: the public function, for
 * messages. */
bg_status bg__eager_pass_run(bg__eager_pass *pass, cudaStream_t stream, bool record, const char *function);
/* Adds the outputs of its calls that lie in memory that the device can access. */
bg_status bg__eager_pass_written(const bg__eager_pass *pass, bg__spans *written);
void bg__eager_pass_free(bg__eager_pass *pass);

#endif
