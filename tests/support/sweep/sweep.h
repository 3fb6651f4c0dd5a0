/* Scenarios for the fault sweep: what programs do with breakgraph, each of whose CUDA calls can be made to fail. */
#ifndef BG_TESTS_SWEEP_H
#define BG_TESTS_SWEEP_H

#include "tests/support/support.h"

#include <breakgraph/cublas.h>

typedef struct sweep_scene {
    cudaStream_t stream, other;
    bg_tensor x, y, z; /* x is 1, of N floats, as are all; a scenario leaves its result in z */
    float *memory, *elsewhere;
    float *garbage; /* stays 0: only launches after a failure, in a capture that is thrown away, write it */
    cublasHandle_t cublas;

    /* The first failure that breakgraph told. */
    bg_status status;
    char message[1200];
    cudaError_t left;   /* pending in a thread that the scenario made and that is over */
    bool own_failed;    /* a CUDA call of the scenario's, not of breakgraph's, failed */
    bool replay_failed; /* the failure is a replay's */
    bool stepped;       /* the failure is told with the step and node that it is of, not with the CUDA call */
    bool retry_failed;  /* a replay after a failed one */
    bool recovered;     /* the failure is a bucket's, and the batch ran eagerly: the result is right all the same */
} sweep_scene;

typedef struct sweep_scenario {
    const char *name;
    float result;      /* in each element of z */
    void (*run)(void); /* NULL: captures the pass with the options, and replays it twice */
    bg_forward pass;
    const bg_capture_options *options;
} sweep_scenario;

extern const sweep_scenario sweep_scenarios[];
extern const int sweep_scenario_count;

/* Runs it from a fresh start, as far as it comes. */
void sweep_run(const sweep_scenario *scenario, sweep_scene *scene);

/* ---- for scenarios ---- */

/* A CUDA call of the program's own. */
bg_status sweep_own(cudaError_t error);
/* Keeps the first failure; true where there is none. */
bool sweep_ok(bg_status status);
/* The same for a failure that is told otherwise than by a status. */
void sweep_keep(bg_status status, const char *message);
/* The scene that a scenario runs in, which is the user of its passes. */
sweep_scene *sweep_here(void);
#define SCENE_PASS(name) PASS(name, sweep_scene *s)

/* Runners (sweep_runner.c). */
void sweep_runner(void);
void sweep_runner_lazy(void);
void sweep_runner_idle(void);
/* Rules (sweep_compile.c). */
void sweep_compiled(void);

#endif
