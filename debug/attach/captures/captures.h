/* The program's captures that are open, and what became of them. */
#ifndef BG_ATTACH_CAPTURES_H
#define BG_ATTACH_CAPTURES_H

#include <cuda.h>

#include "debug/attach/shim/shim.h"
#include "debug/attach/stacks/stacks.h"

typedef struct bg__caller {
    pid_t id;
    char name[16];
} bg__caller;

/* A stream that captured work, and the last of it. */
typedef struct bg__capture_stream {
    CUstream stream;
    CUgraphNode last;
    const bg__stack *launched;
    bool unjoined; /* known at the end */
    char *node;    /* then: "scale#1"; NULL: it has no name */
} bg__capture_stream;

/* A call that invalidated a capture. */
typedef struct bg__culprit {
    const char *function; /* the driver's name; NULL: none is known */
    uint32_t result;
    bg__caller thread;
    const bg__stack *stack;
    const char *rule, *advice;
} bg__culprit;

typedef struct bg__open_capture {
    struct bg__open_capture *next;
    CUstream stream; /* where it began, and has to end */
    uint64_t id;
    CUstreamCaptureMode mode;
    bg__caller thread;
    const bg__stack *begun;
    bg__capture_stream *streams;
    size_t count, capacity;
    bg__culprit suspect; /* another thread's call, made meanwhile, could have invalidated it as well */
    bool told;           /* what invalidated it */
    int running;         /* its place in running.h; -1: none */
    unsigned long launches;
} bg__open_capture;

/* ---- the list (captures.c) -------------------------------------------------------------------------------------- */

/* Before the first capture. Whether findings are wanted: then each call is to be passed on. */
bool bg__captures_begin(const bg__attach_shim *shim);
/* Around each call while a capture is open. */
void bg__captures_before_call(const bg__driver_call *call);
void bg__captures_after_call(const bg__driver_call *call);
bool bg__captures_are_open(void);
/* After the call that began it. */
void bg__capture_opened(CUstream stream, CUstreamCaptureMode mode);
/* After a call that began none, on the legacy default stream, or on a stream that captures already. */
void bg__capture_refused(const char *function, uint32_t result, CUstream stream);
/* A node of that capture was launched into stream. */
void bg__capture_launched(uint64_t id, CUstream stream, CUgraphNode node, const bg__stack *stack);
/* Before and after the call that ends the capture that began on stream. graph: NULL where that failed. */
void bg__capture_ending(CUstream stream);
void bg__capture_ended(CUstream stream, uint32_t result, CUgraph graph);
/* The innermost capture of the calling thread that is not invalidated: where it began, and its stream. NULL: none, or
 * its mode is relaxed. */
const bg__stack *bg__capture_of_thread(CUstream *stream);

/* The short name of a CUfunction or a CUkernel (launched_name.c). The caller frees it. NULL: the driver has none, or no
 * host memory. */
char *bg__launched_name(const bg__attach_shim *shim, void *function);

/* ---- findings (culprit.c) --------------------------------------------------------------------------------------- */

bg__caller bg__caller_here(void);
/* culprit->function and result are given, and why the call invalidated the capture is found. asked: the stream that it
 * is about, if it is one of the capture. false: no rule says that this call did it. */
bool bg__culprit_explain(const bg__open_capture *capture, bg__culprit *culprit, bool asked);
void bg__culprit_report(const bg__open_capture *capture, const bg__culprit *culprit);
/* Of one that did not begin. other: the capture that its stream is in; NULL: it is the legacy default stream. */
void bg__culprit_report_begin(const bg__open_capture *other, const bg__culprit *culprit);
/* The call that ended the capture found streams that were not joined. */
void bg__culprit_report_unjoined(const bg__open_capture *capture, const bg__culprit *culprit);

/* ---- work outside of the capture (capture_leaks.c) --------------------------------------------------------------- */

void bg__leak_begin(const bg__attach_shim *shim);
/* The calling thread has launched that into stream, which does not capture. */
void bg__leak_look(const bg__driver_call *call, const char *function, CUstream stream);

#endif
