/* The trials of a bisect: the pass with some of its calls eager, compared with its outputs where all are. */
#ifndef BG_DEBUG_BISECT_TRIALS_H
#define BG_DEBUG_BISECT_TRIALS_H

#include <breakgraph/bisect.h>

#include "debug/shadow/comparison.h"

typedef struct bg__bisection {
    bg__shadow shadow;
    bg__shadow_pass pass;
    bg_graph *graph;    /* all captured */
    const char **calls; /* names of graph's captured calls, in order of the pass */
    size_t count;
    char *pattern; /* room for the names of all */
    bool large;    /* something has differed by more than rounding */
} bg__bisection;

/* Compares one more eager run with the one that was kept. */
bg_status bg__trial_eager(bg__bisection *b, bg_verdict *verdict);
/* Replays b->shadow.graph. */
bg_status bg__trial_replay(bg__bisection *b, bool *differs);
/* Captures the pass with the calls of these names eager, and replays it. A pass may need two calls in one segment: a
 * break between them makes it fail, which is a SKIP. With several ranks a failure ends the bisect on all of them. */
bg_status bg__trial_run(bg__bisection *b, const char *const *eager, size_t count, const char *why, bg_verdict *verdict);
/* Adds a trial to the report. */
bg_status bg__trial_note(bg__bisection *b, const char *const *eager, size_t count, bool all, const char *why,
                         bg_verdict verdict, double began_ms);
/* The names as a pattern of BG_EAGER_OPS, in b->pattern. */
const char *bg__trial_pattern(bg__bisection *b, const char *const *names, size_t count);

#endif
