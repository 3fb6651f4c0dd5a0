#include "sweep.h"

#include "debug/report/outline.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sweep_scene *scene; /* in which a scenario runs now */

#define own sweep_own
#define ok  sweep_ok

bg_status sweep_own(cudaError_t error)
{
    if (error != cudaSuccess)
        scene->own_failed = true;
    return from_cuda(error);
}

sweep_scene *sweep_here(void)
{
    return scene;
}

void sweep_keep(bg_status status, const char *message)
{
    if (scene->status != BG_OK)
        return;
    scene->status = status;
    snprintf(scene->message, sizeof scene->message, "%s", message);
}

bool sweep_ok(bg_status status)
{
    if (status != BG_OK)
        sweep_keep(status, bg_last_error());
    return status == BG_OK;
}

/* ---- ops -------------------------------------------------------------------------------------------------------- */

static bool leave_elsewhere;

BG_OP(sweep_scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return own(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
}

BG_EAGER_OP(sweep_eager, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    if (args->y.rank == 0)
        args->y = bg_tensor_1d(args->y.data, BG_F32, N);
    if (leave_elsewhere || args->y.data == NULL)
        args->y.data = scene->elsewhere;
    return own(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
}

BG_EAGER_OP(sweep_halves, BG_IN(x), BG_OUTS(parts, 2))
{
    void *scratch = NULL;
    bg_status status = bg_scratch(args, N * sizeof(float), &scratch);
    if (status == BG_OK)
        status = own(bgk_scale(scratch, args->x.data, 2, N, stream));
    if (status == BG_OK)
        status = own(bgk_scale(args->parts[0].data, scratch, 3, N, stream));
    args->parts[1].data = scratch;
    return status;
}

BG_EAGER_OP(sweep_outer, BG_IN(x), BG_OUT(y))
{
    sweep_scale_args inner = {.x = args->x, .y = bg_tensor_1d(NULL, BG_F32, N), .factor = 3};
    bg_status status = BG_CALL_ARGS(sweep_scale, stream, &inner);
    return status != BG_OK ? status : BG_CALL(sweep_scale, stream, .x = inner.y, .y = args->y, .factor = 2);
}

static bg_pool *pool; /* NULL, but in scenarios with one */

BG_OP(sweep_product, BG_IN(x), BG_OUT(y))
{
    const float one = 1, zero = 0;
    bg_status status = bg_cublas_bind(scene->cublas, stream, pool);
    if (status != BG_OK)
        return status;
    cublasStatus_t result = cublasSgemm(scene->cublas, CUBLAS_OP_N, CUBLAS_OP_N, N, 1, 1, &one, args->x.data, N,
                                        args->x.data, 1, &zero, args->y.data, N);
    if (result == CUBLAS_STATUS_SUCCESS)
        return BG_OK;
    scene->own_failed = true;
    return BG_ERROR_CUBLAS;
}

static cudaEvent_t events[3];
static bool by_nodes; /* those that cross a break are recorded, and waited for, by nodes */

/* Waits for a segment's event on a stream outside, and leaves its work there: events[1] tells when it is done. */
BG_EAGER_OP(sweep_outside, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    bg_status status = bg_stream_wait_stream(scene->other, stream);
    if (status == BG_OK)
        status = bg_stream_wait_event(scene->other, events[0]);
    if (status == BG_OK)
        status = own(bgk_scale(args->y.data, args->x.data, args->factor, N, scene->other));
    return status == BG_OK ? bg_event_record(events[1], scene->other) : status;
}

/* ---- passes: x is 1 --------------------------------------------------------------------------------------------- */

#define CALL(op, ...)                                                                                                  \
    do {                                                                                                               \
        bg_status status_ = BG_CALL(op, stream, __VA_ARGS__);                                                          \
        if (status_ != BG_OK)                                                                                          \
            return status_;                                                                                            \
    } while (0)
#define NEXT(expression)                                                                                               \
    do {                                                                                                               \
        bg_status status_ = (expression);                                                                              \
        if (status_ != BG_OK)                                                                                          \
            return status_;                                                                                            \
    } while (0)

static bg_status plain_pass(void *user, cudaStream_t stream)
{
    sweep_scene *s = user;
    CALL(sweep_scale, .x = s->x, .y = s->y, .factor = 2);
    CALL(sweep_scale, .x = s->y, .y = s->z, .factor = 3);
    return BG_OK;
}

static bg_status broken_pass(void *user, cudaStream_t stream)
{
    sweep_scene *s = user;
    CALL(sweep_scale, .x = s->x, .y = s->y, .factor = 2);
    CALL(sweep_eager, .x = s->y, .y = s->z, .factor = 3);
    NEXT(bg_break(stream));
    CALL(sweep_scale, .x = s->z, .y = s->y, .factor = 5);
    NEXT(bg_break(stream));
    CALL(sweep_scale, .x = s->y, .y = s->z, .factor = 1);
    return BG_OK;
}

static bg_status forked_pass(void *user, cudaStream_t stream)
{
    sweep_scene *s = user;
    NEXT(bg_stream_wait_stream(s->other, stream));
    NEXT(own(bgk_scale(s->y.data, s->x.data, 2, N, s->other)));
    CALL(sweep_eager, .x = s->x, .y = s->z, .factor = 7); /* joins at the break */
    NEXT(own(bgk_scale(s->elsewhere, s->y.data, 2, N, s->other)));
    NEXT(bg_stream_wait_stream(stream, s->other));
    return own(bgk_add(s->z.data, s->z.data, s->elsewhere, N, stream));
}

/* ---- ops without a macro ---- */

static int kept_factors; /* copies that graphs hold */

static bg_status keep_factor(void *user, void **kept)
{
    float *copy = malloc(sizeof *copy);
    if (copy == NULL)
        return BG_ERROR_OUT_OF_MEMORY;
    *copy = *(float *)user;
    *kept = copy;
    kept_factors++;
    return BG_OK;
}

static void drop_factor(void *kept)
{
    free(kept);
    kept_factors--;
}

static bg_status scale_region(void *user, bg_tensor *tensors, cudaStream_t stream)
{
    return own(bgk_scale(tensors[1].data, tensors[0].data, *(float *)user, N, stream));
}

static bg_status call_region(const char *name, bool eager, float factor, bg_tensor x, bg_tensor *y, cudaStream_t stream)
{
    bg_operand operands[] = {{BG_ROLE_IN, x}, {BG_ROLE_OUT, *y}};
    bg_region region = BG_REGION_INIT;
    bg_status status;

    region.name = name;
    region.eager = eager;
    region.body = scale_region;
    region.user = &factor;
    region.user_bytes = sizeof factor;
    region.keep = keep_factor;
    region.destroy = drop_factor;
    region.operands = operands;
    region.operand_count = 2;
    status = bg_region_call(&region, stream, BG_SITE);
    *y = operands[1].tensor;
    return status;
}

static bg_status double_z(void *user, cudaStream_t stream)
{
    sweep_scene *s = user;
    return own(bgk_scale(s->z.data, s->z.data, 2, N, stream));
}

/* The first output gets a bridge buffer. */
static bg_status region_pass(void *user, cudaStream_t stream)
{
    sweep_scene *s = user;
    bg_tensor between = bg_tensor_1d(NULL, BG_F32, N);
    NEXT(call_region("sweep_region", true, 3, s->x, &between, stream));
    NEXT(call_region("sweep_region_captured", false, 5, between, &s->z, stream));
    return bg_eager(stream, "sweep_function", double_z, s);
}

/* Events that cross breaks both ways, one of them used again, and one that is for after the end. */
static bg_status event_pass(void *user, cudaStream_t stream)
{
    sweep_scene *s = user;
    cudaStream_t fork = cudaStreamPerThread;
    NEXT(bg_event_record(events[2], stream));
    NEXT(bg_stream_wait_event(fork, events[2]));
    NEXT(own(bgk_scale(s->elsewhere, s->x.data, 2, N, fork)));
    CALL(sweep_scale, .x = s->x, .y = s->y, .factor = 2);
    NEXT(bg_event_record_at(events[0], stream, by_nodes ? cudaEventRecordExternal : 0, BG_SITE));
    NEXT(bg_event_record(events[2], stream));
    CALL(sweep_outside, .x = s->y, .y = s->z, .factor = 3);
    NEXT(bg_stream_wait_event(fork, events[2]));
    NEXT(own(bgk_scale(s->elsewhere, s->elsewhere, 2, N, fork)));
    NEXT(bg_event_record(events[2], fork));
    NEXT(bg_stream_wait_event(stream, events[2]));
    NEXT(bg_stream_wait_event_at(stream, events[1], by_nodes ? cudaEventWaitExternal : 0, BG_SITE));
    NEXT(own(bgk_add(s->z.data, s->z.data, s->elsewhere, N, stream)));
    return bg_event_record(events[0], stream);
}

/* Looks at nothing that it is told: what it launches after a failure must not run. */
static bg_status heedless_pass(void *user, cudaStream_t stream)
{
    sweep_scene *s = user;
    bg_status first = BG_CALL(sweep_scale, stream, .x = s->x, .y = s->y, .factor = 2);
    bg_status second = BG_CALL(sweep_eager, stream, .x = s->y, .y = s->z, .factor = 3);
    bg_status third = bg_break(stream);
    if (first != BG_OK || second != BG_OK || third != BG_OK)
        return own(bgk_fill(s->garbage, 1, N, stream));
    return BG_CALL(sweep_scale, stream, .x = s->z, .y = s->z, .factor = 1);
}

static bg_status unjoined_pass(void *user, cudaStream_t stream)
{
    sweep_scene *s = user;
    NEXT(bg_stream_wait_stream(s->other, stream));
    return own(bgk_scale(s->z.data, s->x.data, 4, N, s->other));
}

/* The first output is the caller's, the second a bridge buffer of known shape, the third one that the body tells. */
static bg_status bridged_pass(void *user, cudaStream_t stream)
{
    sweep_scene *s = user;
    sweep_eager_args known = {.x = s->y, .y = bg_tensor_1d(NULL, BG_F32, N), .factor = 3};
    sweep_eager_args open = {.factor = 5};
    CALL(sweep_eager, .x = s->x, .y = s->y, .factor = 2);
    NEXT(BG_CALL_ARGS(sweep_eager, stream, &known));
    CALL(sweep_scale, .x = known.y, .y = s->z, .factor = 1);
    open.x = known.y;
    NEXT(BG_CALL_ARGS(sweep_eager, stream, &open));
    CALL(sweep_scale, .x = open.y, .y = s->z, .factor = 1);
    return BG_OK;
}

static bg_status parts_pass(void *user, cudaStream_t stream)
{
    sweep_scene *s = user;
    sweep_halves_args a = {.x = s->x, .parts = {s->y, bg_tensor_1d(NULL, BG_F32, N)}};
    NEXT(BG_CALL_ARGS(sweep_halves, stream, &a));
    return own(bgk_add(s->z.data, a.parts[0].data, a.parts[1].data, N, stream));
}

static bg_status nested_pass(void *user, cudaStream_t stream)
{
    sweep_scene *s = user;
    CALL(sweep_outer, .x = s->x, .y = s->y);
    CALL(sweep_scale, .x = s->y, .y = s->z, .factor = 1);
    return BG_OK;
}

static bg_status product_pass(void *user, cudaStream_t stream)
{
    sweep_scene *s = user;
    CALL(sweep_product, .x = s->x, .y = s->y);
    NEXT(bg_break(stream));
    CALL(sweep_product, .x = s->y, .y = s->z);
    return BG_OK;
}

/* z += x, so that a pass that does not count shows. */
static bg_status counting_pass(void *user, cudaStream_t stream)
{
    sweep_scene *s = user;
    CALL(sweep_scale, .x = s->x, .y = s->y, .factor = 1);
    NEXT(own(bgk_add(s->z.data, s->z.data, s->y.data, N, stream)));
    NEXT(bg_break(stream));
    return own(bgk_add(s->z.data, s->z.data, s->y.data, N, stream));
}

static void *node_memory;

static bg_status memory_pass(void *user, cudaStream_t stream)
{
    sweep_scene *s = user;
    node_memory = NULL;
    NEXT(own(cudaMallocAsync(&node_memory, N * sizeof(float), stream)));
    NEXT(own(bgk_scale(node_memory, s->x.data, 6, N, stream)));
    NEXT(bg_break(stream));
    NEXT(own(bgk_scale(s->z.data, node_memory, 1, N, stream)));
    return own(cudaFreeAsync(node_memory, stream));
}

/* ---- scenarios -------------------------------------------------------------------------------------------------- */

/* A graph is reusable after a replay that failed. */
static void replay(bg_graph *graph, cudaStream_t stream)
{
    if (ok(bg_replay(graph, stream)))
        return;
    scene->replay_failed = true;
    if (bg_replay(graph, stream) != BG_OK) {
        scene->retry_failed = true;
        fprintf(stderr, "replay again: %s\n", bg_last_error());
    }
}

static void capture_and_replay(bg_forward pass, const bg_capture_options *options)
{
    bg_graph *graph = NULL;
    if (ok(bg_capture_forward(&graph, pass, scene, scene->stream, options))) {
        replay(graph, scene->stream);
        replay(graph, scene->stream);
    }
    bg_graph_destroy(graph);
}

static void plain(void)
{
    capture_and_replay(plain_pass, NULL);
}

static void breaks(void)
{
    capture_and_replay(broken_pass, NULL);
}

static void regions(void)
{
    capture_and_replay(region_pass, NULL);
    assert_int_equal(kept_factors, 0);
}

static void forks(void)
{
    capture_and_replay(forked_pass, NULL);
}

static void with_events(const bg_capture_options *options)
{
    bool made = true;
    for (int i = 0; i < 3; i++) {
        events[i] = NULL;
        made = made && ok(own(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming)));
    }
    if (made)
        capture_and_replay(event_pass, options);
    for (int i = 0; i < 3; i++)
        if (events[i] != NULL)
            ok(bg_event_destroy(events[i]));
}

static void event_crossings(void)
{
    with_events(NULL);
}

static void external_events(void)
{
    by_nodes = true;
    with_events(NULL);
    by_nodes = false;
}

static void events_and_debug_ops(void)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    options.debug = BG_DEBUG_OPS;
    with_events(&options);
}

