/* Finds the rule of CUDA that a call broke when it invalidated a capture (docs/records/capture-rules.md), and reports
 * the call. */
#include "captures.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "debug/attach/report/process_findings.h"
#include "debug/attach/stacks/function_names.h"

bg__thread_info bg__thread_info_here(void)
{
    bg__thread_info thread = {.id = gettid()};
    (void)pthread_getname_np(pthread_self(), thread.name, sizeof thread.name);
    return thread;
}

static const char *mode_name(CUstreamCaptureMode mode)
{
    return mode == CU_STREAM_CAPTURE_MODE_GLOBAL         ? "global"
           : mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ? "thread-local"
                                                         : "relaxed";
}

/* ---- rules ------------------------------------------------------------------------------------------------------ */

/* CUDA's errors that each stand for one rule. */
static const struct {
    uint32_t result;
    const char *rule, *advice;
} rules[] = {
    {CUDA_ERROR_STREAM_CAPTURE_MERGE, "it waits for an event of another capture, and two captures cannot become one",
     "wait for events of the same capture only"},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "a capture has to be ended on the stream on which it began",
     "end it on that stream; join the forked streams to it with cudaEventRecord and cudaStreamWaitEvent"},
    {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "it waits for an event that was recorded outside of the capture",
     "record the event in the capture, on one of its streams; or wait for it before the capture begins"},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
     "it uses the legacy default stream (stream 0), which would wait for a stream that captures",
     "use the capturing stream in place of stream 0, or capture on streams with cudaStreamNonBlocking"},
    {CUDA_ERROR_CAPTURED_EVENT,
     "an event that was recorded in a capture is an edge of the graph: it cannot be asked or waited for by the host",
     "record another event, outside of the capture, for the host"},
    {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "a capture in this mode has to be ended by the thread that began it",
     "end it in that thread, or begin it in mode relaxed"},
};

static CUstreamCaptureMode thread_capture_mode(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    bg__relaxed_mode relaxed;
    if (bg__relaxed_mode_begin(&relaxed) == BG_OK) {
        mode = (CUstreamCaptureMode)relaxed.before;
        bg__relaxed_mode_end(relaxed);
    }
    return mode;
}

/* CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED has several reasons. */
static bool explain_unsupported(const bg__open_capture *c, bg__culprit *culprit, bool asked)
{
    static const char *const questions[] = {"cuStreamSynchronize", "cuStreamQuery",     "cuStreamGetId",
                                            "cuStreamGetFlags",    "cuStreamGetDevice", "cuStreamAddCallback"};
    const CUstreamCaptureMode mode = thread_capture_mode();

    culprit->advice = "make the call before the capture begins, or after its end";
    if (bg__function_has_name(culprit->function, "cuCtxSynchronize")) {
        culprit->rule = "no thread may wait for a device while one of its streams captures";
        return true;
    }
    for (size_t i = 0; asked && i < sizeof questions / sizeof *questions; i++)
        if (bg__function_has_name(culprit->function, questions[i])) {
            culprit->rule = "a capturing stream cannot be queried or waited for: it runs no work";
            return true;
        }
    if (c->thread.id == culprit->thread.id && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
        culprit->rule = "a thread that captures may not make this call";
        return true;
    }
    if (c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && mode == CU_STREAM_CAPTURE_MODE_GLOBAL) {
        culprit->rule = "while a capture in mode global is open, no thread may make this call";
        culprit->advice =
            "capture in mode thread-local (cudaStreamCaptureModeThreadLocal; in PyTorch "
            "capture_error_mode=\"thread_local\"), or let the other thread wait for the end of the capture";
        return true;
    }
    culprit->rule = "CUDA does not allow this call there during a capture";
    return false;
}

bool bg__culprit_explain(const bg__open_capture *c, bg__culprit *culprit, bool asked)
{
    if (culprit->result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        return explain_unsupported(c, culprit, asked);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].result == culprit->result) {
            culprit->rule = rules[i].rule;
            culprit->advice = rules[i].advice;
            return true;
        }
    culprit->rule = "a call that fails can invalidate the capture that it is made in";
    culprit->advice = "fix the call";
    return false;
}

/* ---- findings --------------------------------------------------------------------------------------------------- */

static void print_function(FILE *out, const bg__culprit *culprit)
{
    const char *runtime = bg__function_runtime_name(culprit->function);
    fprintf(out, "%s", culprit->function);
    if (runtime != NULL)
        fprintf(out, " (%s)", runtime);
    fprintf(out, " returned %s", cudaGetErrorName((cudaError_t)culprit->result));
}

