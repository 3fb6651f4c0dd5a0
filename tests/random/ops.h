/* The ops of random programs. Each has the fields that its kind needs, of these names: inputs a and b, outputs x, y, p,
 * q and parts, values k, variant, event and how. */
#ifndef RANDOM_OPS_H
#define RANDOM_OPS_H

#include "program.h"

#include <breakgraph/op.h>

/* In place of an instruction's id. */
enum { NO_CALL = -2, INNER_CALL = -1 };

/* How a body leaves its outputs. */
typedef struct how {
    place where;
    int own; /* whose memory of its own */
    shorter shorter;
    failing failing;
} how;
/* Elements of the outputs in this pass. */
int rows_of(how h);
/* Whether a body fails in this pass, and then with what. */
bool fails_now(failing f);
bg_status fault_of(int id);

/* A failure ends the body. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        bg_status status_ = (call);                                                                                    \
        if (status_ != BG_OK)                                                                                          \
            return status_;                                                                                            \
    } while (0)

#define WITH_VALUES BG_VALUE(uint32_t, k), BG_VALUE(int, variant), BG_VALUE(int, event), BG_VALUE(how, how)

/* Where the op has its field of that name; NULL: it has none. */
void *field_named(const bg_op *op, void *args, const char *name);

/* Its tensors, in order: the inputs, then the outputs. NULL: it has fewer. */
bg_tensor *tensor_of(const bg_op *op, void *args, int ordinal);

/* The two that rules fuse (rules.c). */
BG_DECLARE_OP(mix, BG_IN(a), BG_IN(b), BG_OUT(y), WITH_VALUES)
BG_DECLARE_OP(bump, BG_INOUT(x), WITH_VALUES)

/* What bodies know of the pass that runs, beside their arguments. */
typedef struct pass {
    int number;                 /* 0: the capture */
    uint32_t ambient;           /* another one in each pass */
    uint32_t *own;              /* device memory of PLACE_OWN: LENGTH x OUTPUTS x 2 x ELEMENTS */
    cudaEvent_t events[EVENTS]; /* of the program */
    cudaEvent_t joined;         /* of bodies */
    cudaStream_t teller;        /* of bodies that leave work on it */
    cudaStream_t side;          /* of bodies that fork */
    bool floats;                /* cells hold f32 in place of whole numbers */
    bool drains;                /* no body leaves work behind it that has not run */
    bool sound;                 /* no body fails */
    /* Planted in the body of the call of that id, as its how tells; NO_CALL: in none. */
    int nan_at, stack_copy_at, leak_at;
    cudaStream_t outside; /* where the call leak_at launches */
    int planted;          /* in the op of a rule: a way to be wrong, from 1; 0: none */
} pass;
extern pass this_pass;

/* How an op that rules may use is wrong (rules.c). */
enum { PLANTED_WAYS = 6 };
/* How often captures have used the right rules, and left planted ones out. */
typedef struct rule_counts {
    unsigned long long used, left_out;
} rule_counts;
/* Counts those of graph. The name of a run whose planted rule is used; NULL: there is none. */
const char *count_rules(const bg_graph *graph, rule_counts *counts);
extern rule_counts counted_rules;

/* Of cells in this pass. */
bg_dtype pass_dtype(void);
/* What bodies and plain kernels compute: rk_mix, or rk_blend where cells hold floats. */
cudaError_t pass_mix(void *y, const void *a, const void *b, uint32_t k, int n, cudaStream_t stream);

#endif
