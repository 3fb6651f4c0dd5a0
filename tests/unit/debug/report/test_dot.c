/* Segments as DOT: every node, edge and op call is in the drawing, and Graphviz can read it. */
#include "tests/support/test.h"
#include "tests/support/tools/picture_support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/kernels/graph_kernels.h"

/* What is outside of quotes. */
typedef struct counts {
    int nodes, edges, clusters;
} counts;

static int count_in(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        count++;
    return count;
}

/* Blanks what is in quotes, and checks that these and the braces are balanced. */
static void blank_quoted(char *text)
{
    int depth = 0;
    bool quoted = false;
    for (char *at = text; *at != '\0'; at++) {
        if (quoted && *at == '\\') {
            *at++ = '_';
            assert_int_not_equal(*at, '\0');
            *at = '_';
        } else if (*at == '"') {
            quoted = !quoted;
        } else if (quoted) {
            assert_int_not_equal(*at, '\n');
            *at = '_';
        } else {
            depth += (*at == '{') - (*at == '}');
            assert_true(depth >= 0);
            if (depth == 0 && *at == '}')
                assert_string_equal(at, "}\n");
        }
    }
    assert_false(quoted);
    assert_int_equal(depth, 0);
}

static counts count_parts(const char *text)
{
    char *copy = strdup(text);
    counts found;
    assert_non_null(copy);
    blank_quoted(copy);
    assert_int_equal(strncmp(copy, "digraph ", 8), 0);
    found.nodes = count_in(copy, "[shape=");
    found.edges = count_in(copy, " -> ");
    found.clusters = count_in(copy, "subgraph cluster_");
    free(copy);
    return found;
}

/* The drawing, twice the same; the caller frees it. */
static char *draw(const bg_graph *graph, int segment, counts expected)
{
    char *text, *again;
    counts found;
    EXPECT_OK(bg_graph_write_dot(graph, segment, picture_path));
    text = read_picture();
    EXPECT_OK(bg_graph_write_dot(graph, segment, picture_path));
    again = read_picture();
    assert_string_equal(text, again);
    free(again);
    found = count_parts(text);
    if (found.nodes != expected.nodes || found.edges != expected.edges || found.clusters != expected.clusters)
        fail_msg("%d nodes, %d edges and %d clusters where %d, %d and %d are right:\n%s", found.nodes, found.edges,
                 found.clusters, expected.nodes, expected.edges, expected.clusters, text);
    return text;
}

static const char *expect_in(const char *text, const char *part)
{
    const char *found = strstr(text, part);
    if (found == NULL)
        fail_msg("\"%s\" is not in:\n%s", part, text);
    return found;
}

#define DOT_TEST(name) TEST_F(name, pictures_setup, pictures_teardown, fixture *f)

DOT_TEST(test_calls)
{
    bg_graph *graph = capture_picture(f, broken_pass);
    char *text = draw(graph, 0, (counts){1, 0, 1});
    const char *outer, *inner;
    expect_in(text, "graph, segment 0");
    expect_in(text, "scale#0\\n");
    expect_in(text, "product>(float4*"); /* the kernel that bgk_scale launches */
    expect_in(text, "grid 1 x 1 x 1, block ");
    free(text);
    text = draw(graph, 1, (counts){2, 1, 3});
    outer = expect_in(text, "label=\"outer#0\\n");
    inner = expect_in(outer, "label=\"outer#0/scale#0\\n");
    assert_null(memchr(outer, '}', (size_t)(inner - outer))); /* the one inside the other */
    expect_in(expect_in(inner, "s1n0 ["), "label=\"outer#0/scale#1\\n");
    expect_in(text, "picture_support.c:");
    expect_in(text, "s1n0 -> s1n1;");
    free(text);
    free(draw(graph, 2, (counts){1, 0, 1}));
    bg_graph_destroy(graph);
}

DOT_TEST(test_write_backs)
{
    bg_graph *graph;
    char *text;
    EXPECT_CUDA(cudaMalloc(&picture_elsewhere, N * sizeof(float)));
    graph = capture_picture(f, broken_pass);
    text = draw(graph, 1, (counts){3, 2, 4});
    expect_in(expect_in(text, "label=\"move#0 (eager)\\n"), "label=\"0: kernel (write-back)\\n");
    free(text);
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaFree(picture_elsewhere));
}

DOT_TEST(test_forks)
{
    static const char *const edges[] = {"n0 -> s0n2;", "n1 -> s0n3;", "n2 -> s0n3;", "n2 -> s0n4;", "n3 -> s0n4;",
                                        "n3 -> s0n5;", "n4 -> s0n6;", "n5 -> s0n7;", "n6 -> s0n7;"};
    bg_graph *graph = capture_picture(f, forked_pass);
    char *text = draw(graph, 0, (counts){8, sizeof edges / sizeof *edges, 8});
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        expect_in(text, edges[i]);
    free(text);
    bg_graph_destroy(graph);
}

DOT_TEST(test_kinds_of_nodes)
{
    bg_graph *graph = capture_picture(f, mixed_pass);
    /* four in a chain, a child graph, two in a chain inside it, and the way into it */
    char *text = draw(graph, 0, (counts){7, 4 + 1 + 1, 3});
    expect_in(text, "label=\"0: memset\\n128 bytes, of 0x3f");
    expect_in(text, "label=\"1: memcpy\\n128 bytes");
    expect_in(text, "label=\"2: host function\"");
    expect_in(text, "label=\"3: event record\"");
    expect_in(text, "label=\"4: child graph\\n2 nodes\"");
    expect_in(text, "s0n4_0 -> s0n4_1;");
    expect_in(text, "s0n4 -> s0n4_0 [style=dashed];");
    free(text);
    bg_graph_destroy(graph);
}

