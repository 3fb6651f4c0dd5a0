/* A pass and a graph of it, run from the same contents of memory. */
#ifndef BG_DEBUG_COMPARISON_H
#define BG_DEBUG_COMPARISON_H

#include <breakgraph/shadow.h>

#include "eager_pass.h"
#include "debug/memory/footprint.h"
#include "debug/memory/results.h"

/* What is compared. */
typedef struct bg__shadow_output {
    char name[160];          /* "outputs[0]", "y of scale#3" */
    const bg__call *call;    /* of the graph; NULL: the program's own */
    bg__field_tensor field;  /* of call */
    const bg_tensor *tensor; /* where the graph has it */
    const bg_tensor *eager;  /* where the eager run that was kept has it; NULL: nowhere */
    const void *expected;    /* what that left; NULL: not known */
    bool told;
} bg__shadow_output;

/* Starts zeroed. */
typedef struct bg__shadow {
    const char *function; /* the public one, for sentences */
    cudaStream_t stream;
    bg_compare_options options;
    bg__ranks ranks; /* that go the same way */
    bg__tolerances tolerances;
    bg__references references;
    bgk_difference *room; /* device */
    bg_report *report;
    bg__eager_pass eager;
    bg__snapshot image;   /* what either way writes, as it was */
    bg__snapshot results; /* what the eager run that was kept left, */
    bg__pass_calls calls; /* its calls, */
    bg__pass_calls inner; /* and those inside others */
    bg_graph *graph;      /* the other way; borrowed */
    bg__results graph_results;
    bg__shadow_output *outputs;
    size_t output_count;
    bool noted; /* the comparisons are in the report */
} bg__shadow;

typedef struct bg__shadow_pass {
    const char *name;
    bg_forward forward;
    void *user;
    cudaStream_t stream;
    bg_capture_options captured; /* how the program captures it */
} bg__shadow_pass;

/* Free it, also where this failed. options is the program's, or NULL. */
bg_status bg__shadow_create(bg__shadow *shadow, const char *tool, const char *function, const bg__shadow_pass *pass,
                            const bg_compare_options *options);
/* Memory as it was, also after a failure; then frees it. *report is what it holds, unless something failed: status, or
 * that. */
bg_status bg__shadow_finish(bg__shadow *shadow, bg_status status, bg_report **report);
void bg__shadow_free(bg__shadow *shadow);

/* Captures the pass without launching it, with no op eager but those that are declared so and match eager (a list of
 * patterns; NULL: none). What bodies that run at capture change is put back. */
bg_status bg__shadow_capture(bg__shadow *shadow, const bg__shadow_pass *pass, const char *eager, bg_graph **graph);
/* Takes graph as the other way: what it writes joins the image, what is to be compared is listed, of the first graph,
 * which must stay. After run_eager and keep, of which the list tells. */
bg_status bg__shadow_set_graph(bg__shadow *shadow, bg_graph *graph);

/* Runs one way, from what memory holds, and waits. references: ops that have one are compared with it. */
bg_status bg__shadow_run_eager(bg__shadow *shadow, bool record, bool references);
bg_status bg__shadow_run_replay(const bg__shadow *shadow);
/* What the eager run left is what is compared with from now on. */
bg_status bg__shadow_keep(bg__shadow *shadow);
/* Memory as it was, and waits. */
bg_status bg__shadow_restore(const bg__shadow *shadow);

/* How what memory holds now differs from what was kept: after a replay, or after another eager run (eager). each (NULL:
 * none) is called for those beyond the tolerance; found is NULL where shapes differ. *beyond: how many there are. */
bg_status bg__shadow_compare(bg__shadow *shadow, bool eager,
                             bg_status (*each)(bg__shadow *shadow, bg__shadow_output *output,
                                               const bgk_difference *found),
                             size_t *beyond);

/* Whether a rank says so; without ranks, this one. */
bg_status bg__shadow_any(bg__shadow *shadow, const char *what, bool *flag);

/* The graph call by call: "mismatch-origin" for each call that leaves something else than that of the eager run that
 * was kept, which was recorded, when it gets that one's inputs (call_findings.c). Begins with memory as it was, and
 * leaves it changed. */
bg_status bg__shadow_compare_calls(bg__shadow *shadow);
/* "nondeterministic", with the first op call that leaves something else when the pass, or the graph, runs twice more;
 * where none does, only if something is known to vary. Begins with memory as it was, and leaves it changed. */
bg_status bg__shadow_tell_varying(bg__shadow *shadow, bool eager, bool known);

/* "frozen-control-flow" for each outermost call that the graph, or the eager run that was kept, has alone
 * (flow_findings.c). */
void bg__shadow_tell_flow(bg__shadow *shadow);

#endif
