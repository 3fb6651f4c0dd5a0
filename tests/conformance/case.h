/* A conformance case: a short program of CUDA calls that writes down each call and what CUDA answers. */
#ifndef CONFORMANCE_CASE_H
#define CONFORMANCE_CASE_H

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Records hold the text of calls after their macros are expanded, and clang's header writes NULL in another way than
 * gcc's, with which they were recorded. The headers above are those that define it again. */
#undef NULL
#define NULL ((void *)0)

enum { CASE_LINES_MAX = 64, CASE_CALL_MAX = 160, CASE_ANSWER_MAX = 120 };

struct case_line {
    bool asked; /* an observation; else a step, which must succeed for the case to mean anything */
    char call[CASE_CALL_MAX];
    char answer[CASE_ANSWER_MAX];
};

/* What every case starts from. What a case destroys it sets to NULL; the rest is freed after it. */
struct scene {
    cudaStream_t a, b, c;  /* non-blocking; a is where captures begin */
    cudaStream_t blocking; /* waits for the legacy stream */
    cudaStream_t stream;   /* the case's own */
    cudaEvent_t e, f;      /* without timing */
    cudaEvent_t event;     /* the case's own */
    int *x;                /* device memory, 0 */
    int *y;                /* pinned host memory, 0 */
    void *memory, *pinned; /* the case's own */
    cudaGraph_t graph;     /* what the last successful end gave */
    cudaGraph_t other;     /* the case's own */
    cudaGraphExec_t exec;
    cudaUserObject_t object;
    struct case_thread *thread; /* thread 2, once the case has used it */
    struct case_line lines[CASE_LINES_MAX];
    int count;
    char wrong[2 * CASE_CALL_MAX]; /* what made the case meaningless: a step that failed */
};

struct case_body {
    const char *name;
    void (*run)(struct scene *s);
    const char *source; /* its text: answers are recorded for exactly this */
};

/* A rule, as a sentence, and the case that shows it. */
struct case_rule {
    const struct case_body *body;
    const char *sentence;
};

struct case_topic {
    const char *title;
    const char *introduction;
    const struct case_rule *rules;
    size_t count;
    bool by_mode; /* every case is one call, by case_in_modes or case_in_modes_thread */
};
#define CASE_TOPIC(title, introduction, rules)         CASE_TOPIC_AS(title, introduction, rules, false)
#define CASE_TOPIC_BY_MODE(title, introduction, rules) CASE_TOPIC_AS(title, introduction, rules, true)
#define CASE_TOPIC_AS(title, introduction, rules, by_mode)                                                             \
    {                                                                                                                  \
        title, introduction, rules, sizeof(rules) / sizeof((rules)[0]), by_mode                                        \
    }

#define CASE(id, ...)                                                                                                  \
    static void id##_run(struct scene *s) __VA_ARGS__ static const struct case_body id = {#id, id##_run, #__VA_ARGS__}

/* Runs the body from a fresh scene into *s, adds what is true afterwards, and tidies up. */
void case_run(const struct case_body *body, struct scene *s);

/* ---- what bodies are made of ----------------------------------------------------------------------------------- */

/* A call under test: its answer is the observation. */
#define ASK(...) ASK_AS(#__VA_ARGS__, __VA_ARGS__)
#define ASK_AS(shown, ...)                                                                                             \
    do {                                                                                                               \
        if (s->wrong[0] || !case_ask(s, shown, (__VA_ARGS__)))                                                         \
            return;                                                                                                    \
    } while (0)
/* A call that must succeed. */
#define STEP(...) STEP_AS(#__VA_ARGS__, __VA_ARGS__)
#define STEP_AS(shown, ...)                                                                                            \
    do {                                                                                                               \
        if (s->wrong[0] || !case_step(s, shown, (__VA_ARGS__)))                                                        \
            return;                                                                                                    \
    } while (0)
