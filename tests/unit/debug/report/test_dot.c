/* Segments as DOT: every node, edge and op call is in the drawing, and Graphviz can read it. */
#include "tests/support/test.h"
#include "tests/support/tools/picture_support.h"

#include <stdlib.h>
#include <string.h>

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

/* The drawing, twice the same; it is there up to the next call. */
static const char *draw(const bg_graph *graph, int segment, counts expected)
{
    static char *text;
    free(text);
    EXPECT_OK(bg_graph_write_dot(graph, segment, test_file));
    text = read_file(test_file, NULL);
    EXPECT_OK(bg_graph_write_dot(graph, segment, test_file));
    OWN_TEXT(again, read_file(test_file, NULL));
    assert_string_equal(text, again);
    counts found = count_parts(text);
    if (memcmp(&found, &expected, sizeof found) != 0)
        fail_msg("%d nodes, %d edges and %d clusters where %d, %d and %d are right:\n%s", found.nodes, found.edges,
                 found.clusters, expected.nodes, expected.edges, expected.clusters, text);
    return text;
}

static const char *find_in(const char *text, const char *part)
{
    const char *found = strstr(text, part);
    if (found == NULL)
        fail_msg("\"%s\" is not in:\n%s", part, text);
    return found;
}

PICTURE_TEST(test_calls)
{
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    const char *text = draw(graph, 0, (counts){1, 0, 1});
    /* with the kernel that bgk_scale launches */
    EXPECT_IN(text, "graph, segment 0|scale#0\\n|product>(float4*|grid 1 x 1 x 1, block ");
    text = draw(graph, 1, (counts){2, 1, 3});
    const char *outer = find_in(text, "label=\"outer#0\\n");
    const char *inner = find_in(outer, "label=\"outer#0/scale#0\\n");
    assert_null(memchr(outer, '}', (size_t)(inner - outer))); /* the one inside the other */
    find_in(find_in(inner, "s1n0 ["), "label=\"outer#0/scale#1\\n");
    EXPECT_IN(text, "picture_support.c:|s1n0 -> s1n1;");
    draw(graph, 2, (counts){1, 0, 1});
}

PICTURE_TEST(test_write_backs)
{
    EXPECT_CUDA(cudaMalloc(&picture_elsewhere, N * sizeof(float)));
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    const char *text = draw(graph, 1, (counts){3, 2, 4});
    find_in(find_in(text, "label=\"move#0 (eager)\\n"), "label=\"0: kernel (write-back)\\n");
    EXPECT_CUDA(cudaFree(picture_elsewhere));
}

PICTURE_TEST(test_forks)
{
    static const char *const edges[] = {"n0 -> s0n2;", "n1 -> s0n3;", "n2 -> s0n3;", "n2 -> s0n4;", "n3 -> s0n4;",
                                        "n3 -> s0n5;", "n4 -> s0n6;", "n5 -> s0n7;", "n6 -> s0n7;"};
    OWN_GRAPH(graph, capture_picture(f, forked_pass));
    const char *text = draw(graph, 0, (counts){8, sizeof edges / sizeof *edges, 8});
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        EXPECT_IN(text, edges[i]);
}

PICTURE_TEST(test_kinds_of_nodes)
{
    OWN_GRAPH(graph, capture_picture(f, mixed_pass));
    /* four in a chain, a child graph, two in a chain inside it, and the way into it */
    const char *text = draw(graph, 0, (counts){7, 4 + 1 + 1, 3});
    EXPECT_IN(text, "label=\"0: memset\\n128 bytes, of 0x3f|label=\"1: memcpy\\n128 bytes|"
                    "label=\"2: host function\"|label=\"3: event record\"|label=\"4: child graph\\n2 nodes\"|"
                    "s0n4_0 -> s0n4_1;|s0n4 -> s0n4_0 [style=dashed];");
}