static void join_at_end(void)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    options.join_at_end = true;
    capture_and_replay(unjoined_pass, &options);
}

static void write_back(void)
{
    leave_elsewhere = true;
    capture_and_replay(broken_pass, NULL);
    leave_elsewhere = false;
}

static void write_back_in_replays(void)
{
    bg_graph *graph = NULL;
    if (ok(bg_capture_forward(&graph, broken_pass, scene, scene->stream, NULL))) {
        leave_elsewhere = true;
        replay(graph, scene->stream);
        leave_elsewhere = false;
        replay(graph, scene->stream);
    }
    bg_graph_destroy(graph);
}

static void bridges(void)
{
    capture_and_replay(bridged_pass, NULL);
    if (scene->status == BG_OK) {
        leave_elsewhere = true;
        capture_and_replay(bridged_pass, NULL);
        leave_elsewhere = false;
    }
}

static void several_outputs(void)
{
    capture_and_replay(parts_pass, NULL);
}

static void nested(void)
{
    capture_and_replay(nested_pass, NULL);
}

static void override(void)
{
    if (ok(bg_override_eager("sweep_scale#1,!sweep_eager")))
        capture_and_replay(broken_pass, NULL);
    ok(bg_override_eager(NULL));
}

static void with_debug(bg_debug debug)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    options.debug = debug;
    capture_and_replay(broken_pass, &options);
}

