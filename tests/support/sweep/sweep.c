#include "sweep.h"

#include "debug/report/outline.h"

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
    TRY_BG(bg_scratch(args, N * sizeof(float), &args->parts[1].data));
    TRY_BG(own(bgk_scale(args->parts[1].data, args->x.data, 2, N, stream)));
    return own(bgk_scale(args->parts[0].data, args->parts[1].data, 3, N, stream));
}

BG_EAGER_OP(sweep_outer, BG_IN(x), BG_OUT(y))
{
    sweep_scale_args inner = {.x = args->x, .y = bg_tensor_1d(NULL, BG_F32, N), .factor = 3};
    TRY_BG(BG_CALL_ARGS(sweep_scale, stream, &inner));
    return BG_CALL(sweep_scale, stream, .x = inner.y, .y = args->y, .factor = 2);
}

static bg_pool *pool; /* NULL, but in scenarios with one */

BG_OP(sweep_product, BG_IN(x), BG_OUT(y))
{
    const float one = 1, zero = 0;
    TRY_BG(bg_cublas_bind(scene->cublas, stream, pool));
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
    TRY_BG(bg_stream_wait_stream(scene->other, stream));
    TRY_BG(bg_stream_wait_event(scene->other, events[0]));
    TRY_BG(own(bgk_scale(args->y.data, args->x.data, args->factor, N, scene->other)));
    return bg_event_record(events[1], scene->other);
}

/* ---- passes: x is 1 --------------------------------------------------------------------------------------------- */

#define CALL(op, ...) TRY_BG(BG_CALL(op, stream, __VA_ARGS__))

SCENE_PASS(plain_pass)
{
    CALL(sweep_scale, .x = s->x, .y = s->y, .factor = 2);
    return BG_CALL(sweep_scale, stream, .x = s->y, .y = s->z, .factor = 3);
}

SCENE_PASS(broken_pass)
{
    CALL(sweep_scale, .x = s->x, .y = s->y, .factor = 2);
    CALL(sweep_eager, .x = s->y, .y = s->z, .factor = 3);
    TRY_BG(bg_break(stream));
    CALL(sweep_scale, .x = s->z, .y = s->y, .factor = 5);
    TRY_BG(bg_break(stream));
    return BG_CALL(sweep_scale, stream, .x = s->y, .y = s->z, .factor = 1);
}

SCENE_PASS(forked_pass)
{
    TRY_BG(bg_stream_wait_stream(s->other, stream));
    TRY_BG(own(bgk_scale(s->y.data, s->x.data, 2, N, s->other)));
    CALL(sweep_eager, .x = s->x, .y = s->z, .factor = 7); /* joins at the break */
    TRY_BG(own(bgk_scale(s->elsewhere, s->y.data, 2, N, s->other)));
    TRY_BG(bg_stream_wait_stream(stream, s->other));
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
    const bg_region region = {.struct_size = sizeof region,
                              .name = name,
                              .eager = eager,
                              .body = scale_region,
                              .user = &factor,
                              .user_bytes = sizeof factor,
                              .keep = keep_factor,
                              .destroy = drop_factor,
                              .operands = operands,
                              .operand_count = 2};
    bg_status status = bg_region_call(&region, stream, BG_SITE);
    *y = operands[1].tensor;
    return status;
}

SCENE_PASS(double_z)
{
    return own(bgk_scale(s->z.data, s->z.data, 2, N, stream));
}

/* The first output gets a bridge buffer. */
SCENE_PASS(region_pass)
{
    bg_tensor between = bg_tensor_1d(NULL, BG_F32, N);
    TRY_BG(call_region("sweep_region", true, 3, s->x, &between, stream));
    TRY_BG(call_region("sweep_region_captured", false, 5, between, &s->z, stream));
    return bg_eager(stream, "sweep_function", double_z, s);
}

