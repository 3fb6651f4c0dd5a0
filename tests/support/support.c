#include "support.h"

#include <hostcuda/hostcuda.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* There on the host device only. */
#pragma weak hostcuda_fail
#pragma weak hostcuda_faults

void expect_status(bg_status found, bg_status expected, const char *expression, const char *file, int line)
{
    if (found == expected)
        return;
    print_error("%s is %s, expected %s; bg_last_error(): \"%s\"\n", expression, bg_status_name(found),
                bg_status_name(expected), bg_last_error());
    _fail(file, line);
}

void expect_cuda(cudaError_t found, const char *expression, const char *file, int line)
{
    if (found == cudaSuccess)
        return;
    print_error("%s is %s: %s\n", expression, cudaGetErrorName(found), cudaGetErrorString(found));
    _fail(file, line);
}

void expect_error(const char *text, const char *file, int line)
{
    if (strstr(bg_last_error(), text) != NULL)
        return;
    print_error("bg_last_error() is \"%s\", expected in it: \"%s\"\n", bg_last_error(), text);
    _fail(file, line);
}

bg_status from_cuda(cudaError_t error)
{
    return error == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

int fixture_setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    if (f == NULL)
        return 1;
    *state = f;
    EXPECT_CUDA(cudaStreamCreateWithFlags(&f->stream, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaStreamCreateWithFlags(&f->other, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaMalloc((void **)&f->memory, 3 * N * sizeof(float)));
    EXPECT_CUDA(cudaMemset(f->memory, 0, 3 * N * sizeof(float)));
    EXPECT_CUDA(cudaDeviceSynchronize());
    f->x = bg_tensor_1d(f->memory, BG_F32, N);
    f->y = bg_tensor_1d(f->memory + N, BG_F32, N);
    f->z = bg_tensor_1d(f->memory + 2 * N, BG_F32, N);
    return 0;
}

int fixture_teardown(void **state)
{
    fixture *f = *state;
    unsetenv("BG_DEBUG");
    unsetenv("BG_BREAKABLE");
    unsetenv("BG_EAGER_OPS");
    unsetenv("BG_FOREIGN_INLINE");
    unsetenv("BG_NVTX");
    unsetenv("BG_CHECK");
    EXPECT_OK(bg_override_eager(NULL));
    expect_usable(f, f->stream);
    expect_usable(f, f->other);
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaGetLastError()); /* none is left behind */
    EXPECT_CUDA(cudaStreamDestroy(f->stream));
    EXPECT_CUDA(cudaStreamDestroy(f->other));
    EXPECT_CUDA(cudaFree(f->memory));
    assert_int_equal(bg_current_phase(), BG_PHASE_PLAIN);
    free(f);
    return 0;
}

void put(const bg_tensor *tensor, float value)
{
    float host[N];
    for (int i = 0; i < N; i++)
        host[i] = value;
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemcpy(tensor->data, host, sizeof host, cudaMemcpyHostToDevice));
    EXPECT_CUDA(cudaDeviceSynchronize());
}

float get(const bg_tensor *tensor)
{
    float host[N];
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemcpy(host, tensor->data, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 1; i < N; i++) {
        if (host[i] != host[0])
            fail_msg("element %d is %g, element 0 %g", i, host[i], host[0]);
    }
    return host[0];
}

void expect_usable(fixture *f, cudaStream_t stream)
{
    enum cudaStreamCaptureStatus capturing;
    EXPECT_CUDA(cudaStreamIsCapturing(stream, &capturing));
    assert_int_equal(capturing, cudaStreamCaptureStatusNone);
    EXPECT_CUDA(bgk_fill(f->z.data, 77, N, stream));
    assert_true(get(&f->z) == 77);
}

bg_graph_info info_of(const bg_graph *graph)
{
    bg_graph_info info = BG_GRAPH_INFO_INIT;
    EXPECT_OK(bg_graph_get_info(graph, &info));
    return info;
}

bg_call_info call_info_of(const bg_graph *graph, int index)
{
    bg_call_info info = BG_CALL_INFO_INIT;
    EXPECT_OK(bg_graph_get_call(graph, index, &info));
    return info;
}

void destroy_owned_graph(bg_graph **graph)
{
    bg_graph_destroy(*graph);
}

void destroy_owned_report(bg_report **report)
{
    bg_report_destroy(*report);
}

void destroy_owned_runner(bg_runner **runner)
{
    bg_runner_destroy(*runner);
}

void destroy_owned_pool(bg_pool **pool)
{
    bg_pool_destroy(*pool);
}
static void expect_errors(va_list texts, const char *file, int line)
{
    for (const char *text; (text = va_arg(texts, const char *)) != NULL;)
        expect_error(text, file, line);
}

void expect_fails_at(bg_status found, bg_status expected, const char *expression, const char *file, int line, ...)
{
    va_list texts;
    expect_status(found, expected, expression, file, line);
    va_start(texts, line);
    expect_errors(texts, file, line);
    va_end(texts);
}

void expect_no_capture_at(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options,
                          const char *file, int line, bg_status status, ...)
{
    va_list texts;
    bg_graph *graph = (bg_graph *)&texts; /* it shall become NULL */
    expect_status(bg_capture_forward(&graph, forward, user, stream, options), status, "bg_capture_forward", file, line);
    _assert_true(graph == NULL, "no graph", file, line);
    va_start(texts, status);
    expect_errors(texts, file, line);
    va_end(texts);
}

void expect_value_at(const bg_tensor *tensor, float value, const char *what, const char *file, int line)
{
    float found = get(tensor);
    if (found == value)
        return;
    print_error("%s is %.9g, expected %.9g\n", what, (double)found, (double)value);
    _fail(file, line);
}

void expect_replay_at(bg_graph *graph, cudaStream_t stream, const bg_tensor *x, float from, const bg_tensor *y,
                      float to, const char *what, const char *file, int line)
{
    put(x, from);
    expect_status(bg_replay(graph, stream), BG_OK, "bg_replay", file, line);
    expect_value_at(y, to, what, file, line);
}

void expect_replays_at(bg_graph *graph, cudaStream_t stream, const bg_tensor *x, const bg_tensor *y, float factor,
                       const char *what, const char *file, int line)
{
    for (int i = 2; i < 5; i++)
        expect_replay_at(graph, stream, x, (float)i, y, factor * (float)i, what, file, line);
}

static void expect_count(int found, int expected, const char *what, const char *file, int line)
{
    if (found == expected || expected == -1)
        return;
    print_error("the graph has %d %s, expected %d\n", found, what, expected);
    _fail(file, line);
}

void expect_counts_at(const bg_graph *graph, int segments, int breaks, int steps, const char *file, int line)
{
    bg_graph_info info = info_of(graph);
    expect_count(info.segments, segments, "segments", file, line);
    expect_count(info.breaks, breaks, "breaks", file, line);
    expect_count(info.steps, steps, "steps", file, line);
}

bg_graph *captured_graph(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options,
                         const char *file, int line)
{
    bg_graph *graph = NULL;
    expect_status(bg_capture_forward(&graph, forward, user, stream, options), BG_OK, "bg_capture_forward", file, line);
    return graph;
}

void set_variable(const char *name, const char *value)
{
    assert_int_equal(value != NULL ? setenv(name, value, 1) : unsetenv(name), 0);
}

void begin_fault(const char *request)
{
    assert_int_equal(hostcuda_fail(request), 0);
}

void end_fault(void)
{
    assert_int_equal(hostcuda_faults(), 1);
    assert_int_equal(hostcuda_fail(NULL), 0);
}

void in_new_thread(void *(*run)(void *), void *user)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, user), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}
