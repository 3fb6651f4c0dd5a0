/* Plants mistakes into the ops, for tests of the debugging tools. Only builds with -DLLAMA_FAULTS have this.
 *
 * A planted call computes a wrong result when it is captured, and the right one when it is eager. Each call has its
 * number in the pass among its arguments, so a body that a replay runs alone has it, too. Planted faults belong to the
 * process, whose passes must be of one thread. */
#ifndef LLAMA_FAULTS_H
#define LLAMA_FAULTS_H
#include "examples/llama/weights/weights.h"
#include <breakgraph/breakgraph.h>
#include <stdio.h>

/* Each goes wrong when captured. "Row" is the first row of the call's output. */
typedef enum llama_fault {
    LLAMA_FAULT_BRANCH,    /* the body asks whether it is captured, and then scales half of the row */
    LLAMA_FAULT_COUNTER,   /* the host's count of runs goes to a kernel by value: frozen */
    LLAMA_FAULT_LEAKED,    /* a buffer is cleared on a stream outside of the capture: no replay clears it */
    LLAMA_FAULT_TEMPORARY, /* a buffer that the body owns while it runs: other work overwrites it before the replay */
    LLAMA_FAULT_SKIPPED,   /* no work at all: the output keeps its old contents */
    LLAMA_FAULT_HOST_COPY, /* a copy from host memory that the body reuses */
    LLAMA_FAULT_CACHED,    /* a number that the body read in its first call */
    LLAMA_FAULT_OVERWRITE, /* half of the row also overwrites the other half */
    LLAMA_FAULT_POSITION,  /* the host's position by value, ahead of the device's; rope and kv_append only */
    LLAMA_FAULT_NAN,       /* one element is NaN */
    LLAMA_FAULT_SINGLE_KINDS, /* how many kinds of one call there are */

    LLAMA_FAULT_PAIR = LLAMA_FAULT_SINGLE_KINDS, /* two calls, each with one of the above */
    LLAMA_FAULT_CANCEL,                          /* a call doubles its output, the one that reads it halves its own */
    LLAMA_FAULT_VARIES,                          /* the output differs from run to run, also eagerly */
    LLAMA_FAULT_KINDS
} llama_fault;

/* "branch" */
const char *llama_fault_name(llama_fault kind);

/* Plants a fault of this kind into a pass of config's layers, and removes earlier faults. The seed chooses the
 * calls. */
bg_status llama_faults_plant(llama_fault kind, uint64_t seed, const llama_config *config);
/* Waits for the device, and removes the faults. Destroy graphs that captured them first. */
void llama_faults_clear(void);

/* Lists the planted calls' names ("matmul#17"), valid until the next plant or clear. Returns their number. */
enum { LLAMA_FAULTS_MAX = 2 };
int llama_faults_list(const char *calls[LLAMA_FAULTS_MAX]);
/* Prints a line with each planted call and its kind. */
void llama_faults_print(FILE *out);

/* Removes --plant-faults KIND:SEED from the front of a command line, if it is there. Returns 0, or -1 with a message in
 * error (GGUF_ERROR_SIZE bytes) that lists what is allowed. */
int llama_faults_parse_option(int *argc, char ***argv, char *error);
/* Plants the fault that the option asked for, if any, and prints the calls to standard error. */
bg_status llama_faults_plant_option(const llama_config *config);

/* ---- in the ops --------------------------------------------------------------------------------- */

/* Returns the number of the pass's next call of op, from 0; -1 for ops without faults. */
int llama_faults_next_call(const char *op);
/* Runs a call's body, with its fault if one is planted. */
bg_status llama_faults_run(const bg_op *op, int call, void *args, bg_op_body right, cudaStream_t stream);

/* Whether one of the calls that a rule matches has a fault. Such calls are not fused, so that the fault stays. */
bool llama_faults_prevent_rule(const bg_rule *rule, const void *const *calls);

#undef BG_RULE_ENTRY_
#define BG_RULE_ENTRY_(rule, gives, op)                                                                                \
    static bg_rule rule##record_;                                                                                      \
    static bool rule##entry_(const void *const *calls, void *args, int rows)                                           \
    {                                                                                                                  \
        return !llama_faults_prevent_rule(&rule##record_, calls) && rule##match_(gives, args, rows);                   \
    }

/* breakgraph's macros, with the call's number as one more value, and a body that llama_faults_run calls. */
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
