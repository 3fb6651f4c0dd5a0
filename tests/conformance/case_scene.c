#include "case_scene.h"

#include "conformance_kernels.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void scene_must(struct scene *s, const char *call, cudaError_t error)
{
    if (error && !s->wrong[0])
        snprintf(s->wrong, sizeof s->wrong, "around the case, %s gives %s", call, cudaGetErrorName(error));
}
#define MUST(call) scene_must(s, #call, (call))

/* ---- thread 2 ------------------------------------------------------------------------------------------------- */

struct case_thread {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct scene *scene;
    const struct case_call *call; /* to be made; NULL: none */
    bool over;
    cudaError_t answer;
};

static void *thread_main(void *data)
{
    struct case_thread *t = data;
    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (!t->call && !t->over)
            pthread_cond_wait(&t->changed, &t->lock);
        if (t->over)
            break;
        t->answer = t->call->run(t->scene);
        t->call = NULL;
        pthread_cond_broadcast(&t->changed);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static struct case_thread *thread_start(struct scene *s)
{
    struct case_thread *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->scene = s;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    if (pthread_create(&t->thread, NULL, thread_main, t) == 0)
        return t;
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t);
    return NULL;
}

static void thread_stop(struct case_thread *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->over = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

cudaError_t scene_in_thread(struct scene *s, const struct case_call *call)
{
    if (!s->thread)
        s->thread = thread_start(s);
    struct case_thread *t = s->thread;
    if (!t) {
        snprintf(s->wrong, sizeof s->wrong, "no second thread could be started");
        return cudaErrorUnknown;
    }
    pthread_mutex_lock(&t->lock);
    t->call = call;
    pthread_cond_broadcast(&t->changed);
    while (t->call)
        pthread_cond_wait(&t->changed, &t->lock);
    cudaError_t answer = t->answer;
    pthread_mutex_unlock(&t->lock);
    return answer;
}

/* ---- open ------------------------------------------------------------------------------------------------------ */

void scene_open(struct scene *s)
{
    memset(s, 0, sizeof *s);
    MUST(cudaDeviceSynchronize());
    MUST(cudaStreamCreateWithFlags(&s->a, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&s->b, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&s->c, cudaStreamNonBlocking));
    MUST(cudaStreamCreate(&s->blocking));
    MUST(cudaEventCreateWithFlags(&s->e, cudaEventDisableTiming));
    MUST(cudaEventCreateWithFlags(&s->f, cudaEventDisableTiming));
    MUST(cudaMalloc((void **)&s->x, sizeof *s->x));
    MUST(cudaMallocHost((void **)&s->y, sizeof *s->y));
    MUST(cudaMemset(s->x, 0, sizeof *s->x));
    MUST(cudaDeviceSynchronize());
    *s->y = 0;
    cudaGetLastError();
}

/* ---- help -------------------------------------------------------------------------------------------------------- */

int case_read_x(struct scene *s)
{
    int value = 0;
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemcpy(&value, s->x, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

int case_run_graph(struct scene *s)
{
    cudaGraphExec_t exec = NULL;
    MUST(cudaMemset(s->x, 0, sizeof *s->x));
    MUST(cudaDeviceSynchronize());
    MUST(cudaGraphInstantiate(&exec, s->graph, 0));
    if (s->wrong[0])
        return -1;
    MUST(cudaGraphLaunch(exec, s->b));
    MUST(cudaStreamSynchronize(s->b));
    MUST(cudaGraphExecDestroy(exec));
    return case_read_x(s);
}

/* What is left may be what a call under test refused to destroy, or half destroyed: errors are no matter. */
void case_release(struct scene *s)
{
    cudaError_t last = cudaPeekAtLastError();
    if (s->stream)
        cudaStreamDestroy(s->stream);
    if (s->event)
        cudaEventDestroy(s->event);
    if (s->memory)
        cudaFree(s->memory);
    if (s->pinned)
        cudaFreeHost(s->pinned);
    if (s->exec)
        cudaGraphExecDestroy(s->exec);
    if (s->graph)
        cudaGraphDestroy(s->graph);
    if (s->other)
        cudaGraphDestroy(s->other);
    if (s->object)
        cudaUserObjectRelease(s->object, 1);
    s->stream = NULL, s->event = NULL, s->memory = s->pinned = NULL, s->exec = NULL;
    s->graph = s->other = NULL, s->object = NULL;
    if (!last)
        cudaGetLastError();
}

/* ---- close ------------------------------------------------------------------------------------------------------- */

/* The graph may be one that the case holds, and that a capture was begun into. */
static void end_if_capturing(const struct scene *s, cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (!stream || cudaStreamIsCapturing(stream, &status) != cudaSuccess || status == cudaStreamCaptureStatusNone)
        return;
    if (cudaStreamEndCapture(stream, &graph) == cudaSuccess && graph != s->graph && graph != s->other)
        cudaGraphDestroy(graph);
}

/* Whatever the case did, a stream can capture at once, run what it captured, and run plain work. */
static cudaError_t use(struct scene *s, cudaStream_t stream, const char **call)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    int value = 0;
    cudaError_t error;
    /* what the case left on streams that wait for nothing may add to x still */
    if (!(error = (*call = "cudaDeviceSynchronize", cudaDeviceSynchronize())) &&
        !(error = (*call = "cudaMemset", cudaMemset(s->x, 0, sizeof *s->x))) &&
        !(error = (*call = "cudaDeviceSynchronize", cudaDeviceSynchronize())) &&
        !(error = (*call = "begin", cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal))) &&
        !(error = (*call = "captured launch", ck_add(s->x, 5, stream))) &&
        !(error = (*call = "end", cudaStreamEndCapture(stream, &graph))) &&
        !(error = (*call = "instantiate", cudaGraphInstantiate(&exec, graph, 0))) &&
        !(error = (*call = "graph launch", cudaGraphLaunch(exec, stream))) &&
        !(error = (*call = "plain launch", ck_add(s->x, 2, stream))) &&
        !(error = (*call = "cudaStreamSynchronize", cudaStreamSynchronize(stream))))
        error = (*call = "cudaMemcpy", cudaMemcpy(&value, s->x, sizeof value, cudaMemcpyDeviceToHost));
    if (!error && value != 7)
        error = (*call = "wrong result", cudaErrorUnknown);
    if (exec)
        MUST(cudaGraphExecDestroy(exec));
    if (graph)
        MUST(cudaGraphDestroy(graph));
    return error;
}

static void check_usable(struct scene *s, const char *name, cudaStream_t stream, char *unusable, size_t room)
{
    const char *call = "";
    if (!stream || unusable[0] || s->wrong[0])
        return;
    cudaError_t error = use(s, stream, &call);
    if (error)
        snprintf(unusable, room, "%s does not work: %s gives %s", name, call, cudaGetErrorName(error));
}

void scene_close(struct scene *s, char *unusable, size_t room)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    cudaStream_t streams[] = {s->a, s->b, s->c, s->blocking, s->stream, cudaStreamPerThread};
    unusable[0] = 0;
    MUST(cudaThreadExchangeStreamCaptureMode(&mode));
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++)
        end_if_capturing(s, streams[i]);
    thread_stop(s->thread);
    case_release(s);
    cudaGetLastError(); /* what the case provoked */
    check_usable(s, "a", s->a, unusable, room);
    check_usable(s, "b", s->b, unusable, room);
    check_usable(s, "c", s->c, unusable, room);
    check_usable(s, "blocking", s->blocking, unusable, room);
    for (size_t i = 0; i < 4; i++)
        if (streams[i])
            MUST(cudaStreamDestroy(streams[i]));
    MUST(cudaEventDestroy(s->e));
    MUST(cudaEventDestroy(s->f));
    MUST(cudaFree(s->x));
    MUST(cudaFreeHost(s->y));
    MUST(cudaGetLastError());
}
