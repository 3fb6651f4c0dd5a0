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
    const bg__call *call;    /* of the graph; NULL: a tensor of options.outputs */
    bg__field_tensor field;  /* of call */
    const bg_tensor *tensor; /* where the graph has it */
    const bg_tensor *eager;  /* where the kept eager run has it; NULL: it has not */
    const void *expected;    /* its value in that run; NULL: not known */
    bool differs;            /* in the last replay: by difference, or in shape */
    bool shape;
    bgk_difference difference;
    bool varies; /* between two eager runs: a difference of the replay says nothing */
    bool told;
    bool caused;      /* a call at fault has made the difference, as far as the tensors of calls tell */
    char causes[300]; /* these calls: "scale#0, add#1" */
    int cause_count;
    bool follows_varying; /* depends on a call that varies by itself */
} bg__shadow_output;

typedef struct bg__shadow_pass {
    const char *name;
    bg_forward forward;
    void *user;
    cudaStream_t stream;
    bg_capture_options captured; /* how the program captures it */
} bg__shadow_pass;

/* A call of the graph whose outputs differ though its tensors, as far as they are known, do not (argument_findings.c).
 */
typedef struct bg__call_fault {
    const bg__call *call; /* NULL: explained */
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
    bg__snapshot results; /* what the kept eager run wrote */
    bg__pass_calls calls; /* its calls */
    bg__pass_calls inner; /* and the calls inside others */
    bg__inputs inputs;    /* and what all of them read */
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
    char earlier[160];        /* the first input that differs where no call has made it: "x of scale#0"; "": none */
    bg__relaxed relaxed;      /* exchanged: the thread, so that what shadow does harms no capture of others */
    bool captured_again;      /* to explain faults */
    bool recaptured;          /* with success, for the current faults */
    struct bg__timing *times; /* where the next walk notes the times of nodes; NULL: it takes none */
} bg__shadow;

/* Call bg__shadow_free or bg__shadow_finish also after a failure. options: the program's, or NULL. */
bg_status bg__shadow_create(bg__shadow *shadow, const char *tool, const char *function, const bg__shadow_pass *pass,
                            const bg_compare_options *options);
/* Restores memory, also after a failure, and frees shadow. Without a failure *report gets the report. Returns status,
 * or the failure of the restore. */
bg_status bg__shadow_finish(bg__shadow *shadow, bg_status status, bg_report **report);
void bg__shadow_free(bg__shadow *shadow);

/* Captures the pass without launching it. Eager are only ops that are declared so, and those that match eager (a list
 * of patterns; NULL: none). Restores memory that bodies changed during the capture. */
bg_status bg__shadow_capture(bg__shadow *shadow, const bg__shadow_pass *pass, const char *eager, bg_graph **graph);
/* Sets the graph that is compared with the eager run: adds what it writes to the image, and lists the outputs, those of
 * the first graph, which must stay alive. Called after run_eager and keep. */
bg_status bg__shadow_set_graph(bg__shadow *shadow, bg_graph *graph);

/* The graph's call of that name; NULL: there is none. */
const bg__call *bg__shadow_call(const bg__shadow *shadow, const char *name);

/* Run the pass eagerly, or replay the graph, and wait. references: compare ops that have a reference with it. */
bg_status bg__shadow_run_eager(bg__shadow *shadow, bool record, bool references);
bg_status bg__shadow_run_replay(const bg__shadow *shadow);
/* Keeps the results of the last eager run, with which later runs are compared. */
bg_status bg__shadow_keep(bg__shadow *shadow);
/* Restores memory and waits. */
bg_status bg__shadow_restore(const bg__shadow *shadow);

/* Compares the outputs after a replay, or after another eager run (eager), with the kept run. each (NULL: none) is
 * called for each output beyond the tolerance, with found NULL if shapes differ. *beyond: the number of those outputs.
 */
bg_status bg__shadow_compare(bg__shadow *shadow, bool eager,
                             bg_status (*each)(bg__shadow *shadow, bg__shadow_output *output,
                                               const bgk_difference *found),
                             size_t *beyond);

/* The rows of the batch in an output, or all of it; tensor: where a run has it. */
bg_tensor bg__shadow_rows(const bg__shadow_output *out, const bg_tensor *tensor);

/* Whether two sums of the same numbers may differ so. */
bool bg__is_rounding(const bg_tensor *tensor, const bgk_difference *found);

/* Sets *flag if it is set on any rank. what: for messages. */
bg_status bg__shadow_any(bg__shadow *shadow, const char *what, bool *flag);

/* Replays the graph call by call, each with the inputs of the kept and recorded eager run, and adds "mismatch-origin"
 * for each call with other outputs (call_findings.c). Memory must be restored before, and is changed afterwards. */
bg_status bg__shadow_compare_calls(bg__shadow *shadow);
/* The same walk, which adds no finding: it notes in suspects which calls differ, and the digests of their outputs.
 * Those behind the first one run what has no order within a call in other orders. */
bg_status bg__shadow_find_suspects(bg__shadow *shadow);
/* Runs the pass (eager) or the graph twice more, and adds "nondeterministic" with the first op call whose outputs
 * differ; without such a call, only if `known` says that outputs differ. Memory as for bg__shadow_compare_calls. */
bg_status bg__shadow_tell_varying(bg__shadow *shadow, bool eager, bool known);

/* Finds the calls that differ from the kept and recorded eager run (judgement.c). Where some are new, or differs says
 * that outputs of the replay differ though no call does, repeats the eager run, to know who is not at fault. *found:
 * there are new ones, on any rank. Memory must be restored before, and is afterwards. */
bg_status bg__shadow_judge(bg__shadow *shadow, bool differs, bool *found);
/* After the body of a call that may be a break, in an eager run or a walk, if shadow->joins: waits for streams of the
 * body that its own does not wait for, so that later calls can be judged, and notes whether there was such work. */
bg_status bg__shadow_join_break(bg__shadow *shadow, const bg__call *call, const void *args, cudaStream_t stream);

/* Pairs the calls of the kept eager run with those of the graph (flow_findings.c): a call of the graph finds its pair
 * by its own name, also where other calls before it have shifted the numbers of the names. */
bg_status bg__shadow_pair_calls(bg__shadow *shadow);
/* Before the graph is destroyed: each call of the eager run has its own name again. */
void bg__shadow_unpair_calls(bg__shadow *shadow);
/* Adds "frozen-control-flow" for each outermost call that only the graph, or only the kept eager run, has
 * (flow_findings.c). */
void bg__shadow_tell_flow(bg__shadow *shadow);

#endif
