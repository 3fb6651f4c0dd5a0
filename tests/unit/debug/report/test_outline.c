/* Outlines: the steps, calls and nodes of a graph, as reports tell them. */
#include "tests/support/test.h"
#include "tests/support/tools/picture_support.h"

#include "debug/report/outline.h"
#include "debug/report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kernels/graph_kernels.h"

static cJSON *outline_of(const bg_graph *graph)
{
    cJSON *outline = NULL;
    EXPECT_OK(bg__outline_create(graph, &outline));
    assert_non_null(outline);
    return outline;
}

/* "launch 0, call move#0, ..." */
static void expect_steps(const cJSON *outline, const char *expected)
{
    char text[400] = "";
    const cJSON *step;
    cJSON_ArrayForEach(step, member(outline, "steps"))
    {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? ", " : "", string_of(step, "kind"));
        used = strlen(text);
        assert_int_equal(has_member(step, "segment"), strcmp(string_of(step, "kind"), "launch") == 0);
        if (has_member(step, "segment"))
            snprintf(text + used, sizeof text - used, " %d", (int)number_of(step, "segment"));
        if (has_member(step, "call"))
            snprintf(text + used, sizeof text - used, " %s", string_of(step, "call"));
    }
    assert_string_equal(text, expected);
}

/* A node's kind, and "" or its call. */
static const cJSON *expect_node(const cJSON *outline, int index, int segment, int node, const char *kind,
                                const char *call)
{
    const cJSON *item = element(outline, "nodes", index);
    assert_int_equal((int)number_of(item, "segment"), segment);
    assert_int_equal((int)number_of(item, "node"), node);
    assert_string_equal(string_of(item, "kind"), kind);
    assert_string_equal(has_member(item, "call") ? string_of(item, "call") : "", call);
    assert_int_equal(has_member(item, "kernel"), strcmp(kind, "kernel") == 0);
    return item;
}

/* What it waits for: "1 2". */
static void expect_lane(const cJSON *outline, int index, int lane, const char *after)
{
    const cJSON *item = element(outline, "nodes", index), *number;
    char text[100] = "";
    cJSON_ArrayForEach(number, member(item, "after"))
    {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%d", used > 0 ? " " : "", (int)number->valuedouble);
    }
    assert_string_equal(text, after);
    assert_int_equal((int)number_of(item, "lane"), lane);
}

static void expect_figures(const cJSON *outline, const bg_graph *graph)
{
    bg_graph_info info = info_of(graph);
    double nodes = 0, kernels = 0;
    const cJSON *segment;
    assert_string_equal(string_of(outline, "name"), info.name);
    assert_true(number_of(outline, "breaks") == info.breaks);
    assert_true(fabs(number_of(outline, "capture_ms") - info.capture_ms) < 1e-6); /* JSON has 15 digits */
    assert_true(fabs(number_of(outline, "instantiate_ms") - info.instantiate_ms) < 1e-6);
    assert_int_equal(size_of(outline, "segments"), info.segments);
    assert_int_equal(size_of(outline, "steps"), info.steps);
    assert_int_equal(size_of(outline, "calls"), info.calls);
    assert_int_equal(size_of(outline, "nodes"), info.nodes);
    cJSON_ArrayForEach(segment, member(outline, "segments"))
    {
        nodes += number_of(segment, "nodes");
        kernels += number_of(segment, "kernel_nodes");
    }
    assert_true(nodes == (double)info.nodes && kernels == (double)info.kernel_nodes);
}

static void expect_calls(const cJSON *outline, const bg_graph *graph)
{
    for (int i = 0; i < info_of(graph).calls; i++) {
        const cJSON *item = element(outline, "calls", i);
        bg_call_info call = BG_CALL_INFO_INIT;
        EXPECT_OK(bg_graph_get_call(graph, i, &call));
        assert_string_equal(string_of(item, "name"), call.name);
        assert_string_equal(string_of(item, "op"), call.op);
        assert_string_equal(string_of(item, "file"), call.file);
        assert_true(number_of(item, "line") == call.line && call.line > 0);
        assert_int_equal(cJSON_IsTrue(member(item, "eager")), call.eager);
        assert_int_equal(has_member(item, "segment"), !call.eager);
        if (!call.eager)
            assert_true(number_of(item, "segment") == call.segment);
    }
}

