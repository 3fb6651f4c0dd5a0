/* Timelines: what replays of a graph took, step by step, op by op and node by node. */
#include "tests/support/test.h"
#include "tests/support/tools/picture_support.h"
#include "tests/support/ops.h"

#include "capture/replay.h"
#include "debug/trace/timing.h"
#include "debug/trace/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kernels/graph_kernels.h"

enum { CPU = 11, GPU = 21, CALLS = 22, NODES = 23, SLICES_MAX = 40 };

/* Of one track, in order. */
typedef struct slices {
    const cJSON *slice[SLICES_MAX];
    int count;
} slices;

static cJSON *trace(fixture *f, bg_graph *graph)
{
    uint64_t replays = info_of(graph).replays;
    EXPECT_OK(bg_trace(graph, f->stream, test_file));
    assert_int_equal(info_of(graph).replays, replays + 2);
    assert_int_equal(count_files(test_directory), 1);
    return parse_file(test_file);
}

static double begin_of(const cJSON *slice)
{
    return number_of(slice, "ts");
}

static double end_of(const cJSON *slice)
{
    return number_of(slice, "ts") + number_of(slice, "dur");
}

static const cJSON *args_of(const cJSON *slice)
{
    return member(slice, "args");
}

static slices slices_of(const cJSON *root, int track)
{
    const cJSON *event;
    slices found = {.count = 0};
    cJSON_ArrayForEach(event, member(root, "traceEvents"))
    {
        if (strcmp(string_of(event, "ph"), "X") != 0 || number_of(event, "tid") != track)
            continue;
        assert_true(found.count < SLICES_MAX);
        assert_true(number_of(event, "pid") == (track == CPU ? 1 : 2));
        assert_true(begin_of(event) >= 0 && number_of(event, "dur") >= 0 && end_of(event) < 60e6);
        assert_int_not_equal(string_of(event, "cat")[0], '\0');
        found.slice[found.count++] = event;
    }
    return found;
}

static void expect_names(const slices *found, const char *const *names, int count)
{
    for (int i = 0; i < found->count && i < count; i++)
        assert_string_equal(string_of(found->slice[i], "name"), names[i]);
    assert_int_equal(found->count, count);
}

/* To a nanosecond, as the numbers are written. */
static void expect_in_turn(const slices *found)
{
    for (int i = 1; i < found->count; i++)
        assert_true(begin_of(found->slice[i]) >= end_of(found->slice[i - 1]) - 1e-4);
}

static const char *metadata(const cJSON *root, const char *name, int process, int track)
{
    const cJSON *event;
    cJSON_ArrayForEach(event, member(root, "traceEvents"))
    {
        if (strcmp(string_of(event, "ph"), "M") == 0 && strcmp(string_of(event, "name"), name) == 0 &&
            number_of(event, "pid") == process && (track == 0 || number_of(event, "tid") == track))
            return string_of(args_of(event), "name");
    }
    return NULL;
}

static void expect_named(const cJSON *root, const bg_graph *graph, bool nodes)
{
    struct cudaDeviceProp device;
    const cJSON *about = member(root, "otherData");
    EXPECT_CUDA(cudaGetDeviceProperties(&device, 0));
    assert_string_equal(metadata(root, "process_name", 1, 0), "host");
    assert_string_equal(metadata(root, "process_name", 2, 0), device.name);
    assert_non_null(strstr(metadata(root, "thread_name", 1, CPU), "CPU"));
    assert_non_null(strstr(metadata(root, "thread_name", 2, GPU), "GPU"));
    assert_int_equal(metadata(root, "thread_name", 2, CALLS) != NULL, nodes);
    assert_int_equal(metadata(root, "thread_name", 2, NODES) != NULL, nodes);
    assert_string_equal(string_of(about, "breakgraph"), bg_version());
    assert_string_equal(string_of(about, "graph"), info_of(graph).name);
    assert_string_equal(string_of(about, "device"), device.name);
}

/* Both tracks of steps have these, one after the other, of which the host issues each before it is over. */
static void expect_steps(const cJSON *root, const char *const *names, int count)
{
    slices cpu = slices_of(root, CPU), gpu = slices_of(root, GPU);
    expect_names(&cpu, names, count);
    expect_names(&gpu, names, count);
    expect_in_turn(&cpu);
    expect_in_turn(&gpu);
    for (int i = 0; i < count; i++)
        assert_string_equal(string_of(cpu.slice[i], "cat"), string_of(gpu.slice[i], "cat"));
}

