/* The fault sweep: every CUDA call of every scenario fails once, each in a process of its own. Nothing may crash, leak
 * or go unsaid, and all must work afterwards. Host device only. */
#include "tests/support/test.h"
#include "tests/support/sweep/sweep.h"

#include <hostcuda/hostcuda.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma weak hostcuda_fail
#pragma weak hostcuda_faults
#pragma weak hostcuda_record
#pragma weak hostcuda_call
#pragma weak hostcuda_calls
#pragma weak hostcuda_count_live

enum { CALLS_MAX = 1000, TEXT_BYTES = 4000, SECONDS_MAX = 60, COMPLAINTS_MAX = 20 };

#define DID_NOT_HAPPEN "the fault did not happen"

/* What happens to a scenario. */
typedef struct fault {
    cudaError_t code;
    bool later;   /* the device fails at the next wait */
    bool pending; /* the caller has an error of its own */
} fault;

/* ---- in the child ----------------------------------------------------------------------------------------------- */

static FILE *report;          /* what is wrong, for the parent */
static char said[TEXT_BYTES]; /* on stderr */

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(report, __VA_ARGS__);                                                                              \
            fprintf(report, "; ");                                                                                     \
        }                                                                                                              \
    } while (0)

static void set_up(sweep_scene *s)
{
    memset(s, 0, sizeof *s);
    EXPECT_CUDA(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaStreamCreateWithFlags(&s->other, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaMalloc((void **)&s->memory, 5 * N * sizeof(float)));
    EXPECT_CUDA(cudaMemset(s->memory, 0, 5 * N * sizeof(float)));
    s->x = bg_tensor_1d(s->memory, BG_F32, N);
    put(&s->x, 1);
    assert_int_equal(cublasCreate(&s->cublas), CUBLAS_STATUS_SUCCESS);
    s->y = bg_tensor_1d(s->memory + N, BG_F32, N);
    s->z = bg_tensor_1d(s->memory + 2 * N, BG_F32, N);
    s->elsewhere = s->memory + 3 * N;
    s->garbage = s->memory + 4 * N;
}

static void tear_down(const sweep_scene *s)
{
    EXPECT_CUDA(cudaStreamDestroy(s->stream));
    EXPECT_CUDA(cudaStreamDestroy(s->other));
    EXPECT_CUDA(cudaFree(s->memory));
    assert_int_equal(cublasDestroy(s->cublas), CUBLAS_STATUS_SUCCESS);
}

static float result_of(const sweep_scene *s)
{
    float host[N];
    if (cudaDeviceSynchronize() != cudaSuccess ||
        cudaMemcpy(host, s->z.data, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess)
        return -1;
    for (int i = 1; i < N; i++)
        if (host[i] != host[0])
            return -2;
    return host[0];
}

static void check_usable(cudaStream_t stream, const sweep_scene *s, const char *which)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusActive;
    cudaError_t error = cudaStreamIsCapturing(stream, &capturing);
    CHECK(error == cudaSuccess && capturing == cudaStreamCaptureStatusNone, "%s still captures", which);
    error = bgk_fill(s->z.data, 77, N, stream);
    CHECK(error == cudaSuccess, "%s is not usable: %s", which, cudaGetErrorName(error));
    CHECK(result_of(s) == 77, "%s computes %g where 77 is right", which, (double)result_of(s));
}

static bool is_one_of(const char *call, const char *const *names)
{
    while (*names != NULL && strcmp(*names, call) != 0)
        names++;
    return *names != NULL;
}

/* What gives something back has no status to return, and the thing is lost: a line on stderr says so. */
static const char *const releases[] = {"cudaFree",
                                       "cudaEventDestroy",
                                       "cudaGraphDestroy",
                                       "cudaGraphExecDestroy",
                                       "cudaThreadExchangeStreamCaptureMode",
                                       "cuMemUnmap",
                                       "cuMemRelease",
                                       "cuMemAddressFree",
                                       NULL};

/* Failures that rightly have no effect, each in the scenarios named or, where there are none, in all. */
static const struct {
    const char *call, *why, *scenarios[5];
} without_effect[] = {
    {"cudaMemGetInfo", "after the capture: a figure of bg_graph_info stays 0", {NULL}},
    {"cuMemAddressReserve", "for want of memory a pool takes half of the addresses, and says so", {NULL}},
    {"cudaLaunchKernelExC",
     "in the body of a rule's op, in a proof: the rule is not used, which is told",
     {"compiled", NULL}},
    {"cudaMalloc", "for want of memory a proof keeps no copies of what is only read", {"compiled", NULL}},
    {"cudaThreadExchangeStreamCaptureMode", "as above", {"compiled", NULL}},
    {"cudaStreamEndCapture",
     "nobody wants the graph, and a second call ends the capture",
     {"aborted", "state_restored", NULL}},
    {"cudaEventRecord",
     "when a graph goes: the pool then orders its next use by the stream itself",
     {"pooled", "pooled_cublas", "runner", "runner_lazy", NULL}},
    {"cudaStreamIsCapturing", "as above", {"pooled", "pooled_cublas", "runner", "runner_lazy", NULL}},
};

static bool is_without_effect(const char *call, const char *scenario)
{
    for (size_t i = 0; i < sizeof without_effect / sizeof *without_effect; i++)
        if (!strcmp(without_effect[i].call, call) &&
            (without_effect[i].scenarios[0] == NULL || is_one_of(scenario, without_effect[i].scenarios)))
            return true;
    return false;
}

/* bg_capture_abort has no status either: a line on stderr says that options.state is not what it was. */
static bool is_state_lost(void)
{
    return strstr(said, "options.state could not be restored") != NULL;
}

/* bg_graph_destroy could not wait for the work that reads closures, or note it for the next use of the pool. */
static bool is_not_waited_for(void)
{
    return strstr(said, "which may still read closures that are now destroyed") != NULL ||
           strstr(said, "until the pool is used again, or that use may begin before the replay has ended") != NULL;
}

/* A proof failed: the graph is right without the rule. */
static bool is_rule_unused(void)
{
    return strstr(said, "[fusion-differs]") != NULL || strstr(said, "[fusion-unproven]") != NULL;
}

/* A graph that could not be destroyed keeps the memory of its allocation nodes. */
static bool keeps_memory(const char *call)
{
    return !strcmp(call, "cudaGraphDestroy") || !strcmp(call, "cudaGraphExecDestroy") || !strcmp(call, "cuMemUnmap");
}

static void check_live(struct hostcuda_live before, const char *call)
{
    struct hostcuda_live now = hostcuda_count_live();
    const struct {
        const char *what, *release;
        size_t before, now;
    } kinds[] = {
        {"allocations", "cudaFree", before.blocks, now.blocks},
        {"streams", "cudaStreamDestroy", before.streams, now.streams},
        {"events", "cudaEventDestroy", before.events, now.events},
        {"graphs", "cudaGraphDestroy", before.graphs, now.graphs},
        {"executable graphs", "cudaGraphExecDestroy", before.execs, now.execs},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t lost = call != NULL && (!strcmp(call, kinds[i].release) || (i == 0 && keeps_memory(call)));
        CHECK(kinds[i].now <= kinds[i].before + lost, "%zu %s before, %zu after", kinds[i].before, kinds[i].what,
              kinds[i].now);
    }
}

/* The failure is told, by a status with a sentence or, where there is no status, by a line on stderr. */
static void check_told(const sweep_scene *s, const char *call, cudaError_t code, const sweep_scenario *scenario)
{
    if (s->own_failed) {
        CHECK(s->status == BG_ERROR_CUDA || s->status == BG_ERROR_CUBLAS || s->status == BG_ERROR_OP,
              "the scenario's own call failed, the status is %s: %s", bg_status_name(s->status), s->message);
    } else if (s->status != BG_OK) {
        CHECK(s->stepped || strstr(s->message, call) != NULL, "the sentence does not name the call: \"%s\"",
              s->message);
        CHECK(!strncmp(call, "cublas", 6) || strstr(s->message, cudaGetErrorName(code)) != NULL,
              "the sentence does not name the error: \"%s\"", s->message);
    } else if (!is_without_effect(call, scenario->name)) {
        CHECK((is_one_of(call, releases) || is_state_lost() || is_not_waited_for() || is_rule_unused()) &&
                  strstr(said, call) != NULL && strstr(said, cudaGetErrorName(code)) != NULL,
              "nothing tells of the failure: the status is BG_OK, on stderr stands \"%s\"", said);
    }
    if ((s->status == BG_OK || s->recovered) && !is_state_lost())
        CHECK(result_of(s) == scenario->result, "the status is %s, and the result %g where %g is right",
              bg_status_name(s->status), (double)result_of(s), (double)scenario->result);
}

/* bg_replay does not look for an error of the caller's. */
static void check_pending(const sweep_scene *s, const fault *fault, cudaError_t left)
{
    if (fault->pending && !s->replay_failed)
        CHECK(left != cudaSuccess, "the caller's pending error is gone");
    else if (s->own_failed)
        CHECK(left != cudaSuccess || s->status == BG_ERROR_CUBLAS, "the error of the scenario's own call is gone");
    else if (!fault->pending)
        CHECK(left == cudaSuccess, "%s is left pending", cudaGetErrorName(left));
}

static void run_again(const sweep_scenario *scenario, sweep_scene *s)
{
    struct hostcuda_live before = hostcuda_count_live();
    sweep_run(scenario, s);
    CHECK(s->status == BG_OK, "run again, it fails: %s", s->message);
    CHECK(result_of(s) == scenario->result, "run again, the result is %g where %g is right", (double)result_of(s),
          (double)scenario->result);
    check_live(before, NULL);
    CHECK(cudaGetLastError() == cudaSuccess, "run again, it leaves an error pending");
}

static void read_said(FILE *file)
{
    fflush(stderr);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = 0;
}

/* From now on stderr goes to a file. */
static FILE *redirect_stderr(void)
{
    FILE *file = tmpfile();
    if (file == NULL || dup2(fileno(file), STDERR_FILENO) < 0) {
        fprintf(report, "stderr cannot be redirected");
        exit(1);
    }
    return file;
}

static void check_no_garbage(const sweep_scene *s)
{
    float value = -1;
    cudaError_t error = cudaMemcpy(&value, s->garbage, sizeof value, cudaMemcpyDeviceToHost);
    CHECK(error == cudaSuccess && value == 0, "what was launched after the failure ran");
}

static void check_now(const sweep_scenario *scenario, sweep_scene *s, const fault *fault, const char *call,
                      struct hostcuda_live before)
{
    cudaError_t left = cudaGetLastError();
    check_pending(s, fault, left != cudaSuccess ? left : s->left);
    CHECK(cudaDeviceSynchronize() == cudaSuccess, "the device is not usable");
    check_told(s, call, fault->code, scenario);
    check_live(before, call);
    check_no_garbage(s);
    CHECK(!s->retry_failed, "a replay after the failed one fails, too: %s", said);
    CHECK(bg_current_phase() == BG_PHASE_PLAIN, "the thread's phase is %d", (int)bg_current_phase());
    check_usable(s->stream, s, "the stream");
    check_usable(s->other, s, "the other stream");
    run_again(scenario, s);
}

/* The device is lost: nothing may hang, and what is not memory must be given back all the same. */
static void check_later(const sweep_scene *s, const fault *fault, struct hostcuda_live before)
{
    struct hostcuda_live now = hostcuda_count_live();
    CHECK(s->status == BG_OK || s->own_failed || strstr(s->message, cudaGetErrorName(fault->code)) != NULL,
          "the sentence does not name the error: \"%s\"", s->message);
    CHECK(cudaDeviceSynchronize() == fault->code, "the fault does not come up");
    CHECK(now.events == before.events, "%zu events before, %zu after", before.events, now.events);
    CHECK(now.graphs == before.graphs, "%zu graphs before, %zu after", before.graphs, now.graphs);
    CHECK(now.execs == before.execs, "%zu executable graphs before, %zu after", before.execs, now.execs);
}

/* False: something is lost, as it must be then, so that this process has leaks. */
static bool run_faulty(const sweep_scenario *scenario, const fault *fault, int nth)
{
    static sweep_scene s; /* what is lost stays reachable */
    char request[64];
    FILE *file = redirect_stderr();
    set_up(&s);
    struct hostcuda_live before = hostcuda_count_live();
    if (fault->pending)
        CHECK(cudaSetDevice(-1) == cudaErrorInvalidDevice, "no error is pending");
    snprintf(request, sizeof request, "*@%d%c%d", nth, fault->later ? '~' : '=', (int)fault->code);
    hostcuda_record(1);
    CHECK(hostcuda_fail(request) == 0, "%s is ill-formed", request);
    sweep_run(scenario, &s);
    const char *call = hostcuda_call((size_t)nth - 1);
    CHECK(hostcuda_faults() == 1 && call != NULL, DID_NOT_HAPPEN);
    hostcuda_fail(NULL);
    hostcuda_record(0);
    read_said(file);
    fclose(file);
    if (call == NULL)
        return false;
    if (fault->later) {
        check_later(&s, fault, before);
        return false;
    }
    check_now(scenario, &s, fault, call, before);
    tear_down(&s);
    return !is_one_of(call, releases);
}

/* Tells the parent all calls' names. */
static void run_clean(const sweep_scenario *scenario)
{
    sweep_scene s;
    set_up(&s);
    struct hostcuda_live before = hostcuda_count_live();
    hostcuda_record(1);
    sweep_run(scenario, &s);
    hostcuda_record(0);
    for (size_t i = 0; hostcuda_call(i) != NULL; i++)
        fprintf(report, "%s\n", hostcuda_call(i));
    CHECK(s.status == BG_OK, "!without a fault it fails: %s", s.message);
    CHECK(result_of(&s) == scenario->result, "!the result is %g", (double)result_of(&s));
    check_live(before, NULL);
    tear_down(&s);
}

/* Ends with 0 unless there is a leak that a sanitizer knows of. */
static void run_as_child(const sweep_scenario *scenario, const fault *fault, int nth)
{
    bool whole = true;
    alarm(SECONDS_MAX);
    if (nth == 0)
        run_clean(scenario);
    else
        whole = run_faulty(scenario, fault, nth);
    fclose(report);
    if (!whole)
        _exit(0);
    exit(0);
}

/* ---- in the parent ---------------------------------------------------------------------------------------------- */

/* Runs a scenario in a child, and gives its exit status and what it reports. nth 0: without a fault. */
static int run_child(const sweep_scenario *scenario, const fault *fault, int nth, char *text, size_t bytes)
{
    int ends[2], status = -1;
    size_t used = 0;
    ssize_t count = 0;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        report = fdopen(ends[1], "w");
        if (report == NULL)
            _exit(1);
        run_as_child(scenario, fault, nth);
    }
    close(ends[1]);
    while ((count = read(ends[0], text + used, bytes - 1 - used)) > 0)
        used += (size_t)count;
    text[used] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

typedef struct names {
    char text[CALLS_MAX * 40];
    const char *call[CALLS_MAX];
    int count;
} names;

static void count_calls(const sweep_scenario *scenario, names *calls)
{
    int status = run_child(scenario, NULL, 0, calls->text, sizeof calls->text);
    calls->count = 0;
    for (char *line = strtok(calls->text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (line[0] == '!')
            fail_msg("%s: %s", scenario->name, line + 1);
        assert_true(calls->count < CALLS_MAX);
        calls->call[calls->count++] = line;
    }
    if (status != 0)
        fail_msg("%s without a fault: status %d", scenario->name, status);
    assert_true(calls->count > 0);
}

/* How many complain. */
static int sweep_scenario_with(const sweep_scenario *scenario, const fault *fault, int *counted, int *injected)
{
    const int stride = by_size(41, 8, 1);
    static names calls;
    char text[TEXT_BYTES];
    int complaints = 0;
    count_calls(scenario, &calls);
    *counted += (calls.count + stride - 1) / stride;
    for (int nth = 1; nth <= calls.count && complaints < COMPLAINTS_MAX; nth += stride) {
        int status = run_child(scenario, fault, nth, text, sizeof text);
        *injected += strstr(text, DID_NOT_HAPPEN) == NULL;
        if (status == 0 && text[0] == '\0')
            continue;
        complaints++;
        print_error("%s, call %d of %d, %s%s%s%s: ", scenario->name, nth, calls.count, calls.call[nth - 1],
                    fault->later ? "~" : "=", cudaGetErrorName(fault->code), fault->pending ? ", one pending" : "");
        if (WIFSIGNALED(status))
            print_error("killed by signal %d (%s); ", WTERMSIG(status), strsignal(WTERMSIG(status)));
        else if (status != 0)
            print_error("exit status %d; ", WEXITSTATUS(status));
        print_error("%s\n", text);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
            break; /* others may hang, too */
    }
    return complaints;
}

static void sweep(const char *what, const fault *fault)
{
    int counted = 0, injected = 0, complaints = 0;
    for (int i = 0; i < sweep_scenario_count; i++)
        complaints += sweep_scenario_with(&sweep_scenarios[i], fault, &counted, &injected);
    print_message("%d scenarios, %d CUDA calls, %s: %d faults injected, %d not dealt with\n", sweep_scenario_count,
                  counted, what, injected, complaints);
    assert_int_equal(injected, counted);
    assert_int_equal(complaints, 0);
}

TESTS_ON_HOST_DEVICE("that calls fail on request");

TEST(test_each_call_fails)
{
    sweep("each failing once", &(fault){.code = cudaErrorNotPermitted});
}

TEST(test_each_call_fails_for_want_of_memory)
{
    sweep("each failing once for want of memory", &(fault){.code = cudaErrorMemoryAllocation});
}

TEST(test_each_call_fails_as_captures_do)
{
    sweep("each failing once as captures do", &(fault){.code = cudaErrorStreamCaptureUnjoined});
}

TEST(test_each_call_fails_with_an_error_pending)
{
    sweep("each failing once, with an error of the caller's pending",
          &(fault){.code = cudaErrorNotPermitted, .pending = true});
}

TEST(test_the_device_fails_after_each_call)
{
    sweep("the device failing after each", &(fault){.code = cudaErrorIllegalAddress, .later = true});
}