PICTURE_TEST(test_memory_nodes)
{
    OWN_GRAPH(graph, capture_picture(f, memory_pass));
    const char *text = draw(graph, 0, (counts){2, 1, 1});
    assert_true(atol(find_in(text, "label=\"0: allocation\\n") + strlen("label=\"0: allocation\\n")) >= 256);
    text = draw(graph, 2, (counts){1, 0, 1});
    EXPECT_IN(text, "label=\"0: free\"");
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

PICTURE_TEST(test_escapes)
{
    OWNED_CUDA_GRAPH(source);
    OWN_GRAPH(graph, wrap_named(f, &source));
    const char *text = draw(graph, 0, (counts){2, 1, 0});
    EXPECT_IN(text, "label=\"a \\\"quoted\\\" \\\\N {name}\\nof <two> lines\\\\, segment 0\";");
}

static void expect_readable(const bg_graph *graph)
{
    for (int i = 0; i < info_of(graph).segments; i++) {
        EXPECT_OK(bg_graph_write_dot(graph, i, test_file));
        assert_int_equal(run_command("dot -Tcanon '%s' >/dev/null", test_file), 0);
    }
}

PICTURE_TEST(test_graphviz)
{
    static const bg_forward passes[] = {broken_pass, forked_pass, mixed_pass, memory_pass};
    OWNED_CUDA_GRAPH(source);
    if (run_command("command -v dot >/dev/null 2>&1") != 0) {
        print_message("skipped: dot (Graphviz) is not installed\n");
        skip();
    }
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        OWN_GRAPH(graph, capture_picture(f, passes[i]));
        expect_readable(graph);
    }
    OWN_GRAPH(named, wrap_named(f, &source));
    expect_readable(named);
}

PICTURE_TEST(test_stdout)
{
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    const char *text = draw(graph, 0, (counts){1, 0, 1});
    int kept = begin_stdout(test_file);
    bg_status status = bg_graph_write_dot(graph, 0, "-");
    end_stdout(kept);
    EXPECT_OK(status);
    OWN_TEXT(said, read_file(test_file, NULL));
    assert_string_equal(said, text);
}

/* Of 4 bytes that may be a float; the runtime's cudaMemsetAsync has bytes alone. */
PICTURE_TEST(test_fills)
{
    static const unsigned values[] = {0x3fc00000u, 7};
    struct cudaMemsetParams fill = {.dst = f->memory, .elementSize = 4, .width = 8, .height = 1};
    cudaGraphNode_t node;
    OWNED_CUDA_GRAPH(source);
    OWNED_GRAPH(graph);

    EXPECT_CUDA(cudaGraphCreate(&source, 0));
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        fill.value = values[i];
        EXPECT_CUDA(cudaGraphAddMemsetNode(&node, source, i > 0 ? &node : NULL, i, &fill));
    }
    EXPECT_OK(bg_graph_wrap(&graph, source, NULL, "fills"));
    const char *text = draw(graph, 0, (counts){2, 1, 0});
    EXPECT_IN(text, "label=\"0: memset\\n32 bytes, of 1.5 (0x3fc00000)|label=\"1: memset\\n32 bytes, of 0x00000007");
}

PICTURE_TEST(test_errors)
{
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    char nowhere[128];
    snprintf(nowhere, sizeof nowhere, "%s/nowhere/picture", test_file);
    EXPECT_STATUS(bg_graph_write_dot(graph, 3, test_file), BG_ERROR_NOT_FOUND);
    EXPECT_ERROR("bg_graph_write_dot: there is no segment 3; graph has 3");
    EXPECT_STATUS(bg_graph_write_dot(graph, -1, test_file), BG_ERROR_NOT_FOUND);
    EXPECT_STATUS(bg_graph_write_dot(graph, 0, nowhere), BG_ERROR_IO);
    EXPECT_ERROR("No such file");
    EXPECT_STATUS(bg_graph_write_dot(NULL, 0, test_file), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_graph_write_dot(graph, 0, NULL), BG_ERROR_INVALID_ARGUMENT);
    assert_int_equal(count_files(test_directory), 0);
}