/* Slices of op calls hold the slices of the nodes and calls that are in them, and nothing else. */
static void expect_nested(const cJSON *root)
{
    slices calls = slices_of(root, CALLS), nodes = slices_of(root, NODES);
    expect_in_turn(&nodes);
    for (int c = 0; c < calls.count; c++) {
        const char *name = string_of(calls.slice[c], "name");
        double sum = 0;
        assert_string_equal(string_of(args_of(calls.slice[c]), "call"), name);
        assert_true(number_of(args_of(calls.slice[c]), "line") > 0);
        for (int n = 0; n < nodes.count; n++) {
            bool inside = begin_of(nodes.slice[n]) >= begin_of(calls.slice[c]) - 1e-4 &&
                          end_of(nodes.slice[n]) <= end_of(calls.slice[c]) + 1e-4;
            sum += inside ? number_of(nodes.slice[n], "dur") : 0;
        }
        assert_true(fabs(sum - number_of(calls.slice[c], "dur")) < 1e-3);
    }
    for (int n = 0; n < nodes.count; n++) {
        const char *of = has_member(args_of(nodes.slice[n]), "call") ? string_of(args_of(nodes.slice[n]), "call") : "";
        for (int c = 0; c < calls.count; c++)
            if (strcmp(string_of(calls.slice[c], "name"), of) == 0)
                assert_true(begin_of(nodes.slice[n]) >= begin_of(calls.slice[c]) - 1e-4 &&
                            end_of(nodes.slice[n]) <= end_of(calls.slice[c]) + 1e-4);
    }
}

static void expect_node(const slices *nodes, int index, int segment, const char *node, const char *kind,
                        const char *call)
{
    assert_true(index < nodes->count);
    const cJSON *args = args_of(nodes->slice[index]);
    assert_true(number_of(args, "segment") == segment);
    assert_string_equal(string_of(args, "node"), node);
    assert_string_equal(string_of(args, "kind"), kind);
    assert_string_equal(has_member(args, "call") ? string_of(args, "call") : "", call);
    assert_int_equal(has_member(args, "grid"), strcmp(kind, "kernel") == 0 || strcmp(kind, "write-back") == 0);
}

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
/* An array and its length. */
#define NAMES(...) (const char *const[]){__VA_ARGS__}, COUNT(((const char *const[]){__VA_ARGS__}))

/* ---- what is in it ---- */

PICTURE_TEST(test_breaks)
{
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    OWN_JSON(root, trace(f, graph));
    slices found = slices_of(root, CALLS);
    expect_named(root, graph, true);
    expect_steps(root, NAMES("segment 0", "call move#0", "segment 1", "segment 2"));
    expect_names(&found, NAMES("scale#0", "outer#0", "outer#0/scale#0", "outer#0/scale#1", "plus#0"));
    expect_nested(root);
    assert_true(begin_of(found.slice[2]) == begin_of(found.slice[1]));
    assert_true(begin_of(found.slice[3]) >= end_of(found.slice[2]) - 1e-4);
    found = slices_of(root, NODES);
    assert_int_equal(found.count, 4);
    expect_node(&found, 0, 0, "0", "kernel", "scale#0");
    expect_node(&found, 1, 1, "0", "kernel", "outer#0/scale#0");
    expect_node(&found, 2, 1, "1", "kernel", "outer#0/scale#1");
    expect_node(&found, 3, 2, "0", "kernel", "plus#0");
    EXPECT_IN(string_of(found.slice[0], "name"), "product>(float4*");
    assert_int_equal(size_of(member(root, "otherData"), "notes"), 0);
}

PICTURE_TEST(test_write_backs)
{
    EXPECT_CUDA(cudaMalloc(&picture_elsewhere, N * sizeof(float)));
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    OWN_JSON(root, trace(f, graph));
    slices nodes = slices_of(root, NODES);
    assert_int_equal(nodes.count, 5);
    expect_node(&nodes, 1, 1, "0", "write-back", "move#0");
    expect_node(&nodes, 2, 1, "1", "kernel", "outer#0/scale#0");
    expect_nested(root);
    OWN_GRAPH(ending, capture_picture(f, ending_pass));
    OWN_JSON(ending_root, trace(f, ending));
    expect_steps(ending_root, NAMES("segment 0", "call move#0", "copy move#0"));
    EXPECT_CUDA(cudaFree(picture_elsewhere));
}

PICTURE_TEST(test_forks)
{
    OWN_GRAPH(graph, capture_picture(f, forked_pass));
    OWN_JSON(root, trace(f, graph));
    slices found = slices_of(root, CALLS);
    expect_steps(root, NAMES("segment 0"));
    expect_names(&found, NAMES("scale#0", "scale#1", "scale#2", "plus#0", "scale#3", "scale#4", "scale#5", "plus#1"));
    expect_nested(root);
    assert_int_equal(slices_of(root, NODES).count, 8);
}

