/* Host memory that a memcpy node reads or writes in each replay. */
#include "tests/support/test.h"
#include "tests/support/tools/finding_support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug/check/node_pointers.h"

static bg_report *check(bg_graph *graph)
{
    bg_report *report = NULL;
    EXPECT_OK(bg_check(graph, BG_CHECK_NODES | BG_CHECK_HOST_MEMORY, &report));
    return report;
}

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
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_capture *capture = NULL;
    bg_graph *graph = NULL;

    options.launch_segments = false;
    EXPECT_OK(bg_capture_begin(&capture, f->stream, &options));
    EXPECT_OK(CALL_AT(upload_line, upload, f->stream, .x = f->x, .host = host));
    EXPECT_OK(bg_capture_end(capture, &graph));
    return graph;
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
    bg_finding finding = BG_FINDING_INIT;
    bg_report *report = check(graph);
    assert_int_equal(bg_report_count(report), 1);
    EXPECT_OK(bg_report_get(report, 0, &finding));
    assert_int_equal(finding.severity, BG_FAULT);
    EXPECT_FINDING(report, "stack-copy", "upload#0", upload_line, "each replay reads 256 bytes on ");
}

/* The frame lives; so far it is only fragile. */
FIXTURE_TEST(test_stack)
{
    float host[N] = {1};
    OWN_GRAPH(graph, capture_upload(f, host));
    bg_finding finding = BG_FINDING_INIT;
    bg_report *report = check(graph);
    assert_int_equal(bg_report_count(report), 1);
    EXPECT_OK(bg_report_get(report, 0, &finding));
    assert_int_equal(finding.severity, BG_WARNING);
    EXPECT_FINDING(report, "stack-copy", "upload#0", upload_line, "on a thread's stack: ");
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
    bg_finding finding = BG_FINDING_INIT;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, hold_a_buffer, &worker), 0);
    pthread_mutex_lock(&worker.mutex);
    while (worker.buffer == NULL)
        pthread_cond_wait(&worker.changed, &worker.mutex);
    pthread_mutex_unlock(&worker.mutex);
    OWN_GRAPH(graph, capture_upload(f, worker.buffer));
    bg_graph *dead = capture_upload(f, (const void *)worker.dead);
    bool waits = await_wait(worker.id);
    bg_report *report = check(graph);
    EXPECT_OK(bg_report_get(report, 0, &finding));
    assert_int_equal(finding.severity, BG_WARNING);
    EXPECT_FINDING(report, "stack-copy", "upload#0", upload_line, "on a thread's stack: ");
    if (waits)
        EXPECT_FINDING(check(dead), "stack-copy", "upload#0", upload_line,
                       "in the frame of a function that has returned");
    else
        print_message("the dead frame is not looked at: this kernel has no /proc/self/task/ID/syscall\n");
    bg_graph_destroy(dead);
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
    EXPECT_FINDING(check(graph), "pageable-copy", "upload#0", upload_line, "reads 256 bytes of pageable host memory");
    free(host);
}

static float in_the_program[N];

FIXTURE_TEST(test_file)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_capture *capture = NULL;
    OWNED_GRAPH(graph);

    options.launch_segments = false;
    EXPECT_OK(bg_capture_begin(&capture, f->stream, &options));
    EXPECT_OK(BG_CALL(download, f->stream, .x = f->x, .host = in_the_program));
    EXPECT_OK(bg_capture_end(capture, &graph));
    EXPECT_FINDING(check(graph), "pageable-copy", "download#0", __LINE__ - 2,
                   "writes 256 bytes of pageable host memory");
}

/* ---- clean twins ---- */

FIXTURE_TEST(test_pinned)
{
    void *host;
    EXPECT_CUDA(cudaMallocHost(&host, N * sizeof(float)));
    OWN_GRAPH(graph, capture_upload(f, host));
    EXPECT_NO_FINDING(check(graph));
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
    EXPECT_NO_FINDING(check(graph));
    EXPECT_CUDA(cudaHostUnregister(host));
    free(host);
}

FIXTURE_TEST(test_device_copies)
{
    bg_capture *capture = NULL;
    OWNED_GRAPH(graph);
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_CUDA(cudaMemcpyAsync(f->y.data, f->x.data, 64, cudaMemcpyDefault, f->stream));
    EXPECT_CUDA(cudaMemcpy2DAsync(f->y.data, 32, f->x.data, 16, 16, 2, cudaMemcpyDeviceToDevice, f->stream));
    EXPECT_OK(bg_capture_end(capture, &graph));
    EXPECT_NO_FINDING(check(graph));
}