static void debug_forward(void)
{
    with_debug(BG_DEBUG_FORWARD);
}

static void debug_ops(void)
{
    with_debug(BG_DEBUG_OPS);
}

static void debug_sync(void)
{
    with_debug(BG_DEBUG_SYNC);
}

/* Three passes count: z is 6 where the capture's does not, which runs nothing. */
static void without_launching(void)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    if (!ok(own(bgk_fill(scene->z.data, 0, N, scene->stream))))
        return;
    options.launch_segments = false;
    options.state = &scene->z;
    options.state_count = 1;
    capture_and_replay(counting_pass, &options);
}

static void state_restored(void)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_capture *capture = NULL;
    if (!ok(own(bgk_fill(scene->z.data, 9, N, scene->stream))))
        return;
    options.state = &scene->z;
    options.state_count = 1;
    if (ok(bg_capture_begin(&capture, scene->stream, &options)))
        ok(counting_pass(scene, scene->stream));
    bg_capture_abort(capture);
}

static void aborted(void)
{
    bg_capture *capture = NULL;
    if (ok(bg_capture_begin(&capture, scene->stream, NULL)))
        ok(forked_pass(scene, scene->stream));
    bg_capture_abort(capture);
    capture_and_replay(plain_pass, NULL);
}

static void begin_and_end(void)
{
    bg_capture *capture = NULL;
    bg_graph *graph = NULL;
    bg_graph_info info = BG_GRAPH_INFO_INIT;
    bg_status passed;
    if (!ok(bg_capture_begin(&capture, scene->stream, NULL)))
        return;
    passed =
        forked_pass(scene, scene->stream); /* the end returns the first error of breakgraph's, whatever it returns */
    if (scene->own_failed)
        ok(passed);
    if (ok(bg_capture_end(capture, &graph)) && ok(bg_graph_get_info(graph, &info)))
        replay(graph, scene->stream);
    bg_graph_destroy(graph);
}

