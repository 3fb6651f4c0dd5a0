#include "case.h"

#include "case_scene.h"
#include "conformance_kernels.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- the transcript -------------------------------------------------------------------------------------------- */

/* Calls are shown as a program would write them: without what holds the variables here, and the driver's without casts.
 */
static size_t hidden_at(const char *call)
{
    static const char *const hidden[] = {"s->", "at.", "(CUdeviceptr)", "(CUstream)", "(CUevent)"};
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (strncmp(call, hidden[i], strlen(hidden[i])) == 0)
            return strlen(hidden[i]);
    return 0;
}

static void copy_call(char *to, size_t room, const char *prefix, const char *call)
{
    size_t length = (size_t)snprintf(to, room, "%s", prefix);
    while (*call && length + 1 < room) {
        size_t hidden = hidden_at(call);
        if (!hidden)
            to[length++] = *call++;
        call += hidden;
    }
    to[length < room ? length : room - 1] = 0;
}

static struct case_line *next_line(struct scene *s, bool asked, const char *prefix, const char *call)
{
    static struct case_line spilt;
    if (s->count == CASE_LINES_MAX) {
        snprintf(s->wrong, sizeof s->wrong, "the case has more than %d lines: raise CASE_LINES_MAX", CASE_LINES_MAX);
        return &spilt;
    }
    struct case_line *line = &s->lines[s->count++];
    line->asked = asked;
    copy_call(line->call, sizeof line->call, prefix, call);
    return line;
}

static bool answer(struct scene *s, const char *prefix, const char *call, cudaError_t error)
{
    struct case_line *line = next_line(s, true, prefix, call);
    snprintf(line->answer, sizeof line->answer, "%s", cudaGetErrorName(error));
    return !s->wrong[0];
}

static bool step(struct scene *s, const char *prefix, const char *call, cudaError_t error)
{
    const struct case_line *line = next_line(s, false, prefix, call);
    if (error && !s->wrong[0])
        snprintf(s->wrong, sizeof s->wrong, "%s must succeed, but gives %s", line->call, cudaGetErrorName(error));
    return !s->wrong[0];
}

bool case_ask(struct scene *s, const char *call, cudaError_t error)
{
    return answer(s, "", call, error);
}

bool case_step(struct scene *s, const char *call, cudaError_t error)
{
    return step(s, "", call, error);
}

bool case_driver(struct scene *s, const char *name, unsigned version, void *function)
{
    void *address = NULL;
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    scene_must(s, name, cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &status));
    if (!s->wrong[0] && !address)
        snprintf(s->wrong, sizeof s->wrong, "the driver has no %s of CUDA %u", name, version);
    memcpy(function, &address, sizeof address);
    return !s->wrong[0];
}

bool case_ask_cu(struct scene *s, const char *call, CUresult result)
{
    const char *name = "an error without a name";
    PFN_cuGetErrorName_v6000 get_name = NULL;
    if (!case_driver(s, "cuGetErrorName", 6000, &get_name))
        return false;
    get_name(result, &name);
    case_note(s, call, "%s", name);
    return !s->wrong[0];
}

void case_note(struct scene *s, const char *what, const char *format, ...)
{
    if (s->wrong[0])
        return;
    struct case_line *line = next_line(s, true, "", what);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line->answer, sizeof line->answer, format, arguments);
    va_end(arguments);
}

/* ---- calls with richer answers ----------------------------------------------------------------------------------- */

static void describe(cudaGraph_t graph, char *text, size_t room)
{
    size_t nodes = 0, edges = 0;
    cudaError_t error = cudaGraphGetNodes(graph, NULL, &nodes);
    if (!error)
        error = cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges);
    if (error)
        snprintf(text, room, "a graph that gives %s", cudaGetErrorName(error));
    else
        snprintf(text, room, "%zu node%s, %zu edge%s", nodes, nodes == 1 ? "" : "s", edges, edges == 1 ? "" : "s");
}

void case_end(struct scene *s, const char *call, cudaStream_t stream)
{
    static char untouched; /* no graph lies here: does CUDA write, when it fails? */
    char text[CASE_ANSWER_MAX / 2];
    if (s->wrong[0])
        return;
    cudaGraph_t graph = (cudaGraph_t)(void *)&untouched;
    cudaError_t error = cudaStreamEndCapture(stream, &graph);
    if (graph == (cudaGraph_t)(void *)&untouched)
        snprintf(text, sizeof text, "graph untouched");
    else if (!graph)
        snprintf(text, sizeof text, "graph NULL");
    else
        describe(graph, text, sizeof text);
    case_note(s, call, "%s, %s", cudaGetErrorName(error), text);
    if (error || !graph || graph == (cudaGraph_t)(void *)&untouched)
        return;
    if (s->graph && s->graph != graph)
        scene_must(s, "cudaGraphDestroy", cudaGraphDestroy(s->graph));
    s->graph = graph;
}

static const char *status_name(enum cudaStreamCaptureStatus status)
{
    switch (status) {
    case cudaStreamCaptureStatusNone: return "none";
    case cudaStreamCaptureStatusActive: return "active";
    case cudaStreamCaptureStatusInvalidated: return "invalidated";
    }
    return "a status that does not exist";
}

