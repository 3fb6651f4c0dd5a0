/* Rules in captures: finds runs of calls that match rules, proves that the rules' ops give the same results, and
 * rewrites segments. */
#ifndef BG_COMPILE_COMPILE_H
#define BG_COMPILE_COMPILE_H

#include <breakgraph/compile.h>

#include "capture/capture.h"

/* ---- rules (rules.c) ------------------------------------------------------------------------------------------- */

/* Copies all rules, with their current attributes; next_ of a copy points to the rule itself. Rules of more calls come
 * first. Among rules of equally many calls those for shapes come first, then the order is by the op's name. The caller
 * frees the list. Errors: OUT_OF_MEMORY. */
bg_status bg__rules_copy_sorted(bg_rule **rules, int *count);
/* Adds the rule unless it is registered already. If the rule is invalid, adds nothing and warns on standard error. */
void bg__rule_list_add(bg_rule *rule);

/* ---- verdicts (verdicts.c) ------------------------------------------------------------------------------------- */

/* The result of a proof. */
typedef struct bg__proof_outcome {
    bool known;            /* false: the next capture tries again */
    bg_fusion_state state; /* APPLIED, DIFFERS, SLOWER or UNPROVEN */
    char why[400];         /* of DIFFERS, SLOWER and UNPROVEN */
    double calls_us, op_us;
} bg__proof_outcome;
void bg__proof_outcome_set(bg__proof_outcome *finding, bg_fusion_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The cached result for one rule and one set of shapes, values and memory overlaps of its calls. It lasts for the
 * process. */
typedef struct bg__verdict bg__verdict;
typedef struct bg__fusion bg__fusion;
struct bg_piece;
/* Sets run->verdict, and makes an unknown one if there is none. run->args must be set. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__verdict_find_or_add(bg__fusion *run, const struct bg_piece *piece);
bg__proof_outcome bg__verdict_read(bg__verdict *verdict);
/* An unknown result does not replace a known one. */
void bg__verdict_store(bg__verdict *verdict, const bg__proof_outcome *finding);
/* Call this when the rule's attributes change, and when it is unregistered: another rule may get its address. */
void bg__verdicts_invalidate(const bg_rule *rule);

/* ---- runs (fusion_candidates.c) -------------------------------------------------------------------------------- */

/* A sequence of calls that matches a rule. */
struct bg__fusion {
    const bg_rule *rule;    /* valid during the capture */
    bg__call *const *calls; /* valid while its segment is compiled */
    void *args;             /* arguments of the op; valid while its segment is compiled */
    char *name, *op;        /* op: the name of the rule's op */
    bg_site site;           /* of its first call */
    int number, segment, rows;
    size_t first, end; /* its nodes in capture order are [first, end) */
    bg_fusion_state state;
    char *why;            /* NULL: "" */
    bg__verdict *verdict; /* NULL: it is refused */
    bg__proof_outcome
        *found; /* this capture's result; NULL: an earlier capture has it, or a run with the same verdict */
    bool proven;
    double calls_us, op_us;
    bg__call *call; /* the op's call, once the run is applied */
};

/* The result of compiling a graph. */
typedef struct bg__compiled {
    bg_compile_info info;
    bg__fusion *runs;
    int run_count;
    size_t run_capacity;

    /* During the capture. */
    bg_rule *rules;
    int rule_count;
    int *numbers;       /* by rule: the number of runs found for its op, counted at the op's first rule */
    const char *wanted; /* BG_COMPILE_OPS; NULL: all */
    char *wanted_file;  /* BG_COMPILE_OPS=@file: the file's text */
    int prove;          /* a choice of BG_COMPILE_PROVE */
    void *room;         /* device memory for proofs: results, then copies of tensors */
    size_t room_bytes;
    const bg_compiler *compiler;
} bg__compiled;

/* A segment that has just ended. */
struct bg_piece {
    bg_capture *capture;
    bg__compiled *compiled;
    bg__segment *segment;
    char name[160];
    bool read; /* the members below are set */
    cudaGraphNode_t *nodes;
    size_t count;
    struct bg__piece_handle {
        cudaGraphNode_t node;
        size_t place;
    } * handles;             /* by address */
    size_t *before, *after;  /* by node: the number of its dependencies, and of its dependents */
    size_t *previous, *next; /* by node: the last dependency listed, and the last dependent */
    bool *no_op;             /* nodes to remove */
    bg__edges edges;
    bool unordered;                  /* a node depends on one that was added later */
    bool memory;                     /* it has allocation nodes, so CUDA removes no nodes */
    bool *kept;                      /* nodes that no op can replace: not a kernel, memcpy, memset or empty node */
    bool ruled;                      /* rules have been applied */
    int first_run;                   /* the index of the segment's first run in compiled->runs */
    bool *launched;                  /* set once proofs have launched the captured segment */
    enum cudaStreamCaptureMode mode; /* the thread's capture mode before proofs set it to relaxed; bodies run in this
                                      * mode */
};
typedef struct bg_piece bg__piece;
/* Reads the graph, once. Call bg__piece_free also after a failure. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__piece_read_graph(bg__piece *piece);
/* Returns the index of a node; piece->count: the segment does not have it. */
size_t bg__piece_find_node(const bg__piece *piece, cudaGraphNode_t node);
void bg__piece_free(bg__piece *piece);
/* Returns the first dimension of the call's first output; 1 if it has no output. */
int bg__call_rows(const bg__call *call);

/* Adds the segment's runs to compiled->runs, in the order of the pass. Errors: OUT_OF_MEMORY. */
bg_status bg__fusions_find(const bg__piece *piece);
/* Refuses runs that cannot be applied, and looks up the verdicts of the others. Call bg__piece_read_graph first.
 * Errors: OUT_OF_MEMORY. */
bg_status bg__fusions_check(const bg__piece *piece);
/* Checks that all ranks have found the same runs. It also returns a failure that another rank has had since their last
 * exchange. */
bg_status bg__fusions_agree(const bg__piece *piece);
/* Sets the fusion to REFUSED if another rank does not apply it: ranks that compute differently would drift apart. */
bg_status bg__fusion_agree_on_use(bg__ranks *ranks, bg__fusion *run);
/* Closes a run whose rule is known to be wrong or slower. */
bg_status bg__fusion_drop_known(bg__fusion *run);
/* Chooses the runs to apply: rules of more calls first. */
bg_status bg__fusions_choose(const bg__piece *piece);
static inline bool bg__fusion_is_candidate(const bg__fusion *run)
{
    return run->state == BG_FUSION_FITS;
}
bg_status bg__fusion_set_state(bg__fusion *run, bg_fusion_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- what a run may read and write (rule_tensors.c) -------------------------------------------------------------- */

/* Whether run->args, as the rule has set them, fit the calls: the op writes exactly what the calls write, and reads
 * only their tensors. If not, `why` gets a sentence. */
bool bg__fusion_check_tensors(const bg__fusion *run, char *why, size_t bytes);
bool bg__tensors_overlap(const bg_tensor *a, const bg_tensor *b);
bool bg__tensors_overlap_in_part(const bg_tensor *a, const bg_tensor *b);
bool bg__tensor_is_inside(const bg_tensor *a, const bg_tensor *outer);

/* ---- parts of a segment (segment_parts.c)
 * ------------------------------------------------------------------------------- */

/* The captured segment, launched part by part. */
typedef struct bg__segment_parts {
    const bg__piece *piece;
    bool whole; /* some nodes cannot be copied one by one, so each part is a clone of the graph without the nodes of the
                 * other parts */
} bg__segment_parts;
/* parts->piece must be set. Errors: CUDA, if it cannot clone the graph. */
bg_status bg__segment_parts_init(bg__segment_parts *parts);
bg_status bg__segment_parts_launch(const bg__segment_parts *parts, size_t from, size_t end);

/* ---- the referee (referee.c, proof_trials.c)
 * --------------------------------------------------------------------------- */

/* Launches the captured segment part by part, and proves each run between two parts, at its place in the pass. Sets
 * *piece->launched if there was something to prove. Errors: those of bodies, OUT_OF_MEMORY, CUDA. */
bg_status bg__fusions_prove(bg__piece *piece);
/* Proves one run from the current contents of memory, and restores them. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__fusion_prove(const bg__piece *piece, const bg__fusion *run, const bg__segment_parts *parts,
                           bg__proof_outcome *finding);

/* ---- the splice (splice.c) -------------------------------------------------------------------------------------- */

/* Puts the ops of the applied runs into the segment's graph, in place of the nodes of their calls, and removes no-ops.
 */
bg_status bg__splice_ops(const bg__piece *piece);

#endif
