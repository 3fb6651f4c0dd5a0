/* Runs a program plainly, captured and replayed, and in the other ways that it has, and compares. */
#ifndef RANDOM_RUN_H
#define RANDOM_RUN_H

#include "program.h"

typedef enum failure_kind {
    PASSED,
    FAILED_CALL,    /* something returned an error */
    FAILED_PLAIN,   /* run plainly with its own order alone, results differ from one instruction after the other */
    FAILED_CAPTURE, /* results of the capture pass differ */
    FAILED_REPLAY,  /* results of a replay differ */
    FAILED_STATE,   /* a capture that launches nothing changed options.state */
    FAILED_CALLS,   /* other calls are eager, or other breaks made, than the rules say */
    FAILED_EAGER,   /* results of an eager pass differ */
    FAILED_FAULT,   /* what becomes of a body's failure differs */
    FAILED_MEMORY,  /* memory or handles are not given back */
    FAILED_FINDING  /* a tool finds a fault where there is none */
} failure_kind;

typedef struct failure {
    failure_kind kind;
    int pass;
    way where;
    char text[700];
} failure;

/* Streams and memory for all programs of this process. False, with a sentence on stderr: there are none. */
bool machine_open(void);
void machine_close(void);

/* Runs it under its schedule. True: it passed. */
bool run_program(const program *p, failure *f);

/* Captures it and lets look have the graph, with all ready for the first replay on stream, none of which has run.
 * False: look's, or f says why. */
bool run_captured(const program *p, bool (*look)(void *user, bg_graph *graph, cudaStream_t stream), void *user,
                  failure *f);
/* bg_check_recapture of it; the report is the caller's, after a failure, too. change may be NULL. */
bool run_recapture(const program *p, void (*change)(void), bg_report **report, failure *f);
/* bg_shadow of it, likewise. */
bool run_shadowed(const program *p, bg_report **report, failure *f);

#endif