PICTURE_TEST(test_breaks)
{
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    OWN_JSON(outline, outline_of(graph));
    expect_figures(outline, graph);
    expect_calls(outline, graph);
    expect_steps(outline, "launch 0, call move#0, launch 1, launch 2");
    assert_int_equal(size_of(outline, "calls"), 6);
    expect_node(outline, 0, 0, 0, "kernel", "scale#0");
    expect_node(outline, 1, 1, 0, "kernel", "outer#0/scale#0");
    expect_node(outline, 2, 1, 1, "kernel", "outer#0/scale#1");
    expect_node(outline, 3, 2, 0, "kernel", "plus#0");
    expect_lane(outline, 0, 0, "");
    expect_lane(outline, 1, 0, "");
    expect_lane(outline, 2, 0, "0");
    expect_lane(outline, 3, 0, "");
    assert_non_null(strstr(string_of(element(outline, "nodes", 0), "kernel"), "product>(float4*"));
    assert_int_equal(strncmp(string_of(element(outline, "nodes", 0), "symbol"), "_Z", 2), 0);
}

PICTURE_TEST(test_write_backs)
{
    EXPECT_CUDA(cudaMalloc(&picture_elsewhere, N * sizeof(float)));
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    OWN_JSON(outline, outline_of(graph));
    expect_figures(outline, graph);
    expect_steps(outline, "launch 0, call move#0, launch 1, launch 2");
    assert_true(cJSON_IsTrue(member(expect_node(outline, 1, 1, 0, "kernel", "move#0"), "writeback")));
    assert_false(has_member(expect_node(outline, 2, 1, 1, "kernel", "outer#0/scale#0"), "writeback"));
    OWN_GRAPH(ending, capture_picture(f, ending_pass));
    OWN_JSON(ending_outline, outline_of(ending));
    expect_figures(ending_outline, ending);
    expect_steps(ending_outline, "launch 0, call move#0, copy move#0");
    EXPECT_CUDA(cudaFree(picture_elsewhere));
}

PICTURE_TEST(test_forks)
{
    static const char *const after[] = {"", "", "0", "1 2", "2 3", "3", "4", "5 6"};
    OWN_GRAPH(graph, capture_picture(f, forked_pass));
    OWN_JSON(outline, outline_of(graph));
    expect_figures(outline, graph);
    for (int i = 0; i < 8; i++) {
        expect_node(outline, i, 0, i, "kernel", string_of(element(outline, "calls", i), "name"));
        expect_lane(outline, i, i == 1 || i == 5, after[i]);
    }
}

PICTURE_TEST(test_kinds_of_nodes)
{
    static const char *const kinds[] = {"memset", "memcpy", "host function", "event record", "child graph"};
    OWN_GRAPH(graph, capture_picture(f, mixed_pass));
    OWN_JSON(outline, outline_of(graph));
    expect_figures(outline, graph); /* nodes inside the child graph are not counted */
    for (int i = 0; i < 5; i++)
        expect_node(outline, i, 0, i, kinds[i], i < 4 ? "mixed#0" : "nested#0");
}

PICTURE_TEST(test_memory_nodes)
{
    OWN_GRAPH(graph, capture_picture(f, memory_pass));
    OWN_JSON(outline, outline_of(graph));
    expect_figures(outline, graph);
    expect_steps(outline, "launch 0, launch 1, launch 2");
    expect_node(outline, 0, 0, 0, "allocation", "allocate#0");
    expect_node(outline, 1, 0, 1, "kernel", "allocate#0");
    expect_node(outline, 2, 1, 0, "kernel", "use#0");
    expect_node(outline, 3, 2, 0, "free", "release#0");
}

