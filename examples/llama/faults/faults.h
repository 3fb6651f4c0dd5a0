/* Mistakes that are planted into the ops, for tests of the debugging tools: only builds with -DLLAMA_FAULTS have them.
 *
 * A planted call computes something else when it is captured, and what it should when it is eager. Which call of a
 * pass it is, each call knows by a value among its arguments: so does a body that runs alone in a replay. What is
 * planted is the process's, and serves one thread. */
#ifndef LLAMA_FAULTS_H
#define LLAMA_FAULTS_H
#include "examples/llama/weights/weights.h"
#include <breakgraph/breakgraph.h>
#include <stdio.h>

/* Each goes wrong when captured. "Row" is the first row of the call's output. */
typedef enum llama_fault {
    LLAMA_FAULT_BRANCH,    /* the body asks whether it is captured, and then scales half of the row */
    LLAMA_FAULT_COUNTER,   /* the host's count of runs goes to a kernel by value: frozen */
    LLAMA_FAULT_LEAKED,    /* what clears a buffer goes to a stream outside of the capture: no replay clears it */
    LLAMA_FAULT_TEMPORARY, /* a buffer that is the body's only while it runs: by the replay others have written to it */
    LLAMA_FAULT_SKIPPED,   /* no work at all: the output keeps what it held */
    LLAMA_FAULT_HOST_COPY, /* a copy from host memory that the body uses again */
    LLAMA_FAULT_CACHED,    /* a number that the body read in its first call */
    LLAMA_FAULT_BESIDE,    /* half of the row also goes where the other half belongs */
    LLAMA_FAULT_POSITION,  /* the host's position by value, ahead of the device's; rope and kv_append only */
    LLAMA_FAULT_NAN,       /* one element is NaN */
    LLAMA_FAULT_SINGLES,   /* how many kinds of one call there are */

    LLAMA_FAULT_PAIR = LLAMA_FAULT_SINGLES, /* two calls, each with one of the above */
    LLAMA_FAULT_CANCEL,                     /* a call doubles its output, the one that reads it halves its own */
    LLAMA_FAULT_VARIES,                     /* the output differs from run to run, eagerly, too */
    LLAMA_FAULT_KINDS
} llama_fault;

/* "branch" */
const char *llama_fault_name(llama_fault kind);

/* Plants a fault into calls of a pass of config's layers, in place of what is planted already; the seed decides which
 * calls. */
bg_status llama_faults_plant(llama_fault kind, uint64_t seed, const llama_config *config);
/* Waits for the device, and takes the faults out; graphs that captured them go first. */
void llama_faults_clear(void);

/* The planted calls' names ("matmul#17"), which live until the next plant or clear. Returns how many. */
enum { LLAMA_FAULTS_MOST = 2 };
int llama_faults_list(const char *calls[LLAMA_FAULTS_MOST]);
/* A line for people: each of them with its kind. */
void llama_faults_print(FILE *out);

/* Takes --plant-faults KIND:SEED out of the front of a command line, which need not have it. 0, or -1 with a sentence
 * in error (GGUF_ERROR_SIZE bytes) that says what is allowed. */
int llama_faults_option(int *argc, char ***argv, char *error);
/* Plants what that asked for, if anything, and says on standard error where. */
bg_status llama_faults_plant_option(const llama_config *config);

/* ---- in the ops --------------------------------------------------------------------------------- */

/* The number of the pass's next call of op, from 0; -1 for ops without faults. */
int llama_faults_next_call(const char *op);
/* Runs a call's body, right or, where it is planted, wrong. */
bg_status llama_faults_run(const bg_op *op, int call, void *args, bg_op_body right, cudaStream_t stream);

/* Whether a call of those that a rule matches is planted: then they are not fused, and the fault stays. */
bool llama_faults_stay(const bg_rule *rule, const void *const *calls);

#undef BG_RULE_ENTRY_
#define BG_RULE_ENTRY_(rule, gives, op)                                                                                \
    static bg_rule rule##record_;                                                                                      \
    static bool rule##entry_(const void *const *calls, void *args, int rows)                                           \
    {                                                                                                                  \
        return !llama_faults_stay(&rule##record_, calls) && rule##match_(gives, args, rows);                           \
    }

/* breakgraph's macros, with the number of the call as one more value, and the body behind llama_faults_run. */
#undef BG_DECLARE_OP
#define BG_DECLARE_OP(...) BG_ARGS_(__VA_ARGS__, BG_VALUE(int, call)) BG_DECLARE_(BG_FIRST_(__VA_ARGS__))
#undef BG_CALL
#define BG_CALL(name, stream, ...)                                                                                     \
    BG_CALL_(name, stream, __VA_ARGS__, .call = llama_faults_next_call(#name), .bg_reserved_ = 0)
#undef BG_DEFINE_OP
#define BG_DEFINE_OP(name)                                                                                             \
    static bg_status name##_right(name##_args *args, cudaStream_t stream);                                             \
    static bg_status name##_right_body(void *args, cudaStream_t stream)                                                \
    {                                                                                                                  \
        return name##_right(args, stream);                                                                             \
    }                                                                                                                  \
    BG_BODY_(, name, false)                                                                                            \
    {                                                                                                                  \
        return llama_faults_run(&name##_bg_op_, args->call, args, name##_right_body, stream);                          \
    }                                                                                                                  \
    static bg_status name##_right(name##_args *args, cudaStream_t stream)
#endif