static void heedless(void)
{
    capture_and_replay(heedless_pass, NULL);
}

static void several_streams(void)
{
    bg_graph *graph = NULL;
    if (ok(bg_capture_forward(&graph, broken_pass, scene, scene->stream, NULL))) {
        replay(graph, scene->stream);
        replay(graph, scene->other);
        replay(graph, cudaStreamPerThread);
        replay(graph, cudaStreamPerThread);
        replay(graph, scene->stream);
    }
    bg_graph_destroy(graph);
}

static bg_status wait_at_barrier(void *user)
{
    return own(cudaStreamSynchronize(((sweep_scene *)user)->stream));
}

static void barrier(void)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    options.barrier = wait_at_barrier;
    options.barrier_user = scene;
    options.mode = cudaStreamCaptureModeRelaxed;
    capture_and_replay(broken_pass, &options);
}

static void cublas(void)
{
    capture_and_replay(product_pass, NULL);
    bg_workspace_release(scene->cublas);
}

static void workspace(void)
{
    void *first = NULL, *again = NULL;
    if (ok(bg_workspace(scene, 1024, &first)) && ok(bg_workspace(scene, 512, &again)) && first != again)
        ok(BG_ERROR_MISMATCH);
    bg_workspace_release(scene);
    capture_and_replay(plain_pass, NULL);
}