void case_status(struct scene *s, const char *call, cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (s->wrong[0])
        return;
    cudaError_t error = cudaStreamIsCapturing(stream, &status);
    case_note(s, call, "%s", error ? cudaGetErrorName(error) : status_name(status));
}

void case_info(struct scene *s, const char *call, cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = NULL;
    size_t dependencies = 0;
    char text[CASE_ANSWER_MAX / 2];
    if (s->wrong[0])
        return;
    cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, NULL, NULL, &dependencies);
    if (error) {
        case_note(s, call, "%s", cudaGetErrorName(error));
    } else if (status != cudaStreamCaptureStatusActive) {
        case_note(s, call, "%s", status_name(status));
    } else {
        describe(graph, text, sizeof text);
        case_note(s, call, "active, %s, %zu dependenc%s", text, dependencies, dependencies == 1 ? "y" : "ies");
    }
}

void case_node_type(struct scene *s)
{
    static const char *const names[] = {"kernel",       "memcpy",     "memset",       "host",
                                        "graph",        "empty",      "event wait",   "event record",
                                        "extSemSignal", "extSemWait", "memory alloc", "memory free"};
    cudaGraphNode_t node = NULL;
    size_t count = 1;
    enum cudaGraphNodeType type = cudaGraphNodeTypeCount;
    if (s->wrong[0])
        return;
    cudaError_t error = s->graph ? cudaGraphGetNodes(s->graph, &node, &count) : cudaErrorInvalidValue;
    if (!error)
        error = cudaGraphNodeGetType(node, &type);
    if (error)
        case_note(s, "type of the node", "%s", cudaGetErrorName(error));
    else
        case_note(s, "type of the node", "%s", (size_t)type < sizeof names / sizeof names[0] ? names[type] : "another");
}

cudaError_t kernel(struct scene *s, cudaStream_t stream)
{
    return ck_add(s->x, 1, stream);
}

/* ---- calls by name ------------------------------------------------------------------------------------------------
 */

void case_ask_call(struct scene *s, const struct case_call *call)
{
    if (!s->wrong[0])
        answer(s, "", call->text, call->run(s));
}

void case_step_call(struct scene *s, const struct case_call *call)
{
    if (!s->wrong[0])
        step(s, "", call->text, call->run(s));
}

void case_ask_thread(struct scene *s, const struct case_call *call)
{
    if (!s->wrong[0])
        answer(s, "[thread 2] ", call->text, scene_in_thread(s, call));
}

void case_step_thread(struct scene *s, const struct case_call *call)
{
    if (!s->wrong[0])
        step(s, "[thread 2] ", call->text, scene_in_thread(s, call));
}

static void in_modes(struct scene *s, const struct case_call *setup, const struct case_call *call,
                     void (*ask)(struct scene *s, const struct case_call *call))
{
    static const char *const names[] = {"Global", "ThreadLocal", "Relaxed"};
    for (int mode = cudaStreamCaptureModeGlobal; mode <= cudaStreamCaptureModeRelaxed; mode++) {
        char begin[CASE_CALL_MAX];
        snprintf(begin, sizeof begin, "cudaStreamBeginCapture(a, cudaStreamCaptureMode%s)", names[mode]);
        if (setup)
            case_step_call(s, setup);
        if (s->wrong[0])
            return;
        step(s, "", begin, cudaStreamBeginCapture(s->a, (enum cudaStreamCaptureMode)mode));
        ask(s, call);
        END(s->a);
        case_release(s);
    }
}

void case_in_modes(struct scene *s, const struct case_call *setup, const struct case_call *call)
{
    in_modes(s, setup, call, case_ask_call);
}

void case_in_modes_thread(struct scene *s, const struct case_call *setup, const struct case_call *call)
{
    in_modes(s, setup, call, case_ask_thread);
}

/* ---- one case ---------------------------------------------------------------------------------------------------- */

static void note_afterwards(struct scene *s)
{
    const struct {
        const char *name;
        cudaStream_t stream;
    } streams[] = {
        {"a", s->a}, {"b", s->b}, {"c", s->c}, {"blocking", s->blocking}, {"per-thread", cudaStreamPerThread}};
    char text[CASE_ANSWER_MAX] = "";
    const char *last = cudaGetErrorName(cudaPeekAtLastError());
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        size_t length = strlen(text);
        if (!streams[i].stream)
            continue;
        cudaError_t error = cudaStreamIsCapturing(streams[i].stream, &status);
        if (error || status != cudaStreamCaptureStatusNone)
            snprintf(text + length, sizeof text - length, "%s%s %s", length ? ", " : "", streams[i].name,
                     error ? cudaGetErrorName(error) : status_name(status));
    }
    case_note(s, "afterwards: capturing", "%s", text[0] ? text : "none");
    case_note(s, "afterwards: last error", "%s", last);
}

void case_run(const struct case_body *body, struct scene *s)
{
    char unusable[CASE_ANSWER_MAX];
    scene_open(s);
    if (!s->wrong[0])
        body->run(s);
    if (!s->wrong[0])
        note_afterwards(s);
    scene_close(s, unusable, sizeof unusable);
    case_note(s, "afterwards: streams", "%s", unusable[0] ? unusable : "work");
}
