/* A fault that takes the device, in one node of 200: a step names it, and the report can be written afterwards. Each
 * case in a process of its own, since the device is lost with it. */
#include "tests/support/test.h"
#include "tests/support/tools/file_support.h"
#include "tests/support/tools/file_support.h"
#include "tests/support/tools/step_support.h"
#include "tests/support/kernels/trap.h"
#include "tests/support/ops.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NODES = 200, FAULTY = 137, EAGER = 150 };

BG_OP(faulty, BG_IN(armed))
{
    return from_cuda(trap_if(args->armed.data, stream));
}

BG_OP(writes, BG_VALUE(float *, where))
{
    return from_cuda(bgk_fill(args->where, 1, N, stream));
}

BG_EAGER_OP(writes_eagerly, BG_VALUE(float **, where))
{
    return from_cuda(bgk_fill(*args->where, 1, N, stream));
}

typedef struct program {
    fixture *f;
    float *block;  /* freed after the capture */
    float *target; /* of the eager call */
    bg_debug debug;
    int line;
} program;

static bg_status trap_pass(void *user, cudaStream_t stream)
{
    program *p = user;
    for (int i = 0; i < NODES; i++) {
        if (i == FAULTY)
            CALL_AT(p->line, faulty, stream, .armed = p->f->z);
        else
            BG_CALL(scale, stream, .x = p->f->x, .y = p->f->y, .factor = (float)i);
    }
    return BG_OK;
}

static bg_status stale_pass(void *user, cudaStream_t stream)
{
    program *p = user;
    for (int i = 0; i < NODES; i++) {
        if (i == FAULTY)
            CALL_AT(p->line, writes, stream, .where = p->block);
        else if (i == EAGER)
            BG_CALL(writes_eagerly, stream, .where = &p->target);
        else
            BG_CALL(scale, stream, .x = p->f->x, .y = p->f->y, .factor = (float)i);
    }
    return BG_OK;
}

static bg_graph *capture(program *p, bg_forward pass)
{
    p->block = (float *)allocate(N * sizeof(float));
    p->target = (float *)allocate(N * sizeof(float));
    bg_graph *graph = capture_of(pass, p, p->f->stream, OPTIONS(.debug = p->debug));
    EXPECT_CUDA(cudaDeviceSynchronize());
    return graph;
}

/* What every report of such a fault must have, also once it is a file. */
static void expect_report(const program *p, const bg_report *report, const char *call, const char *words)
{
    char path[] = "/tmp/breakgraph-step-XXXXXX";
    int descriptor = mkstemp(path);
    EXPECT_THE(report, "fault", call, p->line, words, .severity = "fault");
    assert_true(descriptor >= 0 && close(descriptor) == 0);
    EXPECT_OK(bg_report_write(report, BG_JSON, path));
    OWN_TEXT(text, read_file(path, NULL));
    remove(path);
    EXPECT_IN(text, "\"kind\":\t\"fault\"");
    EXPECT_IN(text, call);
}

static cudaError_t last_error;

static bool keep_error(void *user, const bg_step_info *info)
{
    ++*(int *)user;
    last_error = info->error;
    return true;
}

static bg_report *step(const program *p, bg_graph *graph, int *count)
{
    bg_report *report;
    *count = 0;
    EXPECT_OK(bg_step(graph, p->f->stream, keep_error, count, &report));
    return report;
}

/* words: of the finding's message. */
static void expect_named(const program *p, bg_graph *graph, void (*plant)(const program *p), const char *call,
                         const char *words)
{
    int count;
    bg_report *report = step(p, graph, &count); /* the clean twin */
    EXPECT_NO_FINDING(report);
    assert_int_equal(count, NODES);
    plant(p);
    report = step(p, graph, &count);
    assert_int_equal(count, FAULTY + 1); /* nothing after it */
    assert_true(last_error != cudaSuccess);
    expect_report(p, report, call, words);
    bg_report_destroy(report);
    EXPECT_STATUS(bg_replay(graph, p->f->stream), BG_ERROR_CUDA); /* the device is lost */
    bg_graph_destroy(graph);
}

static void arm(const program *p)
{
    put(&p->f->z, 1);
}

static void trap(program *p)
{
    expect_named(p, capture(p, trap_pass), arm, "faulty#0",
                 "segment 0, node 137 (kernel |trap|, of call faulty#0 at |cudaError|"
                 "grid 1 x 1 x 1, block 1 x 1 x 1, parameters +0 0x");
}

static void free_block(const program *p)
{
    EXPECT_CUDA(cudaFree(p->block));
}

static void stale(program *p)
{
    char words[160];
    bg_graph *graph = capture(p, stale_pass);
    snprintf(words, sizeof words,
             "segment 0, node 137 (kernel |, of call writes#0 at |cudaErrorIllegalAddress|parameters +0 0x%016llx",
             (unsigned long long)(uintptr_t)p->block);
    expect_named(p, graph, free_block, "writes#0", words);
    assert_int_equal(last_error, cudaErrorIllegalAddress);
}

/* The replay itself, under BG_DEBUG=step. */
static void replay(program *p)
{
    p->debug = BG_DEBUG_STEP;
    OWN_GRAPH(graph, capture(p, trap_pass));
    EXPECT_OK(bg_replay(graph, p->f->stream));
    put(&p->f->z, 1);
    EXPECT_STATUS(bg_replay(graph, p->f->stream), BG_ERROR_CUDA);
    EXPECT_ERROR("step 137 of graph, segment 0, node 137 (kernel ");
    EXPECT_ERROR(", of call faulty#0 at ");
}

/* ---- the parent ---------------------------------------------------------------------------------------------------
 */

static char said[8192]; /* by the child, on standard error */

/* Runs program in a child with that memory, and fails the test where an expectation in it breaks. */
static void in_child(void (*run)(program *p), const char *memory)
{
    int ends[2], status = 0;
    size_t used = 0;
    ssize_t count = 1;
    fflush(NULL);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        program p = {.f = NULL};
        if (setenv("HOSTCUDA_MEMORY", memory, 1) || dup2(ends[1], STDERR_FILENO) < 0 ||
            signal(SIGSEGV, SIG_DFL) == SIG_ERR)
            _exit(255);
        fixture_setup((void **)&p.f);
        run(&p);
        _exit(0);
    }
    close(ends[1]);
    while (count > 0 && used < sizeof said - 1) {
        count = read(ends[0], said + used, sizeof said - 1 - used);
        used += count > 0 ? (size_t)count : 0;
    }
    said[used] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("status %x; it said: %s", (unsigned)status, said);
}

TEST(test_trap)
{
    in_child(trap, "");
}

/* On a GPU freed memory may stay mapped, so that nothing need fault. */
TEST(test_illegal_access)
{
    if (strcmp(BG_DEVICE_KIND, "host") != 0) {
        print_message("skipped: HOSTCUDA_MEMORY=fence belongs to the host device\n");
        skip();
    }
    in_child(stale, "fence,never");
}

TEST(test_replay)
{
    in_child(replay, "");
    EXPECT_IN(said, "step of graph: 1 finding|fault [fault] faulty#0 at ");
}