PICTURE_TEST(test_forward_and_sync)
{
    OWN_GRAPH(forward, capture_of(broken_pass, f, f->stream, OPTIONS(.debug = BG_DEBUG_FORWARD)));
    OWN_JSON(outline, outline_of(forward));
    expect_figures(outline, forward);
    expect_calls(outline, forward);
    expect_steps(outline, "forward");
    assert_int_equal(size_of(outline, "nodes"), 0);
    OWN_GRAPH(sync, capture_of(broken_pass, f, f->stream, OPTIONS(.debug = BG_DEBUG_SYNC)));
    OWN_JSON(sync_outline, outline_of(sync));
    expect_figures(sync_outline, sync);
    expect_steps(sync_outline, "launch 0, sync, call move#0, sync, launch 1, sync, launch 2, sync");
}

/* A graph of empty nodes: an edge from, to for each pair. */
static bg_graph *wrap(cudaGraph_t *source, int count, const int (*edges)[2], int edge_count)
{
    cudaGraphNode_t nodes[16];
    bg_graph *graph = NULL;
    EXPECT_CUDA(cudaGraphCreate(source, 0));
    for (int i = 0; i < count; i++)
        EXPECT_CUDA(cudaGraphAddEmptyNode(&nodes[i], *source, NULL, 0));
    for (int i = 0; i < edge_count; i++)
        EXPECT_CUDA(cudaGraphAddDependencies(*source, &nodes[edges[i][0]], &nodes[edges[i][1]], NULL, 1));
    EXPECT_OK(bg_graph_wrap(&graph, *source, NULL, "a \"quoted\" \\ name\n"));
    return graph;
}

static void expect_lanes(int count, const int (*edges)[2], int edge_count, const int *lanes)
{
    OWNED_CUDA_GRAPH(source);
    OWN_GRAPH(graph, wrap(&source, count, edges, edge_count));
    OWN_JSON(outline, outline_of(graph));
    expect_figures(outline, graph);
    expect_steps(outline, "launch 0");
    for (int i = 0; i < count; i++) {
        expect_node(outline, i, 0, i, "empty node", "");
        if ((int)number_of(element(outline, "nodes", i), "lane") != lanes[i])
            fail_msg("node %d is in lane %d, not %d", i, (int)number_of(element(outline, "nodes", i), "lane"),
                     lanes[i]);
    }
}

#define EXPECT_LANES(edges, lanes)                                                                                     \
    expect_lanes(sizeof(lanes) / sizeof *(lanes), edges, sizeof(edges) / sizeof *(edges), lanes)

PICTURE_TEST(test_lanes)
{
    /* three at once, joined; then two again, of which one takes a lane that is free */
    static const int star[][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 4}, {2, 4}, {3, 4}, {4, 5}, {4, 6}, {5, 7}, {6, 7}};
    static const int star_lanes[] = {0, 0, 1, 2, 0, 0, 1, 0};
    /* nothing orders the second chain after the first: its lane is its own, though the first has ended */
    static const int chains[][2] = {{0, 1}, {2, 3}};
    static const int chains_lanes[] = {0, 0, 1, 1};
    /* made in another order than they run: 3, 1, 0 and 2 */
    static const int backwards[][2] = {{3, 1}, {1, 0}, {1, 2}};
    static const int backwards_lanes[] = {0, 0, 1, 0};
    /* a chain that nobody joins stays open */
    static const int open[][2] = {{0, 1}, {0, 2}, {2, 3}, {2, 4}};
    static const int open_lanes[] = {0, 0, 1, 1, 2};
    /* a chain that has been joined goes on where it forks */
    static const int joined[][2] = {{0, 2}, {1, 2}, {2, 3}, {2, 4}, {1, 5}};
    static const int joined_lanes[] = {0, 1, 0, 0, 2, 1};
    EXPECT_LANES(star, star_lanes);
    EXPECT_LANES(chains, chains_lanes);
    EXPECT_LANES(backwards, backwards_lanes);
    EXPECT_LANES(open, open_lanes);
    EXPECT_LANES(joined, joined_lanes);
}

PICTURE_TEST(test_in_a_report)
{
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    OWNED_REPORT(report);
    EXPECT_OK(bg__report_create(&report, "capture", "graph"));
    EXPECT_OK(bg__report_set_outline(report, outline_of(graph)));
    EXPECT_OK(bg_report_write(report, BG_JSON, test_file));
    OWN_JSON(root, parse_file(test_file));
    expect_figures(member(root, "outline"), graph);
    expect_calls(member(root, "outline"), graph);
}