PICTURE_TEST(test_kinds_of_nodes)
{
    static const char *const kinds[] = {"memset", "memcpy", "host function", "event record", "kernel", "kernel"};
    static const char *const places[] = {"0", "1", "2", "3", "4.0", "4.1"};
    OWN_GRAPH(graph, capture_picture(f, mixed_pass));
    OWN_JSON(root, trace(f, graph));
    slices nodes = slices_of(root, NODES);
    assert_int_equal(nodes.count, COUNT(kinds));
    for (int i = 0; i < COUNT(kinds); i++)
        expect_node(&nodes, i, 0, places[i], kinds[i], i < 4 ? "mixed#0" : "nested#0");
    expect_nested(root);
}

/* Segments 0 and 2 cannot be taken apart: they have a slice each, and notes say why no more. */
PICTURE_TEST(test_memory_nodes)
{
    OWN_GRAPH(graph, capture_picture(f, memory_pass));
    OWN_JSON(root, trace(f, graph));
    slices nodes = slices_of(root, NODES), calls = slices_of(root, CALLS);
    expect_steps(root, NAMES("segment 0", "segment 1", "segment 2"));
    assert_int_equal(nodes.count, 1);
    expect_node(&nodes, 0, 1, "0", "kernel", "use#0");
    assert_int_equal(calls.count, 1);
    assert_string_equal(string_of(calls.slice[0], "name"), "use#0");
    assert_int_equal(size_of(member(root, "otherData"), "notes"), 2);
    EXPECT_IN(string_at(member(root, "otherData"), "notes", 0), "memory nodes");
}

PICTURE_TEST(test_debug_modes)
{
    OWN_GRAPH(forward, capture_of(broken_pass, f, f->stream, OPTIONS(.debug = BG_DEBUG_FORWARD)));
    OWN_JSON(root, trace(f, forward));
    expect_steps(root, NAMES("forward"));
    assert_int_equal(slices_of(root, NODES).count, 0);
    OWN_GRAPH(sync, capture_of(broken_pass, f, f->stream, OPTIONS(.debug = BG_DEBUG_SYNC)));
    OWN_JSON(sync_root, trace(f, sync));
    expect_steps(sync_root,
                 NAMES("segment 0", "sync", "call move#0", "sync", "segment 1", "sync", "segment 2", "sync"));
}

PICTURE_TEST(test_wrapped)
{
    int *x = (int *)f->memory, value = 0;
    OWNED_CUDA_GRAPH(source);
    OWNED_GRAPH(graph);
    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_CUDA(gk_add(x, 5, f->stream));
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &source));
    EXPECT_OK(bg_graph_wrap(&graph, source, NULL, "a \"quoted\" \\ name\n\t\x01"));
    OWN_JSON(root, trace(f, graph));
    expect_named(root, graph, true);
    expect_steps(root, NAMES("segment 0"));
    slices nodes = slices_of(root, NODES);
    assert_int_equal(nodes.count, 1);
    expect_node(&nodes, 0, 0, "0", "kernel", "");
    assert_int_equal(slices_of(root, CALLS).count, 0);
    EXPECT_CUDA(cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost));
    assert_int_equal(value, 10); /* two replays */
}

/* ---- one replay ---- */

BG_EAGER_OP(count_up_eagerly, BG_IN(x), BG_INOUT(y))
{
    return from_cuda(bgk_add(args->y.data, args->y.data, args->x.data, N, stream));
}

/* y += 2 x */
static bg_status counting_pass(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(sum, stream, .x = f->x, .y = f->y);
    return BG_CALL(count_up_eagerly, stream, .x = f->x, .y = f->y);
}

PICTURE_TEST(test_in_a_replay)
{
    OWN_GRAPH(graph, capture_picture(f, counting_pass));
    uint64_t replays = info_of(graph).replays;
    put(&f->x, 1);
    put(&f->y, 10);
    EXPECT_OK(bg__replay_enter(graph, f->stream));
    EXPECT_OK(bg__replay_leave(graph, f->stream, bg__trace_replay(graph, f->stream, test_file)));
    assert_int_equal(info_of(graph).replays, replays + 1);
    assert_true(get(&f->y) == 12);
    OWN_JSON(root, parse_file(test_file));
    expect_named(root, graph, false);
    expect_steps(root, NAMES("segment 0", "call count_up_eagerly#0"));
    assert_int_equal(slices_of(root, CALLS).count + slices_of(root, NODES).count, 0);
    EXPECT_OK(bg_trace(graph, f->stream, test_file));
    assert_true(get(&f->y) == 16);
}

static void expect_timing(const cJSON *item, const char *what)
{
    assert_string_equal(string_of(item, "what"), what);
    assert_true(number_of(item, "cpu_us") >= 0 && number_of(item, "cpu_us") < 60e6);
    assert_true(number_of(item, "gpu_us") >= 0 && number_of(item, "gpu_us") < 60e6);
}