/* Between the segment that allocates and the one that frees, the memory is the program's. */
static void memory_nodes(void)
{
    capture_and_replay(memory_pass, NULL);
    if (scene->status != BG_OK && node_memory != NULL) {
        cudaError_t pending = cudaPeekAtLastError();
        if (cudaFreeAsync(node_memory, scene->stream) != cudaSuccess && pending == cudaSuccess)
            (void)cudaGetLastError(); /* no launch has allocated it */
    }
}

/* The memory of plain calls is the thread's, and goes with it. */
static void *plain_calls_in_thread(void *user)
{
    leave_elsewhere = true;
    ok(bridged_pass(scene, scene->stream));
    leave_elsewhere = false;
    scene->left = cudaGetLastError();
    return user;
}

static void plain_calls(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, plain_calls_in_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
        fail_msg("%s", "no thread could be made");
}

/* In a capture that breakgraph did not begin. */
static void foreign(void)
{
    cudaGraph_t graph = NULL;
    bg_capture *capture = NULL;
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *result = NULL;
    options.foreign_inline = true;
    if (ok(bg_capture_begin(&capture, scene->stream, &options)) &&
        ok(own(cudaStreamBeginCapture(scene->other, cudaStreamCaptureModeThreadLocal)))) {
        ok(BG_CALL(sweep_eager, scene->other, .x = scene->x, .y = scene->y, .factor = 2));
        if (!ok(own(cudaStreamEndCapture(scene->other, &graph))))
            (void)cudaStreamEndCapture(scene->other, &graph);
        if (graph != NULL && !ok(own(cudaGraphDestroy(graph))))
            (void)cudaGraphDestroy(graph);
    }
    if (capture != NULL && scene->status == BG_OK)
        ok(plain_pass(scene, scene->stream));
    if (capture != NULL && ok(bg_capture_end(capture, &result)))
        replay(result, scene->stream);
    bg_graph_destroy(result);
}