static void print_place(FILE *out, const bg__stack *stack)
{
    const bg_site site = stack != NULL ? bg__stack_site(stack) : (bg_site){NULL, 0};
    fprintf(out, "%s", site.file != NULL ? site.file : "an unknown place");
    if (site.line > 0)
        fprintf(out, ":%d", site.line);
}

static void print_capture(FILE *out, const bg__open_capture *c)
{
    fprintf(out, "the capture of stream %p that began at ", (void *)c->stream);
    print_place(out, c->begun);
    fprintf(out, " in mode %s", mode_name(c->mode));
}

static void print_threads(FILE *out, const bg__open_capture *c, const bg__culprit *culprit)
{
    const bg__thread_info *thread = &culprit->thread;
    if (thread->id == c->thread.id)
        fprintf(out, "; the capturing thread, %d (%s), made the call", (int)thread->id, thread->name);
    else
        fprintf(out, "; thread %d (%s) made the call, not the capturing thread, %d (%s)", (int)thread->id, thread->name,
                (int)c->thread.id, c->thread.name);
}

/* Adds a finding with the sentence that `print` writes. The finding is about the call or, if `stream` is not NULL,
 * about the last node of the stream. */
static void report_call(const bg__open_capture *c, const bg__culprit *culprit, const bg__capture_stream *stream,
                        void (*print)(FILE *, const bg__open_capture *, const bg__culprit *,
                                      const bg__capture_stream *))
{
    const bg__stack *at = stream != NULL ? stream->launched : culprit->stack;
    char message[1024] = "", name[80];
    const char *call = NULL;
    FILE *out = fmemopen(message, sizeof message - 1, "w");

    if (out == NULL) {
        bg__warn("--attach: out of host memory for a finding");
        return;
    }
    print(out, c, culprit, stream);
    (void)fclose(out);
    if (stream != NULL)
        call = stream->node;
    else if (culprit->function != NULL)
        call = bg__function_api_name(culprit->function, culprit->stack, name, sizeof name);
    bg__attach_report_once("capture-broken", BG_FAULT, culprit->function != NULL ? culprit->function : "", call, at,
                           culprit->advice, message);
}

static void print_culprit(FILE *out, const bg__open_capture *c, const bg__culprit *culprit,
                          const bg__capture_stream *unused)
{
    (void)unused;
    if (culprit->function == NULL) {
        print_capture(out, c);
        fputs(" is found invalidated at its end; the call that did it was not seen, because it was made before the "
              "capture began and returned later, or because it is not one of the driver's exported functions",
              out);
        return;
    }
    print_function(out, culprit);
    fputs(" and invalidated ", out);
    print_capture(out, c);
    fprintf(out, ": %s", culprit->rule);
    print_threads(out, c, culprit);
}

void bg__culprit_report(const bg__open_capture *c, const bg__culprit *culprit)
{
    bg__culprit known = *culprit;
    if (known.function == NULL)
        known.advice = "look at what other threads and libraries do while the capture is open";
    report_call(c, &known, NULL, print_culprit);
}

static void print_refused(FILE *out, const bg__open_capture *other, const bg__culprit *culprit,
                          const bg__capture_stream *none)
{
    (void)none;
    print_function(out, culprit);
    if (other == NULL) {
        fputs(": the legacy default stream (stream 0) cannot capture", out);
        return;
    }
    fputs(": this stream is capturing already, as part of ", out);
    print_capture(out, other);
}

void bg__culprit_report_refused(const bg__open_capture *other, const bg__culprit *culprit)
{
    bg__culprit known = *culprit;
    known.advice = other != NULL ? "capture on a stream that nothing else uses meanwhile"
                                 : "capture on a stream of cudaStreamCreateWithFlags, best with cudaStreamNonBlocking";
    report_call(other, &known, NULL, print_refused);
}

static void print_unjoined(FILE *out, const bg__open_capture *c, const bg__culprit *culprit,
                           const bg__capture_stream *stream)
{
    if (stream != NULL)
        fprintf(out, "the work launched here into stream %p is not joined at the end of ", (void *)stream->stream);
    else
        fputs("an unknown stream with captured work is not joined at the end of ", out);
    print_capture(out, c);
    fputs("; ", out);
    print_function(out, culprit);
    fputs(" at ", out);
    print_place(out, culprit->stack);
}

void bg__culprit_report_unjoined(const bg__open_capture *c, const bg__culprit *culprit)
{
    bg__culprit known = *culprit;
    bool found = false;

    known.advice = "after the last work on that stream, record an event on it, and let the stream on which the "
                   "capture began wait for it (cudaEventRecord, cudaStreamWaitEvent)";
    for (size_t i = 0; i < c->count; i++)
        if (c->streams[i].unjoined) {
            report_call(c, &known, &c->streams[i], print_unjoined);
            found = true;
        }
    if (!found)
        report_call(c, &known, NULL, print_unjoined);
}
