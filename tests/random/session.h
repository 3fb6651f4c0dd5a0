/* One program's run in one way: what its parts share. */
#ifndef RANDOM_SESSION_H
#define RANDOM_SESSION_H

#include "model.h"
#include "run.h"

/* Where its instructions stand. */
#define PROGRAM_FILE "program"

typedef struct session {
    const program *program;
    failure *failure;
    bool plain;    /* outside a capture */
    bool serial;   /* and one instruction after the other */
    bool shadowed; /* BG_SHADOW=1 */
    call_list calls;
    int breaks;
    int cells;   /* how many are compared: slots hold what a graph owns */
    int expects; /* the first call that fails in the pass; -1: none */
    bool broken; /* it has failed */
    bool failed[PASSES];
    void *slots[SLOTS];
    bool taken[SLOTS]; /* it holds a block of the pool */
    size_t in_use;     /* of the pool, between passes */
    cudaStream_t origin;
    bg_pool *pool;
    bg_graph *graph;
    void (*change)(void); /* between the two captures of bg_check_recapture */
} session;

/* ---- failures ---- */

/* False, always, after it has noted why; the first reason stays. */
bool fails(session *s, failure_kind kind, int pass, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same in this pass. */
#define FAILS(kind, ...) fails(s, kind, this_pass.number, __VA_ARGS__)
bool cuda_ok(session *s, cudaError_t error, const char *call);
bool bg_ok(session *s, bg_status status, const char *call);

#define CUDA_OK(call) cuda_ok(s, call, #call)
#define TRY_CUDA(call)                                                                                                 \
    do {                                                                                                               \
        if (!CUDA_OK(call))                                                                                            \
            return false;                                                                                              \
    } while (0)

/* ---- passes (passes.c) ---- */

/* Which bodies run: all, those of a capture, those of a replay. */
typedef enum bodies { ALL_BODIES, CAPTURED_BODIES, REPLAYED_BODIES } bodies;

/* The pass's number, and which of its calls fails first. */
void begin_pass(session *s, int number, bodies run);
/* Whether what ran the pass came to that call's failure, or to none. */
bool check_outcome(session *s, bg_status status, const char *call);
/* Events that have no record. */
bool renew_events(session *s);
bool upload_inputs(session *s);
/* The program's buffers become the pass's inputs. */
bool reset(session *s, cudaStream_t stream);
/* What the pass has made is kept. */
bool gather(session *s, cudaStream_t stream);
/* Kept results of these passes beside those of the serial run; passes that failed have none. */
bool compare(session *s, failure_kind kind, int first, int last);
bg_status forward(void *user, cudaStream_t stream);
uint32_t value_of(const session *s, int i);
int input_of(const session *s, int i);
bg_tensor tensor_at(void *data);
/* What the program is, in that way: fails where it is illegal; and its results, one instruction after the other. */
bool plan(session *s);
bool run_serially(session *s);
/* It computes the same by the order that it makes itself. */
bool run_freely(session *s);

/* ---- captures and replays (run.c) ---- */

/* What the program sets around its passes, and takes back. */
bool set_environment(session *s, bool on);
bool check_streams(session *s);
/* Blocks of the pool are back. */
bool check_pool(session *s);
/* What the options of its captures are; state has room for BUFFERS + 1. */
bg_capture_options options_of(const session *s, bg_tensor *state);
/* After a pass that failed: options.state is put back. */
bool check_failed_pass(session *s);
bool run_graph(session *s);

/* ---- other ways (ways.c) ---- */

/* Runs its passes in that way and compares them with the serial ones. */
bool run_way(session *s, way w);
/* bg_shadow of it; the report is the caller's, after a failure, too. */
bool shadow(session *s, bg_report **report);

#endif