/* Events that cross breaks both ways, one of them used again, and one that is for after the end. */
SCENE_PASS(event_pass)
{
    cudaStream_t fork = cudaStreamPerThread;
    TRY_BG(bg_event_record(events[2], stream));
    TRY_BG(bg_stream_wait_event(fork, events[2]));
    TRY_BG(own(bgk_scale(s->elsewhere, s->x.data, 2, N, fork)));
    CALL(sweep_scale, .x = s->x, .y = s->y, .factor = 2);
    TRY_BG(bg_event_record_at(events[0], stream, by_nodes ? cudaEventRecordExternal : 0, BG_SITE));
    TRY_BG(bg_event_record(events[2], stream));
    CALL(sweep_outside, .x = s->y, .y = s->z, .factor = 3);
    TRY_BG(bg_stream_wait_event(fork, events[2]));
    TRY_BG(own(bgk_scale(s->elsewhere, s->elsewhere, 2, N, fork)));
    TRY_BG(bg_event_record(events[2], fork));
    TRY_BG(bg_stream_wait_event(stream, events[2]));
    TRY_BG(bg_stream_wait_event_at(stream, events[1], by_nodes ? cudaEventWaitExternal : 0, BG_SITE));
    TRY_BG(own(bgk_add(s->z.data, s->z.data, s->elsewhere, N, stream)));
    return bg_event_record(events[0], stream);
}

/* Looks at nothing that it is told: what it launches after a failure must not run. */
SCENE_PASS(heedless_pass)
{
    bg_status first = BG_CALL(sweep_scale, stream, .x = s->x, .y = s->y, .factor = 2);
    bg_status second = BG_CALL(sweep_eager, stream, .x = s->y, .y = s->z, .factor = 3);
    bg_status third = bg_break(stream);
    if (first != BG_OK || second != BG_OK || third != BG_OK)
        return own(bgk_fill(s->garbage, 1, N, stream));
    return BG_CALL(sweep_scale, stream, .x = s->z, .y = s->z, .factor = 1);
}

SCENE_PASS(unjoined_pass)
{
    TRY_BG(bg_stream_wait_stream(s->other, stream));
    return own(bgk_scale(s->z.data, s->x.data, 4, N, s->other));
}

/* The first output is the caller's, the second a bridge buffer of known shape, the third one that the body tells. */
SCENE_PASS(bridged_pass)
{
    sweep_eager_args known = {.x = s->y, .y = bg_tensor_1d(NULL, BG_F32, N), .factor = 3};
    sweep_eager_args open = {.factor = 5};
    CALL(sweep_eager, .x = s->x, .y = s->y, .factor = 2);
    TRY_BG(BG_CALL_ARGS(sweep_eager, stream, &known));
    CALL(sweep_scale, .x = known.y, .y = s->z, .factor = 1);
    open.x = known.y;
    TRY_BG(BG_CALL_ARGS(sweep_eager, stream, &open));
    return BG_CALL(sweep_scale, stream, .x = open.y, .y = s->z, .factor = 1);
}

SCENE_PASS(parts_pass)
{
    sweep_halves_args a = {.x = s->x, .parts = {s->y, bg_tensor_1d(NULL, BG_F32, N)}};
    TRY_BG(BG_CALL_ARGS(sweep_halves, stream, &a));
    return own(bgk_add(s->z.data, a.parts[0].data, a.parts[1].data, N, stream));
}

SCENE_PASS(nested_pass)
{
    CALL(sweep_outer, .x = s->x, .y = s->y);
    return BG_CALL(sweep_scale, stream, .x = s->y, .y = s->z, .factor = 1);
}

SCENE_PASS(product_pass)
{
    CALL(sweep_product, .x = s->x, .y = s->y);
    TRY_BG(bg_break(stream));
    return BG_CALL(sweep_product, stream, .x = s->y, .y = s->z);
}

/* z += x, so that a pass that does not count shows. */
SCENE_PASS(counting_pass)
{
    CALL(sweep_scale, .x = s->x, .y = s->y, .factor = 1);
    TRY_BG(own(bgk_add(s->z.data, s->z.data, s->y.data, N, stream)));
    TRY_BG(bg_break(stream));
    return own(bgk_add(s->z.data, s->z.data, s->y.data, N, stream));
}

static void *node_memory;

SCENE_PASS(memory_pass)
{
    node_memory = NULL;
    TRY_BG(own(cudaMallocAsync(&node_memory, N * sizeof(float), stream)));
    TRY_BG(own(bgk_scale(node_memory, s->x.data, 6, N, stream)));
    TRY_BG(bg_break(stream));
    TRY_BG(own(bgk_scale(s->z.data, node_memory, 1, N, stream)));
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
    OWNED_GRAPH(graph);
    if (!ok(bg_capture_forward(&graph, pass, scene, scene->stream, options)))
        return;
    replay(graph, scene->stream);
    replay(graph, scene->stream);
}

static void regions(void)
{
    capture_and_replay(region_pass, NULL);
    assert_int_equal(kept_factors, 0);
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
    with_events(OPTIONS(.debug = BG_DEBUG_OPS));
}

