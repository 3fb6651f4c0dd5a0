/* Rules in captures: finds runs of calls, proves what rules make of them, and rewrites segments. */
#ifndef BG_COMPILE_COMPILE_H
#define BG_COMPILE_COMPILE_H

#include <breakgraph/compile.h>

#include "capture/capture.h"

/* ---- rules (rules.c) ------------------------------------------------------------------------------------------- */

/* Copies of all rules, with their attributes as they are now; next_ is the rule itself. Those of more calls are first,
 * of equal ones those for shapes, then by the name of the op. The list is the caller's to free. Errors: OUT_OF_MEMORY.
 */
bg_status bg__rules_list(bg_rule **rules, int *count);
/* Of a rule that cannot be used, or that is there already, nothing is added: the first is told on stderr. */
void bg__rules_add(bg_rule *rule);

/* ---- verdicts (verdicts.c) ------------------------------------------------------------------------------------- */

/* What the referee found for a rule. */
typedef struct bg__finding {
    bool known;            /* else the next capture tries again */
    bg_fusion_state state; /* APPLIED, DIFFERS, SLOWER or UNPROVEN */
    char why[400];         /* of the last three */
    double calls_us, op_us;
} bg__finding;
void bg__finding_set(bg__finding *finding, bg_fusion_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Of a rule, for calls of certain shapes and values that share memory in a certain way. Kept for the process. */
typedef struct bg__verdict bg__verdict;
typedef struct bg__run bg__run;
struct bg_piece;
/* Sets run->verdict; made, and unknown, where there is none yet. The run has its args. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__verdict_get(bg__run *run, const struct bg_piece *piece);
bg__finding bg__verdict_read(bg__verdict *verdict);
/* What is known stays, where another capture could not prove it again. */
void bg__verdict_set(bg__verdict *verdict, const bg__finding *finding);
/* The rule's attributes have changed, or it is gone, and another one may take its address. */
void bg__verdicts_forget(const bg_rule *rule);

/* ---- runs (runs.c) --------------------------------------------------------------------------------------------- */

/* A place where the calls are those of a rule. */
struct bg__run {
    const bg_rule *rule;    /* during the capture */
    bg__call *const *calls; /* while its segment is compiled */
    void *args;             /* of the op; likewise */
    char *name, *op;        /* op: the name of the rule's */
    bg_site site;           /* of its first call */
    int number, segment, rows;
    size_t first, end; /* its nodes, as they were captured */
    bg_fusion_state state;
    char *why;            /* NULL: "" */
    bg__verdict *verdict; /* NULL: it is refused */
    bg__finding *found;   /* by this capture, while it lasts; NULL: by an earlier one, or for a run of equal verdict */
    bool proven;
    double calls_us, op_us;
    bg__call *call; /* what stands for it, once it is applied */
};

/* What a graph keeps of its compilation. */
typedef struct bg__compiled {
    bg_compile_info info;
    bg__run *runs;
    int run_count;
    size_t run_capacity;

    /* During the capture. */
    bg_rule *rules;
    int rule_count;
    int *numbers;       /* of each rule: how many runs of its op have been found; the first rule of an op counts */
    const char *wanted; /* BG_COMPILE_OPS; NULL: all */
    char *wanted_file;  /* the same, read from a file */
    int prove;          /* a choice of BG_COMPILE_PROVE */
    void *room;         /* device memory of proofs: a bgk_difference, then copies of tensors */
    size_t room_bytes;
    const bg_compiler *compiler;
} bg__compiled;

/* A segment that has just ended. */
struct bg_piece {
    bg_capture *capture;
    bg__compiled *compiled;
    bg__segment *segment;
    char name[160];
    bool read; /* what follows is there */
    cudaGraphNode_t *nodes;
    size_t count;
    struct bg__piece_handle {
        cudaGraphNode_t node;
        size_t place;
    } * handles;             /* by address */
    size_t *before, *after;  /* of each node: how many nodes it waits for, and how many wait for it */
    size_t *previous, *next; /* the one that it waits for, or that waits for it; of several the last one listed */
    bool *no_op;             /* nodes that are to go */
    bg__edges edges;
    bool unordered;                  /* a node waits for one that was added later */
    bool memory;                     /* it has allocation nodes, which forbid to remove nodes */
    bool *kept;                      /* nodes that do what an op would not: neither kernels, nor copies, nor empty */
    bool ruled;                      /* rules have been applied */
    int first_run;                   /* of the segment, in compiled->runs */
    bool *launched;                  /* the segment, as it was captured */
    enum cudaStreamCaptureMode mode; /* of the thread, for bodies: proofs relax it */
};
typedef struct bg_piece bg__piece;
/* Reads the graph, once. Call bg__piece_free also after a failure. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__piece_read(bg__piece *piece);
/* The place of a node; count: it is none of them. */
size_t bg__piece_find(const bg__piece *piece, cudaGraphNode_t node);
void bg__piece_free(bg__piece *piece);
/* The first dimension of the first output of a captured call; 1: it has none. */
int bg__rows_of(const bg__call *call);

/* Adds the segment's runs to compiled->runs, in order of the pass. Errors: OUT_OF_MEMORY. */
bg_status bg__runs_find(const bg__piece *piece);
/* Refuses those that may not be, and looks up what the referee knows of the others. The piece has been read. Errors:
 * OUT_OF_MEMORY. */
bg_status bg__runs_check(const bg__piece *piece);
/* All ranks have found the same runs. A failure that another one has had since they met last is heard here. */
bg_status bg__runs_agree(const bg__piece *piece);
/* A run that one rank does not use is used on none: ranks whose segments compute differently would drift apart. */
bg_status bg__run_close_together(bg__ranks *ranks, bg__run *run);
/* Closes a run whose rule is known to be wrong or slower. */
bg_status bg__run_drop_known(bg__run *run);
/* Chooses those that are applied: rules of more calls first. */
bg_status bg__runs_choose(const bg__piece *piece);
static inline bool bg__run_is_open(const bg__run *run)
{
    return run->state == BG_FUSION_FITS;
}
bg_status bg__run_set(bg__run *run, bg_fusion_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- what a run may read and write (rule_tensors.c) -------------------------------------------------------------- */

/* Whether run->args, as the rule has set them, are right for these calls: the op writes what they write, and nothing
 * else. why: a sentence, where not. */
bool bg__run_check_tensors(const bg__run *run, char *why, size_t bytes);
bool bg__tensors_overlap(const bg_tensor *a, const bg_tensor *b);
bool bg__tensors_overlap_in_part(const bg_tensor *a, const bg_tensor *b);
bool bg__tensor_is_inside(const bg_tensor *a, const bg_tensor *outer);

/* ---- parts of a segment (parts.c) ------------------------------------------------------------------------------- */

/* The segment as it was captured, of which each launch runs a part. */
typedef struct bg__parts {
    const bg__piece *piece;
    bool whole; /* not all of its nodes can be copied one by one: parts are what is left of a copy of the graph */
} bg__parts;
/* parts has its piece. Errors: CUDA, which may be unable to copy the graph. */
bg_status bg__parts_open(bg__parts *parts);
bg_status bg__parts_launch(const bg__parts *parts, size_t from, size_t end);

/* ---- the referee (referee.c, proof.c) --------------------------------------------------------------------------- */

/* Launches the segment as it was captured, part by part, and proves runs between them, each at its place.
 * *piece->launched: there was something to prove. Errors: those of bodies, OUT_OF_MEMORY, CUDA. */
bg_status bg__referee_prove(bg__piece *piece);
/* Proves one run from the memory that there is now, which is then as it was. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__referee_prove_run(const bg__piece *piece, const bg__run *run, const bg__parts *parts,
                                bg__finding *finding);

/* ---- the splice (splice.c) -------------------------------------------------------------------------------------- */

/* Puts the ops of the applied runs into the segment's graph, in place of the nodes of their calls, and removes no-ops.
 */
bg_status bg__splice(const bg__piece *piece);

#endif
