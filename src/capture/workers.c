/* Threads that instantiate segments while the capture goes on: instantiating a segment takes about as long as capturing
 * it. */
#include "capture/capture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct job {
    cudaGraph_t graph; /* lives longer than the workers */
    cudaGraphExec_t exec;
    cudaError_t error;
    double ms;
} job;

struct bg__workers {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* a job was added, or no more jobs will be */
    job *jobs;              /* one for each segment; the array moves only under the mutex */
    size_t job_capacity;
    int job_count;
    int taken;
    bool closed; /* no job will come */
    _Atomic unsigned changes;
    int device;
    int thread_count;
    pthread_t threads[];
};

/* Set once in each worker: relaxed capture mode, so that captures of other threads do not forbid its calls. */
static cudaError_t prepare_thread(int device)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaError_t error = cudaSetDevice(device);
    return error != cudaSuccess ? error : cudaThreadExchangeStreamCaptureMode(&mode);
}

/* Waits actively for a while: waking a sleeping thread costs the capturing thread time, and the next segment usually
 * comes soon. The caller holds the mutex; it is released during the wait. */
static void wait_for_change(bg__workers *workers)
{
    enum { AWAKE_US = 200 };
    unsigned changes = atomic_load(&workers->changes);
    double began = bg__now_ms();

    pthread_mutex_unlock(&workers->mutex);
    while (atomic_load(&workers->changes) == changes && bg__now_ms() - began < AWAKE_US / 1e3)
        (void)sched_yield();
    pthread_mutex_lock(&workers->mutex);
    if (atomic_load(&workers->changes) == changes)
        pthread_cond_wait(&workers->changed, &workers->mutex);
}

static void *run_worker(void *user)
{
    bg__workers *workers = user;
    cudaError_t prepared = prepare_thread(workers->device);

    pthread_mutex_lock(&workers->mutex);
    for (;;) {
        job done = {.error = prepared};
        double began;
        int number;

        while (workers->taken == workers->job_count && !workers->closed)
            wait_for_change(workers);
        if (workers->taken == workers->job_count)
            break;
        number = workers->taken++;
        done.graph = workers->jobs[number].graph;
        pthread_mutex_unlock(&workers->mutex);
        began = bg__now_ms();
        if (done.error == cudaSuccess)
            done.error = bg__instantiate_graph(done.graph, &done.exec);
        done.ms = bg__now_ms() - began;
        pthread_mutex_lock(&workers->mutex);
        workers->jobs[number] = done;
    }
    pthread_mutex_unlock(&workers->mutex);
    return NULL;
}

bg_status bg__workers_start(bg__workers **result, int count, int device)
{
    bg__workers *workers = calloc(1, sizeof *workers + (size_t)count * sizeof workers->threads[0]);
    if (workers == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %d worker threads", count);
    pthread_mutex_init(&workers->mutex, NULL);
    pthread_cond_init(&workers->changed, NULL);
    workers->device = device;
    *result = workers;
    while (workers->thread_count < count) {
        int error = pthread_create(&workers->threads[workers->thread_count], NULL, run_worker, workers);
        if (error != 0)
            return bg__fail(BG_ERROR_OUT_OF_MEMORY,
                            "worker thread %d of %d could not be started (error %d); lower options.worker_threads",
                            workers->thread_count + 1, count, error);
        workers->thread_count++;
    }
    return BG_OK;
}

bg_status bg__workers_submit(bg__workers *workers, cudaGraph_t graph)
{
    bg_status status;
    pthread_mutex_lock(&workers->mutex);
    BG__TRY(BG__ARRAY_GROW(workers->jobs, workers->job_count, workers->job_capacity, "segments"));
    workers->jobs[workers->job_count++] = (job){.graph = graph};
    atomic_fetch_add(&workers->changes, 1);
    pthread_cond_signal(&workers->changed);
done:
    pthread_mutex_unlock(&workers->mutex);
    return status;
}

/* Waits until all jobs are done; discard: drops the jobs that have not begun. */
static void join_threads(bg__workers *workers, bool discard)
{
    pthread_mutex_lock(&workers->mutex);
    workers->closed = true;
    atomic_fetch_add(&workers->changes, 1);
    if (discard)
        workers->job_count = workers->taken;
    pthread_cond_broadcast(&workers->changed);
    pthread_mutex_unlock(&workers->mutex);
    for (int i = 0; i < workers->thread_count; i++)
        (void)pthread_join(workers->threads[i], NULL);
    workers->thread_count = 0;
}

bg_status bg__workers_collect(bg__workers *workers, bg_graph *graph)
{
    join_threads(workers, false);
    for (int i = 0; i < workers->job_count; i++) {
        job *j = &workers->jobs[i];
        if (j->error != cudaSuccess) {
            bg_status status = bg__fail_cuda(j->error, "cudaGraphInstantiate");
            bg__error_add_location("segment %d of %s, in a worker thread", i, graph->name);
            return status;
        }
        graph->segments[i].exec = j->exec;
        graph->instantiate_ms += j->ms;
        j->exec = NULL;
    }
    for (int i = 0; i < graph->step_count; i++)
        if (graph->steps[i].kind == BG__STEP_LAUNCH)
            graph->steps[i].of.exec = graph->segments[graph->steps[i].place].exec;
    return BG_OK;
}

void bg__workers_stop(bg__workers *workers)
{
    if (workers == NULL)
        return;
    join_threads(workers, true);
    for (int i = 0; i < workers->job_count; i++)
        if (workers->jobs[i].exec != NULL)
            BG__RELEASE(cudaGraphExecDestroy(workers->jobs[i].exec));
    pthread_cond_destroy(&workers->changed);
    pthread_mutex_destroy(&workers->mutex);
    free(workers->jobs);
    free(workers);
}
