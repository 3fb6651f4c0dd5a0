#include "step_support.h"

#include <string.h>

void read_memory(const fixture *f, float host[3 * N])
{
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemcpy(host, f->memory, 3 * N * sizeof *host, cudaMemcpyDeviceToHost));
}

void write_memory(const fixture *f, const float host[3 * N])
{
    EXPECT_CUDA(cudaMemcpy(f->memory, host, 3 * N * sizeof *host, cudaMemcpyHostToDevice));
    EXPECT_CUDA(cudaDeviceSynchronize());
}

struct step_seen step_seen;

bool note_step(void *user, const bg_step_info *info)
{
    (void)user;
    assert_int_equal(info->struct_size, sizeof *info);
    assert_true(info->index > step_seen.last_index && info->index < info->total);
    assert_int_equal(info->error, cudaSuccess);
    assert_true(step_seen.count < 40);
    snprintf(step_seen.nodes[step_seen.count], sizeof step_seen.nodes[0], "%s", info->node);
    snprintf(step_seen.calls[step_seen.count], sizeof step_seen.calls[0], "%s", info->call);
    step_seen.nan[step_seen.count] = info->nan;
    step_seen.inf[step_seen.count] = info->inf;
    if (info->kernel[0] != '\0') {
        step_seen.kernels++;
        assert_true(info->grid[0] > 0 && info->block[0] > 0 && info->segment >= 0);
    }
    if (info->call[0] != '\0') {
        assert_true(strstr(info->file, "tests/unit/debug/step/test_step") != NULL ||
                    strstr(info->file, "tests/support/tools/picture_support.c") != NULL);
        assert_true(info->line > 0);
    }
    step_seen.count++;
    step_seen.last_index = info->index;
    step_seen.total = info->total;
    return step_seen.stop_after < 0 || info->index < step_seen.stop_after;
}

void forget_steps(int last_index)
{
    memset(&step_seen, 0, sizeof step_seen);
    step_seen.last_index = last_index;
    step_seen.stop_after = -1;
}

bg_report *step_noting(fixture *f, bg_graph *graph)
{
    bg_report *report;
    forget_steps(-1);
    EXPECT_OK(bg_step(graph, f->stream, note_step, NULL, &report));
    return report;
}

void expect_steps_seen(const char *const *calls, const char *const *nodes, int count, const char *file, int line)
{
    _assert_int_equal((uintmax_t)step_seen.count, (uintmax_t)count, file, line);
    for (int i = 0; i < count; i++) {
        _assert_string_equal(step_seen.calls[i], calls[i], file, line);
        if (nodes != NULL)
            expect_in(step_seen.nodes[i], nodes[i], true, file, line);
    }
}

void start_memory(const fixture *f)
{
    float memory[3 * N];
    for (int i = 0; i < 3 * N; i++)
        memory[i] = (float)(i % 7) * 0.37f - 1;
    write_memory(f, memory);
}

/* From each index on: the same results, and the same nodes as in a step of all, from there on. */
static void expect_from_each(fixture *f, bg_graph *graph, const float replayed[3 * N])
{
    float stepped[3 * N];
    const int total = step_seen.total, count = step_seen.count;
    char nodes[40][200], from[16];
    memcpy(nodes, step_seen.nodes, sizeof nodes);
    for (int i = 0; i < total; i++) {
        OWNED_REPORT(report);
        snprintf(from, sizeof from, "%d", i);
        forget_steps(i - 1);
        start_memory(f);
        EXPECT_OK(bg_step_from(graph, f->stream, from, note_step, NULL, &report));
        read_memory(f, stepped);
        assert_memory_equal(replayed, stepped, sizeof stepped);
        assert_int_equal(step_seen.last_index, total - 1);
        assert_true(step_seen.count <= count && step_seen.count <= total - i && step_seen.count > 0);
        for (int k = 1; k <= step_seen.count; k++)
            assert_string_equal(step_seen.nodes[step_seen.count - k], nodes[count - k]);
    }
}

void expect_as_replay(fixture *f, bg_graph *graph)
{
    float replayed[3 * N], stepped[3 * N];
    bg_report *report;
    start_memory(f);
    EXPECT_OK(bg_replay(graph, f->stream));
    read_memory(f, replayed);
    start_memory(f);
    report = step_noting(f, graph);
    read_memory(f, stepped);
    assert_memory_equal(replayed, stepped, sizeof stepped);
    if (count_findings(report, "not-stepped") == 0)
        EXPECT_NO_FINDING(report);
    else
        bg_report_destroy(report);
    expect_from_each(f, graph, replayed);
    bg_report_destroy(step_noting(f, graph)); /* for the test to look at */
}
