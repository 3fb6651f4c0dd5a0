/* Runs a pass eagerly and as a graph from the same contents of memory, and compares the outputs. */
#ifndef BG_DEBUG_COMPARISON_H
#define BG_DEBUG_COMPARISON_H

#include <breakgraph/shadow.h>

#include "eager_pass.h"
#include "suspects.h"
#include "debug/memory/footprint.h"
#include "debug/memory/results.h"

/* An output that is compared. */
typedef struct bg__shadow_output {
    char name[160];          /* "outputs[0]", "y of scale#3" */
    const bg__call *call;    /* the call of the graph; NULL: a tensor of options.outputs */
    bg__field_tensor field;  /* of `call` */
    const bg_tensor *tensor; /* the tensor in the graph */
    const bg_tensor *eager;  /* the tensor in the kept eager run; NULL: none */
    const void *expected;    /* its value in that run; NULL: not known */
    bool differs;            /* in the last replay, in difference or in shape */
    bool shape;
    bgk_difference difference;
    bool varies; /* two eager runs differ in it: a difference of the replay says nothing */
    bool reported;
    bool caused;      /* a call at fault made the difference, as the tensors that calls use show */
    char causes[300]; /* these calls: "scale#0, add#1" */
    int cause_count;
    bool follows_varying; /* it depends on a call that varies by itself */
} bg__shadow_output;

typedef struct bg__shadow_pass {
    const char *name;
    bg_forward forward;
    void *user;
    cudaStream_t stream;
    bg_capture_options captured; /* the capture options of the program */
} bg__shadow_pass;

/* A call of the graph whose outputs differ although its known inputs are equal (argument_findings.c). */
typedef struct bg__call_fault {
    const bg__call *call; /* NULL: the fault is explained */
    const void *address;
    char what[200];       /* "y of scale#0" */
    char difference[300]; /* "3 of 64 elements ..."; "": another shape or dtype */
    bool unsure;          /* its nodes differ in values that may be padding */
} bg__call_fault;

/* Starts zeroed. */
typedef struct bg__shadow {
    const char *function; /* the public function, for messages */
    cudaStream_t stream;
    bg_compare_options options;
    bg__ranks ranks; /* all ranks make the same runs */
    bg__tolerances tolerances;
    bg__references references;
    bgk_difference *room; /* device: BG__COMPARED_TOGETHER */
    bg_report *report;
    bg__eager_pass eager;
    bg__snapshot image;   /* memory that the runs write, as it was before */
    bg__snapshot results; /* outputs of the kept eager run */
    bg__pass_calls calls; /* calls of that run */
    bg__pass_calls inner; /* calls inside other calls of that run */
    bg__inputs inputs;    /* inputs of all these calls */
    bg_graph *graph;      /* borrowed */
    bg__call_index graph_calls;
    bg__results graph_results;
    bg__shadow_output *outputs;
    size_t output_count;
    bg__suspects suspects;
    bool noted; /* the comparisons have been added to the report */
    bool joins; /* runs wait for the device after each break */
    bg__shadow_pass pass;
    bg__call_fault *faults;
    size_t fault_count, fault_capacity;
    char earlier[160];        /* the first differing input that no call has written: "x of scale#0"; "": none */
    bg__relaxed_mode relaxed; /* relaxes the capture mode of the thread: shadow disturbs no other capture */
    bool captured_again;      /* the pass was captured again to explain faults */
    bool recaptured;          /* that capture succeeded, for the current faults */
    struct bg__timing *times; /* gets the times of nodes in the next walk; NULL: none are taken */
} bg__shadow;

/* Call bg__shadow_free or bg__shadow_finish also after a failure. options: the program's, or NULL. */
bg_status bg__shadow_create(bg__shadow *shadow, const char *tool, const char *function, const bg__shadow_pass *pass,
                            const bg_compare_options *options);
/* Restores memory, also after a failure, and frees shadow. If status and the restore are OK, *report gets the report.
 * Returns status, or the failure of the restore. */
bg_status bg__shadow_finish(bg__shadow *shadow, bg_status status, bg_report **report);
void bg__shadow_free(bg__shadow *shadow);

/* Captures the pass without launching it. The eager ops are those that are declared eager, and those that match eager
 * (a list of patterns; NULL: none). Restores memory that bodies changed during the capture. */