DOT_TEST(test_memory_nodes)
{
    bg_graph *graph = capture_picture(f, memory_pass);
    char *text = draw(graph, 0, (counts){2, 1, 1});
    assert_true(atol(expect_in(text, "label=\"0: allocation\\n") + strlen("label=\"0: allocation\\n")) >= 256);
    free(text);
    text = draw(graph, 2, (counts){1, 0, 1});
    expect_in(text, "label=\"0: free\"");
    free(text);
    bg_graph_destroy(graph);
}

/* Names with all that DOT takes for its own; without calls. */
static bg_graph *wrap_named(const fixture *f, cudaGraph_t *source)
{
    bg_graph *graph = NULL;
    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_CUDA(gk_add((int *)f->memory, 5, f->stream));
    EXPECT_CUDA(gk_add((int *)f->memory, 6, f->stream));
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, source));
    EXPECT_OK(bg_graph_wrap(&graph, *source, NULL, "a \"quoted\" \\N {name}\nof\t<two> lines\\"));
    return graph;
}

DOT_TEST(test_escapes)
{
    OWNED_CUDA_GRAPH(source);
    bg_graph *graph = wrap_named(f, &source);
    char *text = draw(graph, 0, (counts){2, 1, 0});
    expect_in(text, "label=\"a \\\"quoted\\\" \\\\N {name}\\nof <two> lines\\\\, segment 0\";");
    free(text);
    bg_graph_destroy(graph);
}

static bool have_graphviz(void)
{
    return WEXITSTATUS(system("command -v dot >/dev/null 2>&1")) == 0;
}

static void expect_readable(const bg_graph *graph)
{
    char command[200];
    snprintf(command, sizeof command, "dot -Tcanon '%s' >/dev/null", picture_path);
    for (int i = 0; i < info_of(graph).segments; i++) {
        EXPECT_OK(bg_graph_write_dot(graph, i, picture_path));
        assert_int_equal(system(command), 0);
    }
}

DOT_TEST(test_graphviz)
{
    static const bg_forward passes[] = {broken_pass, forked_pass, mixed_pass, memory_pass};
    OWNED_CUDA_GRAPH(source);
    bg_graph *graph;
    if (!have_graphviz()) {
        print_message("skipped: dot (Graphviz) is not installed\n");
        skip();
    }
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        graph = capture_picture(f, passes[i]);
        expect_readable(graph);
        bg_graph_destroy(graph);
    }
    graph = wrap_named(f, &source);
    expect_readable(graph);
    bg_graph_destroy(graph);
}

/* Standard output goes to the file meanwhile. */
static bg_status draw_to_stdout(const bg_graph *graph)
{
    bg_status status;
    int kept, target;
    fflush(stdout);
    kept = dup(STDOUT_FILENO);
    target = open(picture_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(kept >= 0 && target >= 0);
    assert_true(dup2(target, STDOUT_FILENO) >= 0);
    status = bg_graph_write_dot(graph, 0, "-");
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    assert_int_equal(close(kept), 0);
    assert_int_equal(close(target), 0);
    return status;
}

DOT_TEST(test_stdout)
{
    bg_graph *graph = capture_picture(f, broken_pass);
    char *text = draw(graph, 0, (counts){1, 0, 1}), *said;
    EXPECT_OK(draw_to_stdout(graph));
    said = read_picture();
    assert_string_equal(said, text);
    free(said);
    free(text);
    bg_graph_destroy(graph);
}

/* Of 4 bytes that may be a float; the runtime's cudaMemsetAsync has bytes alone. */
DOT_TEST(test_fills)
{
    static const unsigned values[] = {0x3fc00000u, 7};
    struct cudaMemsetParams fill = {.dst = f->memory, .elementSize = 4, .width = 8, .height = 1};
    cudaGraphNode_t node;
    OWNED_CUDA_GRAPH(source);
    OWNED_GRAPH(graph);
    char *text;

    EXPECT_CUDA(cudaGraphCreate(&source, 0));
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        fill.value = values[i];
        EXPECT_CUDA(cudaGraphAddMemsetNode(&node, source, i > 0 ? &node : NULL, i, &fill));
    }
    EXPECT_OK(bg_graph_wrap(&graph, source, NULL, "fills"));
    text = draw(graph, 0, (counts){2, 1, 0});
    expect_in(text, "label=\"0: memset\\n32 bytes, of 1.5 (0x3fc00000)");
    expect_in(text, "label=\"1: memset\\n32 bytes, of 0x00000007");
    free(text);
}

DOT_TEST(test_errors)
{
    bg_graph *graph = capture_picture(f, broken_pass);
    char nowhere[128];
    snprintf(nowhere, sizeof nowhere, "%s/nowhere/picture", picture_path);
    EXPECT_STATUS(bg_graph_write_dot(graph, 3, picture_path), BG_ERROR_NOT_FOUND);
    EXPECT_ERROR("bg_graph_write_dot: there is no segment 3; graph has 3");
    EXPECT_STATUS(bg_graph_write_dot(graph, -1, picture_path), BG_ERROR_NOT_FOUND);
    EXPECT_STATUS(bg_graph_write_dot(graph, 0, nowhere), BG_ERROR_IO);
    EXPECT_ERROR("No such file");
    EXPECT_STATUS(bg_graph_write_dot(NULL, 0, picture_path), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_graph_write_dot(graph, 0, NULL), BG_ERROR_INVALID_ARGUMENT);
    assert_int_equal(count_pictures(), 0);
    bg_graph_destroy(graph);
}
