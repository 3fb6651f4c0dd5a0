/* The trials of a bisect: the pass runs with some of its calls eager, and its outputs are compared with those of the
 * eager pass. */
#ifndef BG_DEBUG_BISECT_TRIALS_H
#define BG_DEBUG_BISECT_TRIALS_H

#include <breakgraph/bisect.h>

#include "debug/shadow/comparison.h"

typedef struct bg__bisection {
    bg__shadow shadow;
    bg__shadow_pass pass;
    bg_graph *graph;    /* the graph with all calls captured */
    const char **calls; /* names of the graph's captured calls, in the order of the pass */
    size_t count;
    char *pattern; /* room for the names of all calls */
    bool large;    /* an output has differed by more than rounding */
} bg__bisection;

/* Runs the pass eagerly once more, and compares it with the kept run. */
bg_status bg__trial_run_eager(bg__bisection *b, bg_verdict *verdict);
/* Replays b->shadow.graph, and compares the outputs with the kept run. */
bg_status bg__trial_run_replay(bg__bisection *b, bool *differs);
/* Captures the pass with the calls of these names eager, and replays it. A pass may need two calls to be in one
 * segment. Then a break between the two calls makes the pass fail, and the verdict is SKIP. With several ranks a
 * failure ends the bisect on all ranks. */
bg_status bg__trial_run(bg__bisection *b, const char *const *eager, size_t count, const char *why, bg_verdict *verdict);
/* Adds a trial to the report. */
bg_status bg__trial_record(bg__bisection *b, const char *const *eager, size_t count, bool all, const char *why,
                           bg_verdict verdict, double began_ms);
/* Writes the names to b->pattern as a pattern of BG_EAGER_OPS, and returns the pattern. */
const char *bg__trial_pattern(bg__bisection *b, const char *const *names, size_t count);

#endif