bg_status bg__shadow_capture(bg__shadow *shadow, const bg__shadow_pass *pass, const char *eager, bg_graph **graph);
/* Sets the graph that is compared with the eager run. Adds what the graph writes to the image, and lists the outputs,
 * those of the first graph, which must stay alive. Called after `run_eager` and `keep_eager_run`. */
bg_status bg__shadow_set_graph(bg__shadow *shadow, bg_graph *graph);

/* Finds the graph's call of that name; NULL: there is none. */
const bg__call *bg__shadow_find_call(const bg__shadow *shadow, const char *name);

/* Run the pass eagerly, or replay the graph, and wait. record: keeps copies of outputs and digests of inputs.
 * references: compares ops with their references. */
bg_status bg__shadow_run_eager(bg__shadow *shadow, bool record, bool references);
bg_status bg__shadow_run_replay(const bg__shadow *shadow);
/* Keeps the results of the last eager run. Later runs are compared with them. */
bg_status bg__shadow_keep_eager_run(bg__shadow *shadow);
/* Restores memory and waits. */
bg_status bg__shadow_restore(const bg__shadow *shadow);

/* Compares the outputs of a replay, or of another eager run (`eager`), with the kept run. Calls `each` (NULL: none) for
 * each output beyond the tolerance, with `found` NULL if shapes differ. *beyond: the number of those outputs. */
bg_status bg__shadow_compare_outputs(bg__shadow *shadow, bool eager,
                                     bg_status (*each)(bg__shadow *shadow, bg__shadow_output *output,
                                                       const bgk_difference *found),
                                     size_t *beyond);

/* The rows of the batch in an output, or all of it. tensor: the output in one run. */
bg_tensor bg__shadow_batch_rows(const bg__shadow_output *out, const bg_tensor *tensor);

/* Whether two sums of the same numbers in other orders may differ by this much. */
bool bg__is_rounding(const bg_tensor *tensor, const bgk_difference *found);

/* Sets *flag if it is set on any rank. what: for messages. */
bg_status bg__shadow_any_rank(bg__shadow *shadow, const char *what, bool *flag);

/* Replays the graph call by call, each with the inputs of the kept and recorded eager run, and adds "mismatch-origin"
 * for each call with other outputs (call_findings.c). Memory must be restored before, and is changed afterwards. */
bg_status bg__shadow_compare_calls(bg__shadow *shadow);
/* The same walk, without findings: it records in `suspects` the calls that differ and the digests of their outputs.
 * Walks after the first one run the unordered nodes of each call in other orders. */
bg_status bg__shadow_find_suspects(bg__shadow *shadow);
/* Runs the pass (`eager`) or the graph twice more, and adds "nondeterministic" with the first op call whose outputs
 * differ. Without such a call, adds it only if `known` says that outputs differ. Memory as for
 * bg__shadow_compare_calls. */
bg_status bg__shadow_report_nondeterminism(bg__shadow *shadow, bool eager, bool known);

/* Finds the calls that differ from the kept and recorded eager run (suspect_walks.c). If some are new, or if `differs`
 * says that outputs of the replay differ although no call does, repeats the eager run to find who is not at fault.
 * *found: there are new ones, on any rank. Memory must be restored before, and is restored afterwards. */
bg_status bg__shadow_judge(bg__shadow *shadow, bool differs, bool *found);
/* Called in an eager run or a walk after the body of a call that may be a break. If shadow->joins, waits for streams
 * that the body used and did not join to its own, so that later calls can be judged, and records whether there was such
 * work. */
bg_status bg__shadow_wait_after_break(bg__shadow *shadow, const bg__call *call, const void *args, cudaStream_t stream);

/* Pairs the calls of the kept eager run with those of the graph (flow_findings.c): a call of the graph finds its pair
 * by its own name, even if other calls before it have shifted the numbers in the names. */
bg_status bg__shadow_pair_calls(bg__shadow *shadow);
/* Called before the graph is destroyed: each call of the eager run gets its own name back. */
void bg__shadow_unpair_calls(bg__shadow *shadow);
/* Adds "frozen-control-flow" for each outermost call that only the graph, or only the kept eager run, has
 * (flow_findings.c). */
void bg__shadow_report_flow(bg__shadow *shadow);

#endif
