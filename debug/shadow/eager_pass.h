/* A pass run eagerly: what each call was given and left. */
#ifndef BG_DEBUG_EAGER_PASS_H
#define BG_DEBUG_EAGER_PASS_H

#include "pass_calls.h"
#include "references.h"
#include "debug/memory/snapshot.h"

typedef struct bg__eager_pass {
    bg_graph *graph;            /* runs forward as one call */
    bg__snapshot *before;       /* gets what a call is about to write */
    bg__references *references; /* NULL: ops are not compared with theirs */
    bg__pass_calls calls;       /* of the last run */
    bg__pass_calls inner;       /* those inside others, when they began */
    bool record;
    const bg__watcher *also; /* looks at each call, too; NULL: nobody */
} bg__eager_pass;

/* before must live as long as the pass. Starts zeroed; free it, also where this failed. */
bg_status bg__eager_pass_create(bg__eager_pass *pass, const char *name, bg_forward forward, void *user,
                                const bg_capture_options *options, bg__snapshot *before);
/* Runs forward on stream and waits for that, which the pass joins its other streams to. record: keeps what the
 * outputs hold. function: the public one, for the sentence of a failure. */
bg_status bg__eager_pass_run(bg__eager_pass *pass, cudaStream_t stream, bool record, const char *function);
/* All that its calls have as outputs, in memory that is reached. */
bg_status bg__eager_pass_written(const bg__eager_pass *pass, bg__spans *written);
void bg__eager_pass_free(bg__eager_pass *pass);

#endif