static void write_back(void)
{
    leave_elsewhere = true;
    capture_and_replay(broken_pass, NULL);
    leave_elsewhere = false;
}

static void write_back_in_replays(void)
{
    OWNED_GRAPH(graph);
    if (!ok(bg_capture_forward(&graph, broken_pass, scene, scene->stream, NULL)))
        return;
    leave_elsewhere = true;
    replay(graph, scene->stream);
    leave_elsewhere = false;
    replay(graph, scene->stream);
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

static void override(void)
{
    if (ok(bg_override_eager("sweep_scale#1,!sweep_eager")))
        capture_and_replay(broken_pass, NULL);
    ok(bg_override_eager(NULL));
}

/* Three passes count: z is 6 where the capture's does not, which runs nothing. */
static void without_launching(void)
{
    if (ok(own(bgk_fill(scene->z.data, 0, N, scene->stream))))
        capture_and_replay(counting_pass, UNLAUNCHED_OPTIONS(.state = &scene->z, .state_count = 1));
}

static void state_restored(void)
{
    bg_capture *capture = NULL;
    if (!ok(own(bgk_fill(scene->z.data, 9, N, scene->stream))))
        return;
    if (ok(bg_capture_begin(&capture, scene->stream, OPTIONS(.state = &scene->z, .state_count = 1))))
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
    OWNED_GRAPH(graph);
    bg_graph_info info = BG_GRAPH_INFO_INIT;
    if (!ok(bg_capture_begin(&capture, scene->stream, NULL)))
        return;
    /* The end returns the first error of breakgraph's, whatever the pass returns. */
    bg_status passed = forked_pass(scene, scene->stream);
    if (scene->own_failed)
        ok(passed);
    if (ok(bg_capture_end(capture, &graph)) && ok(bg_graph_get_info(graph, &info)))
        replay(graph, scene->stream);
}

static void several_streams(void)
{
    const cudaStream_t streams[] = {scene->stream, scene->other, cudaStreamPerThread, cudaStreamPerThread,
                                    scene->stream};
    OWNED_GRAPH(graph);
    if (ok(bg_capture_forward(&graph, broken_pass, scene, scene->stream, NULL)))
        for (int i = 0; i < 5; i++)
            replay(graph, streams[i]);
}

static bg_status wait_at_barrier(void *user)
{
    return own(cudaStreamSynchronize(((sweep_scene *)user)->stream));
}

static void barrier(void)
{
    bg_capture_options options = *OPTIONS(.barrier = wait_at_barrier, .barrier_user = scene);
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
    in_new_thread(plain_calls_in_thread, NULL);
}

/* In a capture that breakgraph did not begin. */
static void foreign(void)
{
    cudaGraph_t graph = NULL;
    bg_capture *capture = NULL;
    OWNED_GRAPH(result);
    if (ok(bg_capture_begin(&capture, scene->stream, OPTIONS(.foreign_inline = true))) &&
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
}

/* z = 30 x, by way of blocks of the pool. */
SCENE_PASS(pooled_pass)
{
    bg_tensor block = s->y;
    TRY_BG(bg_pool_alloc(pool, bg_tensor_bytes(&block), &block.data));
    CALL(sweep_scale, .x = s->x, .y = block, .factor = 5);
    TRY_BG(bg_stream_wait_stream(s->other, stream));
    TRY_BG(bg_stream_wait_stream(stream, s->other));
    CALL(sweep_scale, .x = block, .y = s->z, .factor = 6);
    bg_pool_release(pool, block.data);
    return BG_OK;
}

/* Two graphs in one place, on two streams; the pool outlives its owner's hold. */
static void pooled(void)
{
    OWNED_GRAPH(second);
    OWNED_GRAPH(first);
    void *kept = NULL;
    if (ok(bg_pool_create(&pool, NULL)) && ok(bg_pool_alloc(pool, (size_t)3 << 20, &kept)) &&
        ok(bg_capture_forward(&first, bridged_pass, scene, scene->stream, OPTIONS(.pool = pool))) &&
        ok(bg_capture_forward(&second, pooled_pass, scene, scene->other, OPTIONS(.pool = pool)))) {
        replay(first, scene->stream);
        replay(second, scene->other);
    }
    bg_pool_release(pool, kept);
    bg_pool_destroy(pool);
    pool = NULL;
}

static void pooled_cublas(void)
{
    if (ok(bg_pool_create(&pool, NULL)))
        capture_and_replay(product_pass, OPTIONS(.pool = pool));
    bg_workspace_release(scene->cublas);
    bg_pool_destroy(pool);
    pool = NULL;
}

static void destroy_in_flight(void)
{
    OWNED_GRAPH(second);
    OWNED_GRAPH(first);
    if (ok(bg_capture_forward(&first, bridged_pass, scene, scene->stream, NULL)) &&
        ok(bg_capture_forward(&second, forked_pass, scene, scene->stream, NULL))) {
        replay(first, scene->other);
        bg_graph_destroy(first);
        first = NULL;
        replay(second, scene->other);
    }
}

/* A clean graph, looked at by the checks; one that breakgraph did not capture, too. */
static void checks(void)
{
    OWNED_GRAPH(graph);
    OWNED_GRAPH(wrapped);
    OWNED_REPORT(report);

    if (ok(bg_capture_forward(&graph, plain_pass, scene, scene->stream, NULL)) &&
        ok(bg_check(graph, BG_CHECK_NODES | BG_CHECK_HOST_MEMORY, &report))) {
        if (bg_report_count(report) != 0)
            ok(BG_ERROR_MISMATCH);
        if (ok(bg_graph_wrap(&wrapped, bg_graph_segment(graph, 0), NULL, "wrapped")))
            replay(wrapped, scene->stream);
    }
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
    OWNED_REPORT(report);
    bg_status status = tool(plain_pass, scene, scene->stream, NULL, &report);
    scene->replay_failed |= status != BG_OK; /* it may be one of its own */
    scene->stepped |= status != BG_OK && strstr(bg_last_error(), "step ") != NULL;
    if (ok(status) && bg_report_count(report) != 0)
        ok(BG_ERROR_MISMATCH);
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
        ok(bg__outline_create(graph, &outline));
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

/* A block that an allocator told of, checks before each replay, and a report: nothing is stale. */
static void checked(void)
{
    const bg_capture_options *options = OPTIONS(.check = BG_REPLAY_CHECK_ON);
    OWNED_GRAPH(graph);
    OWNED_REPORT(report);
    bool told = ok(bg_ledger_alloc(scene->y.data, N * sizeof(float), "y"));

    if (told && ok(bg_capture_forward(&graph, broken_pass, scene, scene->stream, options))) {
        replay(graph, scene->stream);
        if (ok(bg_check(graph, BG_CHECK_ADDRESSES | BG_CHECK_OVERLAP, &report)))
            assert_int_equal(bg_report_count(report), 0);
        replay(graph, scene->stream);
    }
    if (told)
        ok(bg_ledger_free(scene->y.data));
}

#define SCENARIO(name, result)                                                                                         \
    {                                                                                                                  \
#name, result, name, NULL, NULL                                                                                \
    }

const sweep_scenario sweep_scenarios[] = {
    {"plain", 6, NULL, plain_pass, NULL},
    {"breaks", 30, NULL, broken_pass, NULL},
    SCENARIO(regions, 30),
    {"forks", 11, NULL, forked_pass, NULL},
    SCENARIO(event_crossings, 10),
    SCENARIO(external_events, 10),
    SCENARIO(events_and_debug_ops, 10),
    {"join_at_end", 4, NULL, unjoined_pass, OPTIONS(.join_at_end = true)},
    SCENARIO(write_back, 30),
    SCENARIO(write_back_in_replays, 30),
    SCENARIO(bridges, 30),
    {"several_outputs", 8, NULL, parts_pass, NULL},
    {"nested", 6, NULL, nested_pass, NULL},
    SCENARIO(override, 30),
    {"debug_forward", 30, NULL, broken_pass, OPTIONS(.debug = BG_DEBUG_FORWARD)},
    {"debug_ops", 30, NULL, broken_pass, OPTIONS(.debug = BG_DEBUG_OPS)},
    {"debug_sync", 30, NULL, broken_pass, OPTIONS(.debug = BG_DEBUG_SYNC)},
    SCENARIO(without_launching, 4),
    SCENARIO(state_restored, 9),
    SCENARIO(aborted, 6),
    SCENARIO(begin_and_end, 11),
    {"heedless", 6, NULL, heedless_pass, NULL},
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
    {"runner", 10, sweep_runner, NULL, NULL},
    {"runner_lazy", 10, sweep_runner_lazy, NULL, NULL},
    {"runner_idle", 10, sweep_runner_idle, NULL, NULL},
    {"compiled", 6, sweep_compiled, NULL, NULL},
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
    if (scenario->run != NULL)
        scenario->run();
    else
        capture_and_replay(scenario->pass, scenario->options);
}