bool case_ask(struct scene *s, const char *call, cudaError_t error);
bool case_step(struct scene *s, const char *call, cudaError_t error);
/* A call of the driver under test: its name, the version of its type (PFN_cuMemsetD8_v3020: 3020), its arguments. */
#define ASK_CU(name, version, ...)                                                                                     \
    do {                                                                                                               \
        PFN_##name##_v##version name##_##version = NULL;                                                               \
        if (s->wrong[0] || !case_driver(s, #name, version, &name##_##version) ||                                       \
            !case_ask_cu(s, #name "(" #__VA_ARGS__ ")", name##_##version(__VA_ARGS__)))                                \
            return;                                                                                                    \
    } while (0)
bool case_ask_cu(struct scene *s, const char *call, CUresult result);
/* Finds the driver's function of this name and version. function: a pointer to a pointer to it. */
bool case_driver(struct scene *s, const char *name, unsigned version, void *function);
/* An observation that is no error code. */
void case_note(struct scene *s, const char *what, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define VALUE(what, value)  case_note(s, what, "%d", (int)(value))
#define ANSWERED(what, yes) case_note(s, what, "%s", (yes) ? "yes" : "no")

#define BEGIN(stream, mode)     STEP(cudaStreamBeginCapture(stream, cudaStreamCaptureMode##mode))
#define ASK_BEGIN(stream, mode) ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureMode##mode))
#define END(stream)             case_end(s, "cudaStreamEndCapture(" #stream ", &graph)", stream)
#define STATUS(stream)          case_status(s, "cudaStreamIsCapturing(" #stream ")", stream)
#define INFO(stream)            case_info(s, "cudaStreamGetCaptureInfo(" #stream ")", stream)
/* Of the first node of the graph that the last end gave. */
#define NODE_TYPE() case_node_type(s)
/* ++*x */
#define LAUNCHED(stream)      "kernel<<<1, 1, 0, " #stream ">>>(x)"
#define LAUNCH(stream)        STEP_AS(LAUNCHED(stream), kernel(s, stream))
#define ASK_LAUNCH(stream)    ASK_AS(LAUNCHED(stream), kernel(s, stream))
#define RECORD(event, stream) STEP(cudaEventRecord(event, stream))
#define WAIT(stream, event)   STEP(cudaStreamWaitEvent(stream, event, 0))
/* Has the second stream wait for the first. */
#define ORDER(from, to)                                                                                                \
    do {                                                                                                               \
        RECORD(s->e, from);                                                                                            \
        WAIT(to, s->e);                                                                                                \
    } while (0)
void case_end(struct scene *s, const char *call, cudaStream_t stream);
void case_status(struct scene *s, const char *call, cudaStream_t stream);
void case_info(struct scene *s, const char *call, cudaStream_t stream);
void case_node_type(struct scene *s);
cudaError_t kernel(struct scene *s, cudaStream_t stream);

/* A call by name, for thread 2 or for several modes. */
struct case_call {
    cudaError_t (*run)(struct scene *s);
    const char *text;
};
#define CALL(id, ...) CALL_AS(id, #__VA_ARGS__, __VA_ARGS__)
/* Shown as another text, where the call needs local variables. */
#define CALL_AS(id, shown, ...)                                                                                        \
    static cudaError_t id##_run(struct scene *s)                                                                       \
    {                                                                                                                  \
        (void)s;                                                                                                       \
        return __VA_ARGS__;                                                                                            \
    }                                                                                                                  \
    static const struct case_call id = {id##_run, shown}
/* A call that destroys what the scene holds. */
#define CALL_ENDING(id, field, ...)                                                                                    \
    static cudaError_t id##_run(struct scene *s)                                                                       \
    {                                                                                                                  \
        cudaError_t id##_error = __VA_ARGS__;                                                                          \
        if (!id##_error)                                                                                               \
            s->field = NULL;                                                                                           \
        return id##_error;                                                                                             \
    }                                                                                                                  \
    static const struct case_call id = {id##_run, #__VA_ARGS__}
void case_ask_call(struct scene *s, const struct case_call *call);
void case_step_call(struct scene *s, const struct case_call *call);
/* The same in thread 2, which lives until the case ends; the caller waits for it. */
void case_ask_thread(struct scene *s, const struct case_call *call);
void case_step_thread(struct scene *s, const struct case_call *call);
/* Is the call allowed while stream a captures, in each of the three modes? setup is called before each capture; NULL:
 * nothing to set up. */
void case_in_modes(struct scene *s, const struct case_call *setup, const struct case_call *call);
void case_in_modes_thread(struct scene *s, const struct case_call *setup, const struct case_call *call);

/* Setups, not shown as calls: exec, an executable graph of one kernel; other, a graph of one kernel; event, recorded on
 * b and complete. */
extern const struct case_call case_make_exec, case_make_other, case_make_event;

/* Does a graph still exist? Its handle must not be asked, once it may be void: an object that only the graph holds
 * tells. One graph at a time. */
#define CASE_HOLD(graph) "cudaGraphRetainUserObject(" graph ", object, 1, cudaGraphUserObjectMove)"
cudaError_t case_hold(cudaGraph_t graph);
/* Gives CUDA, which destroys objects in a thread of its own, some time to do so. */
bool case_held_is_destroyed(void);

/* ---- unrecorded help ------------------------------------------------------------------------------------------- */

/* Instantiates s->graph, launches it on stream b, and gives *x, which was 0 before; below 0: an error. */
int case_run_graph(struct scene *s);
/* Waits for the device and gives *x. */
int case_read_x(struct scene *s);
/* Makes the case's memory: so many bytes of the device, all 0. */
cudaError_t case_make_memory(struct scene *s, size_t bytes);
/* Frees what is the case's own: stream, event, memory, pinned, graph, other, exec, object. */
void case_release(struct scene *s);

#endif
