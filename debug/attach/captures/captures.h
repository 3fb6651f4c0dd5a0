/* The program's open captures, and the findings on captures that fail. */
#ifndef BG_ATTACH_CAPTURES_H
#define BG_ATTACH_CAPTURES_H

#include <cuda.h>

#include "debug/attach/events/event.h"

typedef struct bg__thread_info {
    pid_t id;
    char name[16];
} bg__thread_info;

/* A stream of a capture, and its last node. */
typedef struct bg__capture_stream {
    CUstream stream;
    CUgraphNode last;
    const bg__stack *launched;
    bool unjoined; /* set before the end */
    char *node;    /* name of an unjoined node, "scale#1"; NULL: none */
} bg__capture_stream;

/* A call that invalidated a capture. */
typedef struct bg__culprit {
    const char *function; /* the driver's name; NULL: unknown */
    uint32_t result;
    bg__thread_info thread;
    const bg__stack *stack;
    const char *rule, *advice;
} bg__culprit;

typedef struct bg__open_capture {
    struct bg__open_capture *next;
    CUstream stream; /* where it began, and must end */
    uint64_t id;
    CUstreamCaptureMode mode;
    bg__thread_info thread;
    const bg__stack *begun;
    bg__capture_stream *streams;
    size_t count, capacity;
    bg__culprit suspect; /* may have invalidated it, but calls of other threads may have, too */
    bool reported;       /* the culprit is reported */
    int running;         /* its place in running_file.h; -1: none */
    unsigned long launches;
} bg__open_capture;

/* ---- the list (captures.c) -------------------------------------------------------------------------------------- */

bool bg__captures_are_open(void);
/* Finds the innermost valid capture of the calling thread. Returns the stack of its begin, and sets *stream to its
 * stream. NULL: there is no capture, or its mode is relaxed. */
const bg__stack *bg__capture_of_thread(CUstream *stream);

/* Returns the short name of a CUfunction or a CUkernel (function_short_name.c). The caller frees it. NULL: the driver
 * has none, or out of host memory. */
char *bg__function_short_name(void *function);

/* ---- findings (capture_culprit.c) ------------------------------------------------------------------------------- */

bg__thread_info bg__thread_info_here(void);
/* Finds the rule that culprit->function broke with culprit->result, and sets rule and advice. asked: the call's stream
 * argument belongs to the capture. Returns false if no rule proves that this call invalidated the capture. */
bool bg__culprit_explain(const bg__open_capture *capture, bg__culprit *culprit, bool asked);
void bg__culprit_report(const bg__open_capture *capture, const bg__culprit *culprit);
/* Reports a capture that did not begin. other: the open capture that has the stream; NULL: the stream is the legacy
 * default stream. */
void bg__culprit_report_refused(const bg__open_capture *other, const bg__culprit *culprit);
/* Reports streams that were not joined at the end of the capture. */
void bg__culprit_report_unjoined(const bg__open_capture *capture, const bg__culprit *culprit);

#endif