/* z = 30 x, by way of blocks of the pool. */
static bg_status pooled_pass(void *user, cudaStream_t stream)
{
    const sweep_scene *s = user;
    bg_tensor block = s->y;
    NEXT(bg_pool_alloc(pool, bg_tensor_bytes(&block), &block.data));
    CALL(sweep_scale, .x = s->x, .y = block, .factor = 5);
    NEXT(bg_stream_wait_stream(s->other, stream));
    NEXT(bg_stream_wait_stream(stream, s->other));
    CALL(sweep_scale, .x = block, .y = s->z, .factor = 6);
    bg_pool_release(pool, block.data);
    return BG_OK;
}

/* Two graphs in one place, on two streams; the pool outlives its owner's hold. */
static void pooled(void)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *first = NULL, *second = NULL;
    void *kept = NULL;
    if (ok(bg_pool_create(&pool, NULL)) && ok(bg_pool_alloc(pool, (size_t)3 << 20, &kept))) {
        options.pool = pool;
        if (ok(bg_capture_forward(&first, bridged_pass, scene, scene->stream, &options)) &&
            ok(bg_capture_forward(&second, pooled_pass, scene, scene->other, &options))) {
            replay(first, scene->stream);
            replay(second, scene->other);
        }
    }
    bg_pool_release(pool, kept);
    bg_pool_destroy(pool);
    bg_graph_destroy(first);
    bg_graph_destroy(second);
    pool = NULL;
}

static void pooled_cublas(void)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    if (ok(bg_pool_create(&pool, NULL))) {
        options.pool = pool;
        capture_and_replay(product_pass, &options);
    }
    bg_workspace_release(scene->cublas);
    bg_pool_destroy(pool);
    pool = NULL;
}

static void destroy_in_flight(void)
{
    bg_graph *first = NULL, *second = NULL;
    if (ok(bg_capture_forward(&first, bridged_pass, scene, scene->stream, NULL)) &&
        ok(bg_capture_forward(&second, forked_pass, scene, scene->stream, NULL))) {
        replay(first, scene->other);
        bg_graph_destroy(first);
        first = NULL;
        replay(second, scene->other);
    }
    bg_graph_destroy(first);
    bg_graph_destroy(second);
}

/* A clean graph, looked at by the checks; one that breakgraph did not capture, too. */
static void checks(void)
{
    bg_report *report = NULL;
    bg_graph *graph = NULL, *wrapped = NULL;

    if (ok(bg_capture_forward(&graph, plain_pass, scene, scene->stream, NULL)) &&
        ok(bg_check(graph, BG_CHECK_NODES | BG_CHECK_HOST_MEMORY, &report))) {
        if (bg_report_count(report) != 0)
            ok(BG_ERROR_MISMATCH);
        if (ok(bg_graph_wrap(&wrapped, bg_graph_segment(graph, 0), NULL, "wrapped")))
            replay(wrapped, scene->stream);
    }
    bg_report_destroy(report);
    bg_graph_destroy(wrapped);
    bg_graph_destroy(graph);
}

static void twice(void)
{
    bg_report *report = NULL;
    if (ok(bg_check_recapture(plain_pass, scene, NULL, scene->stream, &report)) && bg_report_count(report) != 0)
        ok(BG_ERROR_MISMATCH);
    bg_report_destroy(report);
    capture_and_replay(plain_pass, NULL);
}

typedef bg_status (*comparing)(bg_forward forward, void *user, cudaStream_t stream, const bg_compare_options *options,
                               bg_report **report);

static void compare(comparing tool)
{
    bg_report *report = NULL;
    bg_status status = tool(plain_pass, scene, scene->stream, NULL, &report);
    scene->replay_failed |= status != BG_OK; /* it may be one of its own */
    scene->stepped |= status != BG_OK && strstr(bg_last_error(), "step ") != NULL;
    if (ok(status) && bg_report_count(report) != 0)
        ok(BG_ERROR_MISMATCH);
    bg_report_destroy(report);
}

static void comparisons(void)
{
    compare(bg_shadow);
    compare(bg_bisect);
    capture_and_replay(plain_pass, NULL);
}