PICTURE_TEST(test_timings)
{
    static const char *const what[] = {"segment 0", "call move#0", "copy move#0"};
    OWN_JSON(list, cJSON_CreateArray());
    EXPECT_CUDA(cudaMalloc(&picture_elsewhere, N * sizeof(float)));
    OWN_GRAPH(graph, capture_picture(f, ending_pass));
    uint64_t replays = info_of(graph).replays;
    assert_non_null(list);
    EXPECT_OK(bg__timings_measure(graph, f->stream, NULL, list));
    assert_int_equal(info_of(graph).replays, replays + 1);
    assert_int_equal(cJSON_GetArraySize(list), COUNT(what));
    for (int i = 0; i < COUNT(what); i++)
        expect_timing(cJSON_GetArrayItem(list, i), what[i]);
    EXPECT_CUDA(cudaFree(picture_elsewhere));
}

/* Times of nodes that ran alone come to their segments. */
PICTURE_TEST(test_node_timings)
{
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    OWN_JSON(list, cJSON_CreateArray());
    bg__timing nodes = {0};
    OWNED_REPORT(report);
    assert_non_null(list);
    EXPECT_OK(bg__report_create(&report, "trace", "g"));
    EXPECT_OK(bg__timing_measure_nodes(graph, f->stream, &nodes, report));
    EXPECT_OK(bg__timings_measure(graph, f->stream, &nodes, list));
    for (int i = 0, segment = 0; i < cJSON_GetArraySize(list); i++) {
        static const int counts[] = {1, 2, 1};
        const cJSON *item = cJSON_GetArrayItem(list, i), *us,
                    *times = cJSON_GetObjectItemCaseSensitive(item, "node_us");
        if (strncmp(string_of(item, "what"), "segment", 7) != 0) {
            assert_null(times);
            continue;
        }
        assert_int_equal(cJSON_GetArraySize(times), counts[segment++]);
        cJSON_ArrayForEach(us, times)
        {
            assert_true(cJSON_IsNumber(us) && us->valuedouble >= 0 && us->valuedouble < 60e6);
        }
    }
    bg__timing_free(&nodes);
}

static void burn(void *user)
{
    double until = bg__now_ms() + 20;
    while (bg__now_ms() < until)
        ++*(volatile int *)user;
}

static int burned;

BG_OP(slow, BG_INOUT(y))
{
    TRY_BG(from_cuda(cudaLaunchHostFunc(stream, burn, &burned)));
    return from_cuda(bgk_scale(args->y.data, args->y.data, 1, N, stream));
}

BG_EAGER_OP(slow_eagerly)
{
    (void)args;
    (void)stream;
    burn(&burned);
    return BG_OK;
}

static bg_status slow_pass(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(slow, stream, .y = f->y);
    BG_CALL(slow_eagerly, stream);
    return BG_CALL(sum, stream, .x = f->x, .y = f->y);
}

/* 20 ms are spent by the device in segment 0, and by the host in the eager call. */
PICTURE_TEST(test_times)
{
    OWN_GRAPH(graph, capture_picture(f, slow_pass));
    OWN_JSON(root, trace(f, graph));
    slices cpu = slices_of(root, CPU), gpu = slices_of(root, GPU), calls = slices_of(root, CALLS),
           nodes = slices_of(root, NODES);
    assert_true(number_of(gpu.slice[0], "dur") >= 19e3);
    assert_true(number_of(cpu.slice[1], "dur") >= 19e3);
    assert_true(number_of(calls.slice[0], "dur") >= 19e3);
    assert_string_equal(string_of(args_of(nodes.slice[0]), "kind"), "host function");
    assert_true(number_of(nodes.slice[0], "dur") >= 19e3);
    assert_true(number_of(nodes.slice[1], "dur") < number_of(nodes.slice[0], "dur"));
}

static int runs; /* of the host function below: at capture, in the replay, alone */

static void burn_when_alone(void *user)
{
    if (++runs == 3)
        burn(user);
}

BG_OP(slow_when_alone)
{
    (void)args;
    return from_cuda(cudaLaunchHostFunc(stream, burn_when_alone, &burned));
}

static bg_status slow_when_alone_pass(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(slow_when_alone, stream);
    bg_break(stream);
    return BG_CALL(sum, stream, .x = f->x, .y = f->y);
}

/* Where the nodes of a segment take longer alone, those of the next one are drawn after them all the same. */
PICTURE_TEST(test_slow_when_alone)
{
    runs = 0;
    OWN_GRAPH(graph, capture_picture(f, slow_when_alone_pass));
    OWN_JSON(root, trace(f, graph));
    slices nodes = slices_of(root, NODES);
    assert_int_equal(runs, 3);
    assert_int_equal(nodes.count, 2);
    assert_true(number_of(nodes.slice[0], "dur") >= 19e3);
    assert_true(begin_of(nodes.slice[1]) >= 19e3);
    expect_nested(root);
}
