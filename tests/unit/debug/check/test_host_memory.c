/* Host memory that a memcpy node reads or writes in each replay. */
#include "tests/support/test.h"
#include "tests/support/tools/check_support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug/check/node_pointers.h"

enum { NODES = BG_CHECK_NODES | BG_CHECK_HOST_MEMORY };

BG_OP(upload, BG_OUT(x), BG_VALUE(const void *, host))
{
    return from_cuda(cudaMemcpyAsync(args->x.data, args->host, N * sizeof(float), cudaMemcpyHostToDevice, stream));
}

BG_OP(download, BG_IN(x), BG_VALUE(void *, host))
{
    return from_cuda(cudaMemcpyAsync(args->host, args->x.data, N * sizeof(float), cudaMemcpyDeviceToHost, stream));
}

static int upload_line;

static bg_graph *capture_upload(fixture *f, const void *host)
{
    bg_capture *capture = begin_capture(f->stream, UNLAUNCHED);
    EXPECT_OK(CALL_AT(upload_line, upload, f->stream, .x = f->x, .host = host));
    return end_capture(capture);
}

/* Its buffer is gone when it returns. */
__attribute__((noinline)) static bg_graph *capture_from_stack(fixture *f)
{
    volatile float host[N];
    for (int i = 0; i < N; i++)
        host[i] = 1;
    return capture_upload(f, (const void *)(uintptr_t)host);
}

FIXTURE_TEST(test_returned)
{
    OWN_GRAPH(graph, capture_from_stack(f));
    EXPECT_FOUND(graph, NODES, "stack-copy", "upload#0", upload_line, "each replay reads 256 bytes on ",
                 .severity = "fault");
}

/* The frame lives; so far it is only fragile. */
FIXTURE_TEST(test_stack)
{
    float host[N] = {1};
    OWN_GRAPH(graph, capture_upload(f, host));
    EXPECT_FOUND(graph, NODES, "stack-copy", "upload#0", upload_line, "on a thread's stack: ", .severity = "warning");
}

/* ---- another thread's stack ---- */

struct worker {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    const float *buffer;
    uintptr_t dead; /* the address of what is gone */
    pid_t id;
    bool done;
};

/* Deep enough that what the thread calls later does not reach it. */
__attribute__((noinline)) static void find_dead_frame(struct worker *worker)
{
    volatile char deep[1 << 14];
    deep[0] = 1;
    worker->dead = (uintptr_t)deep;
}

static void *hold_a_buffer(void *user)
{
    struct worker *worker = user;
    float host[N] = {1};
    pthread_mutex_lock(&worker->mutex);
    worker->id = gettid();
    find_dead_frame(worker);
    worker->buffer = host;
    pthread_cond_broadcast(&worker->changed);
    while (!worker->done)
        pthread_cond_wait(&worker->changed, &worker->mutex);
    pthread_mutex_unlock(&worker->mutex);
    return NULL;
}

/* While a thread runs, nobody knows its stack pointer. false: this kernel never tells. */
static bool await_wait(pid_t id)
{
    char path[64], how;
    FILE *file;
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)id);
    do {
        file = fopen(path, "re");
        if (file == NULL)
            return false;
        assert_int_equal(fread(&how, 1, 1, file), 1);
        assert_int_equal(fclose(file), 0);
    } while (how == 'r'); /* "running" */
    return true;
}

FIXTURE_TEST(test_other_stack)
{
    struct worker worker = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0, 0, false};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, hold_a_buffer, &worker), 0);
    pthread_mutex_lock(&worker.mutex);
    while (worker.buffer == NULL)
        pthread_cond_wait(&worker.changed, &worker.mutex);
    pthread_mutex_unlock(&worker.mutex);
    OWN_GRAPH(graph, capture_upload(f, worker.buffer));
    OWN_GRAPH(dead, capture_upload(f, (const void *)worker.dead));
    bool waits = await_wait(worker.id);
    EXPECT_FOUND(graph, NODES, "stack-copy", "upload#0", upload_line, "on a thread's stack: ", .severity = "warning");
    if (waits)
        EXPECT_FOUND(dead, NODES, "stack-copy", "upload#0", upload_line,
                     "in the frame of a function that has returned");
    else
        print_message("the dead frame is not looked at: this kernel has no /proc/self/task/ID/syscall\n");
    pthread_mutex_lock(&worker.mutex);
    worker.done = true;
    pthread_cond_broadcast(&worker.changed);
    pthread_mutex_unlock(&worker.mutex);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- other pageable memory ---- */

FIXTURE_TEST(test_heap)
{
    float *host = calloc(N, sizeof *host);
    assert_non_null(host);
    OWN_GRAPH(graph, capture_upload(f, host));
    EXPECT_FOUND(graph, NODES, "pageable-copy", "upload#0", upload_line, "reads 256 bytes of pageable host memory");
    free(host);
}

static float in_the_program[N];

FIXTURE_TEST(test_file)
{
    bg_capture *capture = begin_capture(f->stream, UNLAUNCHED);
    int line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(download, f->stream, .x = f->x, .host = in_the_program));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_FOUND(graph, NODES, "pageable-copy", "download#0", line, "writes 256 bytes of pageable host memory");
}

/* ---- clean twins ---- */

FIXTURE_TEST(test_pinned)
{
    void *host;
    EXPECT_CUDA(cudaMallocHost(&host, N * sizeof(float)));
    OWN_GRAPH(graph, capture_upload(f, host));
    EXPECT_CLEAN(graph, NODES);
    EXPECT_CUDA(cudaFreeHost(host));
}

FIXTURE_TEST(test_registered)
{
    enum { PAGE = 4096 };
    void *host = aligned_alloc(PAGE, PAGE);
    assert_non_null(host);
    memset(host, 0, PAGE);
    EXPECT_CUDA(cudaHostRegister(host, PAGE, cudaHostRegisterDefault));
    OWN_GRAPH(graph, capture_upload(f, host));
    EXPECT_CLEAN(graph, NODES);
    EXPECT_CUDA(cudaHostUnregister(host));
    free(host);
}

FIXTURE_TEST(test_device_copies)
{
    bg_capture *capture = begin_capture(f->stream, NULL);
    EXPECT_CUDA(cudaMemcpyAsync(f->y.data, f->x.data, 64, cudaMemcpyDefault, f->stream));
    EXPECT_CUDA(cudaMemcpy2DAsync(f->y.data, 32, f->x.data, 16, 16, 2, cudaMemcpyDeviceToDevice, f->stream));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_CLEAN(graph, NODES);
}
