/* What a conformance case starts from, and how it writes down what CUDA answers. */
#ifndef CONFORMANCE_SCENE_H
#define CONFORMANCE_SCENE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

enum { SCENE_ANSWERS_MAX = 12 };

struct scene {
    cudaStream_t a, b, c;  /* non-blocking; a is where captures begin; set to NULL what the case destroys */
    cudaStream_t blocking; /* waits for the legacy stream */
    cudaEvent_t e, f;
    int *x;            /* device memory, 0 */
    cudaGraph_t graph; /* what the case's last successful end gave; destroyed after it */
    int answers[SCENE_ANSWERS_MAX];
    int count;
};

/* What a row of the table expects: error codes and capture statuses in the order in which the case notes them. */
struct conformance_case {
    const char *name;
    void (*run)(struct scene *s);
    int after; /* a cudaStreamCaptureStatus: of stream a, when the case has run */
    int nodes; /* of the graph; NO_GRAPH where there must be none */
    int count;
    int expected[SCENE_ANSWERS_MAX];
};
enum { NO_GRAPH = -1 };
#define ANSWERS(...)                                                                                                   \
    (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)),                                                                 \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* The table's words. */
enum {
    SUCCESS = cudaSuccess,
    INVALID_VALUE = cudaErrorInvalidValue,
    ILLEGAL_STATE = cudaErrorIllegalState,
    NOT_SUPPORTED = cudaErrorNotSupported,
    UNSUPPORTED = cudaErrorStreamCaptureUnsupported,
    INVALIDATED = cudaErrorStreamCaptureInvalidated,
    MERGE = cudaErrorStreamCaptureMerge,
    UNMATCHED = cudaErrorStreamCaptureUnmatched,
    UNJOINED = cudaErrorStreamCaptureUnjoined,
    ISOLATION = cudaErrorStreamCaptureIsolation,
    IMPLICIT = cudaErrorStreamCaptureImplicit,
    CAPTURED_EVENT = cudaErrorCapturedEvent,
    WRONG_THREAD = cudaErrorStreamCaptureWrongThread,
    NONE = cudaStreamCaptureStatusNone,
    ACTIVE = cudaStreamCaptureStatusActive,
    BROKEN = cudaStreamCaptureStatusInvalidated,
};
#define GLOBAL       cudaStreamCaptureModeGlobal
#define THREAD_LOCAL cudaStreamCaptureModeThreadLocal
#define RELAXED      cudaStreamCaptureModeRelaxed

/* A step that must succeed for the case to mean anything. */
#define STEP(call) scene_step((call), #call, __FILE__, __LINE__)
void scene_step(cudaError_t error, const char *call, const char *file, int line);

/* An answer that the case is about. */
void note(struct scene *s, int answer);
void note_status(struct scene *s, cudaStream_t stream);
void note_end(struct scene *s, cudaStream_t stream);

void begin(cudaStream_t stream, enum cudaStreamCaptureMode mode);
void fork_stream(struct scene *s, cudaStream_t from, cudaStream_t to); /* by s->e */
void add(struct scene *s, cudaStream_t stream);                        /* one node or launch: ++*x */
cudaGraph_t make_graph(struct scene *s, cudaStream_t stream);          /* one such node */
void note_node_type(struct scene *s);                                  /* of s->graph's one node */
/* Launches the graph on a stream, waits, and gives *x, which it sets to 0 first. */
int run_graph(struct scene *s, cudaGraph_t graph, cudaStream_t stream);
int read_x(struct scene *s);
cudaError_t in_thread(cudaError_t (*call)(void *), void *argument);

/* Runs each case from a clean state and compares; afterwards every stream that is left must capture and run again.
 * Gives the number of failed cases. */
int scene_main(const char *name, const struct conformance_case *cases, size_t count);

#endif
