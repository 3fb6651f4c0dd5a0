/* A program that knows nothing of breakgraph, whose threads capture side by side, in another order in each run.
 * threads CASE. */
#include "tests/cli/attach/programs/program.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { THREADS = 8, TASKS = 24 };

static float *made_before[THREADS];
static float factor = 0.5F;
static bool other; /* the second buffer of a thread, not its first */
static atomic_int next_task;

static void *make_buffer(void)
{
    void *buffer;
    CUDA(cudaMalloc(&buffer, BYTES));
    CUDA(cudaMemset(buffer, 0, BYTES));
    return buffer;
}

/* So long that the threads come in any order. */
static void wait_some_time(void)
{
    static atomic_uint turns;
    struct timespec now, time = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    time.tv_nsec = ((now.tv_nsec >> 8) * 7919 + (long)turns++ * 104729) % 97 * 40000;
    nanosleep(&time, NULL);
}

static cudaError_t launch_scale(float **data, float *by, cudaStream_t stream)
{
    void *parameters[] = {data, by};
    return cudaLaunchKernel(scale_kernel(), (dim3){FLOATS / 128, 1, 1}, (dim3){128, 1, 1}, parameters, 0, stream);
}

/* y = (y + x) * by */
static void capture(float *y, float *x, float by)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    wait_some_time();
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CUDA(launch(&y, &x, stream));
    CUDA(launch_scale(&y, &by, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    wait_some_time();
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
}

/* Memory that the thread has made itself. */
static void *own(void *index)
{
    float *y, *x[2];
    wait_some_time();
    y = make_buffer();
    x[0] = make_buffer();
    wait_some_time();
    x[1] = make_buffer();
    capture(y, x[other], factor + (float)*(int *)index);
    return NULL;
}

/* Memory that the main thread has made, one part for each. */
static void *given(void *index)
{
    const int i = *(int *)index, of = other && i == 3 ? 4 : i;
    wait_some_time();
    capture(made_before[i], made_before[of], factor);
    return NULL;
}

/* Who does which task is chance. */
static void *tasks(void *index)
{
    int task;
    (void)index;
    while ((task = next_task++) < TASKS) {
        wait_some_time();
        capture(make_buffer(), made_before[task % THREADS], factor + (float)task);
    }
    return NULL;
}

static void run(void *(*body)(void *))
{
    pthread_t threads[THREADS];
    int indices[THREADS];

    for (int i = 0; i < THREADS; i++) {
        indices[i] = i;
        if (!(pthread_create(&threads[i], NULL, body, &indices[i]) == 0))
            abort();
    }
    for (int i = 0; i < THREADS; i++)
        if (!(pthread_join(threads[i], NULL) == 0))
            abort();
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "", *scale = getenv("SCALE"), *given_other = getenv("OTHER");

    factor = scale != NULL ? strtof(scale, NULL) : factor;
    other = given_other != NULL && *given_other == '1';
    for (int i = 0; i < THREADS; i++)
        made_before[i] = make_buffer();
    run(is_case(name, "own") ? own : is_case(name, "given") ? given : tasks);
    return 0;
}