/* A file of this process's; none is left. */
static void pictures(void)
{
    char path[64];
    bg_graph *graph = NULL;
    cJSON *outline = NULL;

    snprintf(path, sizeof path, "/tmp/breakgraph-sweep.%ld", (long)getpid());
    leave_elsewhere = true;
    if (ok(bg_capture_forward(&graph, broken_pass, scene, scene->stream, NULL))) {
        ok(bg__outline(graph, &outline));
        ok(bg_graph_write_dot(graph, 1, path));
        if (!ok(bg_trace(graph, scene->stream, path))) {
            scene->replay_failed |= strncmp(bg_last_error(), "replay, ", 8) == 0;
            scene->stepped |= strncmp(bg_last_error(), "step ", 5) == 0;
            if (bg_trace(graph, scene->stream, path) != BG_OK) {
                scene->retry_failed = true;
                fprintf(stderr, "trace again: %s\n", bg_last_error());
            }
        }
    }
    leave_elsewhere = false;
    bg_graph_destroy(graph);
    cJSON_Delete(outline);
    (void)remove(path);
}

#define SCENARIO(name, result)                                                                                         \
    {                                                                                                                  \
#name, name, result                                                                                            \
    }
/* A block that an allocator told of, checks before each replay, and a report: nothing is stale. */
static void checked(void)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *graph = NULL;
    bg_report *report = NULL;
    bool told = ok(bg_ledger_alloc(scene->y.data, N * sizeof(float), "y"));

    options.check = BG_REPLAY_CHECK_ON;
    if (told && ok(bg_capture_forward(&graph, broken_pass, scene, scene->stream, &options))) {
        replay(graph, scene->stream);
        if (ok(bg_check(graph, BG_CHECK_ADDRESSES | BG_CHECK_OVERLAP, &report)))
            assert_int_equal(bg_report_count(report), 0);
        replay(graph, scene->stream);
    }
    if (told)
        ok(bg_ledger_free(scene->y.data));
    bg_report_destroy(report);
    bg_graph_destroy(graph);
}

const sweep_scenario sweep_scenarios[] = {
    SCENARIO(plain, 6),
    SCENARIO(breaks, 30),
    SCENARIO(regions, 30),
    SCENARIO(forks, 11),
    SCENARIO(event_crossings, 10),
    SCENARIO(external_events, 10),
    SCENARIO(events_and_debug_ops, 10),
    SCENARIO(join_at_end, 4),
    SCENARIO(write_back, 30),
    SCENARIO(write_back_in_replays, 30),
    SCENARIO(bridges, 30),
    SCENARIO(several_outputs, 8),
    SCENARIO(nested, 6),
    SCENARIO(override, 30),
    SCENARIO(debug_forward, 30),
    SCENARIO(debug_ops, 30),
    SCENARIO(debug_sync, 30),
    SCENARIO(without_launching, 4),
    SCENARIO(state_restored, 9),
    SCENARIO(aborted, 6),
    SCENARIO(begin_and_end, 11),
    SCENARIO(heedless, 6),
    SCENARIO(several_streams, 30),
    SCENARIO(barrier, 30),
    SCENARIO(cublas, 1),
    SCENARIO(workspace, 6),
    SCENARIO(memory_nodes, 6),
    SCENARIO(plain_calls, 30),
    SCENARIO(foreign, 6),
    SCENARIO(destroy_in_flight, 11),
    SCENARIO(pooled, 30),
    SCENARIO(pooled_cublas, 1),
    {"runner", sweep_runner, 10},
    {"runner_lazy", sweep_runner_lazy, 10},
    {"runner_idle", sweep_runner_idle, 10},
    {"compiled", sweep_compiled, 6},
    SCENARIO(checks, 6),
    SCENARIO(twice, 6),
    SCENARIO(checked, 30),
    SCENARIO(comparisons, 6),
    SCENARIO(pictures, 30),
};
const int sweep_scenario_count = sizeof sweep_scenarios / sizeof *sweep_scenarios;

void sweep_run(const sweep_scenario *scenario, sweep_scene *where)
{
    scene = where;
    scene->status = BG_OK;
    scene->left = cudaSuccess;
    scene->message[0] = '\0';
    scene->own_failed = scene->replay_failed = scene->retry_failed = scene->recovered = scene->stepped = false;
    leave_elsewhere = false;
    scenario->run();
}
