#include "run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <hostcuda/hostcuda.h>

#include "machine.h"
#include "ops.h"
#include "session.h"

/* Only the host device has them. */
#pragma weak hostcuda_seed
#pragma weak hostcuda_count_live

static session begin_session(const program *p, failure *f)
{
    *f = (failure){.kind = PASSED, .where = WAY_OWN};
    if (hostcuda_seed != NULL)
        hostcuda_seed(p->schedule);
    return (session){.program = p, .failure = f, .cells = CELLS, .expects = -1};
}

/* ---- the capture ---- */

static void list_patterns(const program *p, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < p->pattern_count; i++) {
        if (i > 0)
            used += (size_t)snprintf(text + used, bytes - used, ", ");
        pattern_text(&p->patterns[i], text + used, bytes - used);
        used += strlen(text + used);
    }
}

/* value NULL: it is unset. True: it cannot be. */
static bool change_variable(const char *name, const char *value)
{
    return (value != NULL ? setenv(name, value, 1) : unsetenv(name)) != 0;
}

/* What the program sets around its capture, and takes back. */
bool set_environment(session *s, bool on)
{
    static const char *const names[] = {NULL, "off", "forward", "ops", "sync", "step"};
    const program *p = s->program;
    char patterns[PATTERNS * 80];
    bool bad = false;

    list_patterns(p, patterns, sizeof patterns);
    bad |= change_variable("BG_DEBUG", on && p->debug_from_environment ? names[p->debug] : NULL);
    bad |=
        change_variable("BG_EAGER_OPS", on && p->patterns_from_environment && p->pattern_count > 0 ? patterns : NULL);
    bad |= change_variable("BG_BREAKABLE", on && !p->breakable ? "0" : NULL);
    bad |= change_variable("BG_SHADOW", on && s->shadowed ? "1" : NULL);
    if (bad)
        return fails(s, FAILED_CALL, 0, "the environment cannot be changed");
    return bg_ok(s, bg_override_eager(on && !p->patterns_from_environment ? patterns : NULL), "bg_override_eager");
}

static bool capture_with(session *s, const bg_capture_options *options)
{
    bg_capture *capture = NULL;

    if (s->program->whole)
        return check_outcome(s, bg_capture_forward(&s->graph, forward, s, the_machine.streams[0], options),
                             "bg_capture_forward");
    if (!bg_ok(s, bg_capture_begin(&capture, the_machine.streams[0], options), "bg_capture_begin"))
        return false;
    (void)forward(s, the_machine.streams[0]);
    return check_outcome(s, bg_capture_end(capture, &s->graph), "bg_capture_end");
}

bg_capture_options options_of(const session *s, bg_tensor *state)
{
    const program *p = s->program;
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;

    for (int i = 0; i < BUFFERS; i++)
        state[i] = tensor_at(the_machine.buffers[i]);
    state[BUFFERS] = bg_tensor_1d(this_pass.own, pass_dtype(), LENGTH * OUTPUTS * 2 * ELEMENTS);
    options.name = PROGRAM_FILE;
    options.mode = p->mode;
    options.debug = p->debug_from_environment ? BG_DEBUG_FROM_ENV : p->debug;
    options.launch_segments = p->launch;
    options.join_at_end = p->join_at_end;
    options.worker_threads = p->workers;
    options.upload = p->upload;
    options.zero_tail = p->zero_tail;
    options.inline_eager = p->inline_eager;
    options.pool = p->pool ? s->pool : NULL;
    options.state = p->state ? state : NULL;
    options.state_count = p->state ? BUFFERS + 1 : 0;
    return options;
}

static bool capture(session *s)
{
    bg_tensor state[BUFFERS + 1];
    bg_capture_options options = options_of(s, state);
    bool good;

    begin_pass(s, 0, CAPTURED_BODIES);
    if (!reset(s, the_machine.streams[0]))
        return false;
    TRY_CUDA(cudaDeviceSynchronize());
    good = renew_events(s) && set_environment(s, true) && capture_with(s, &options);
    return set_environment(s, false) && good;
}

/* The buffers are what they were. */
static bool check_state(session *s)
{
    const void *inputs = the_machine.host_inputs[this_pass.number];

    TRY_CUDA(cudaDeviceSynchronize());
    TRY_CUDA(cudaMemcpy(the_machine.seen[0], the_machine.buffers, sizeof the_machine.host_inputs[0],
                        cudaMemcpyDeviceToHost));
    if (memcmp(the_machine.seen[0], inputs, sizeof the_machine.host_inputs[0]) != 0)
        return FAILS(FAILED_STATE, "a buffer of options.state is not what it was before the pass");
    return true;
}

/* Nobody can wait for what a body has left on a stream of its own. */
bool check_failed_pass(session *s)
{
    return model_has_op(s->program, OP_TELL, s->expects) || !s->program->state || check_state(s);
}

/* What a capture pass leaves behind. */
static bool check_capture_pass(session *s)
{
    const program *p = s->program;

    TRY_CUDA(cudaDeviceSynchronize());
    if (s->expects >= 0)
        return check_failed_pass(s);
    if (p->state && !p->launch && !check_state(s))
        return false;
    for (int i = 0; i < EVENTS; i++)
        TRY_CUDA(cudaEventQuery(this_pass.events[i]));
    return !p->launch || (gather(s, the_machine.streams[0]) && compare(s, FAILED_CAPTURE, 0, 0));
}

/* The call that an instruction made; false: there is none. */
static bool find_call(const session *s, int i, bg_call_info *info)
{
    *info = (bg_call_info)BG_CALL_INFO_INIT;
    for (int c = 0; bg_graph_get_call(s->graph, c, info) == BG_OK; c++)
        if (strcmp(info->name, s->calls.names[i]) == 0)
            return strcmp(info->file, PROGRAM_FILE) == 0 && info->line == s->program->list[i].line;
    return false;
}

static bool check_calls(session *s)
{
    const program *p = s->program;
    bg_graph_info graph = BG_GRAPH_INFO_INIT;
    bg_call_info call;

    const char *planted = count_rules(s->graph, &counted_rules);

    if (planted != NULL)
        return fails(s, FAILED_CALLS, 0, "the graph has %s, whose rule is wrong", planted);
    if (!bg_ok(s, bg_graph_get_info(s->graph, &graph), "bg_graph_get_info"))
        return false;
    if (p->debug == BG_DEBUG_FORWARD)
        return true;
    if (graph.breaks != s->breaks)
        return fails(s, FAILED_CALLS, 0, "the graph has %d breaks, expected %d", graph.breaks, s->breaks);
    for (int i = 0; i < p->length; i++) {
        if (p->list[i].kind != CALL)
            continue;
        if (!find_call(s, i, &call))
            return fails(s, FAILED_CALLS, 0, "the graph has no call of instruction %d", p->list[i].id);
        if (call.eager != s->calls.eager[i])
            return fails(s, FAILED_CALLS, 0, "%s is %s", call.name, call.eager ? "eager" : "captured");
    }
    return true;
}

/* ---- what is held ---- */

/* The first ones are looked at between replays, too. */
enum { HELD_BYTES, HELD_BLOCKS, HELD_EVENTS, BETWEEN_REPLAYS };
enum { HELD_STREAMS = BETWEEN_REPLAYS, HELD_GRAPHS, HELD_EXECS, HOLDINGS };
typedef struct holdings {
    long long held[HOLDINGS];
} holdings;

/* Counted on the host device alone: a driver keeps memory of its own. */
static holdings count_holdings(void)
{
    struct hostcuda_live live;
    size_t left, total;
    if (hostcuda_count_live == NULL)
        return (holdings){{0}};
    live = hostcuda_count_live();
    released(cudaMemGetInfo(&left, &total), "cudaMemGetInfo");
    return (holdings){{-(long long)left, (long long)live.blocks, (long long)live.events, (long long)live.streams,
                       (long long)live.graphs, (long long)live.execs}};
}

static bool check_holdings(session *s, const holdings *before, const char *since)
{
    holdings more = count_holdings();
    bool same = memcmp(&more, before, sizeof more) == 0;
    for (int i = 0; i < HOLDINGS; i++)
        more.held[i] -= before->held[i];
    return same || FAILS(FAILED_MEMORY,
                         "%s: %lld bytes, %lld blocks, %lld events, %lld streams, %lld graphs and %lld instantiated "
                         "ones more",
                         since, more.held[HELD_BYTES], more.held[HELD_BLOCKS], more.held[HELD_EVENTS],
                         more.held[HELD_STREAMS], more.held[HELD_GRAPHS], more.held[HELD_EXECS]);
}

/* The most that the passes so far have held; a shadow holds more in some than in others. */
static void keep_most(holdings *most, int pass)
{
    holdings now = count_holdings();
    for (int i = 0; i < HOLDINGS; i++)
        if (pass == 1 || now.held[i] > most->held[i])
            most->held[i] = now.held[i];
}

static bool check_growth(session *s, const holdings *most)
{
    holdings more = count_holdings();
    bool grown = false;
    for (int i = 0; i < BETWEEN_REPLAYS; i++) {
        more.held[i] -= most->held[i];
        grown |= more.held[i] > 0;
    }
    return !grown ||
           FAILS(FAILED_MEMORY, "%lld bytes, %lld blocks and %lld events more than in any of the first replays",
                 more.held[HELD_BYTES], more.held[HELD_BLOCKS], more.held[HELD_EVENTS]);
}

bool check_pool(session *s)
{
    bg_pool_stats stats = BG_POOL_STATS_INIT;
    if (!bg_ok(s, bg_pool_get_stats(s->pool, &stats), "bg_pool_get_stats"))
        return false;
    if (stats.in_use == s->in_use)
        return true;
    return FAILS(FAILED_MEMORY, "%zu bytes of the pool are in use after the pass, %zu before", stats.in_use, s->in_use);
}

/* ---- replays ---- */

/* This pass's arguments of the calls whose arguments change. */
static bool change_args(session *s)
{
    const program *p = s->program;
    bg_call_info call;

    for (int i = 0; i < p->length && p->debug != BG_DEBUG_FORWARD; i++) {
        const instruction *in = &p->list[i];
        const bg_op *op = the_machine.ops[in->op][in->eager];
        void *args;
        if (in->kind != CALL || !s->calls.eager[i] || (!in->change_value && in->change_input < 0))
            continue;
        if (!find_call(s, i, &call) || (args = bg_graph_args(s->graph, call.name, op->args_size)) == NULL)
            return FAILS(FAILED_CALL, "instruction %d has no arguments: %s", in->id, bg_last_error());
        *(uint32_t *)field_named(op, args, "k") = value_of(s, i);
        if (in->change_input >= 0)
            ((bg_tensor *)field_named(op, args, "a"))->data = the_machine.buffers[input_of(s, i)];
    }
    return true;
}

/* Gives fresh memory back with other contents: what was freed too early is overwritten. */
static bool churn(session *s)
{
    void *memory[4] = {NULL};
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 4 && error == cudaSuccess; i++) {
        error = cudaMalloc(&memory[i], (size_t)(i + 1) * sizeof(tensor_data));
        if (error == cudaSuccess)
            error = cudaMemset(memory[i], 0xa5, (size_t)(i + 1) * sizeof(tensor_data));
    }
    for (int i = 0; i < 4; i++)
        released(cudaFree(memory[i]), "cudaFree");
    return cuda_ok(s, error, "cudaMalloc or cudaMemset");
}

/* No program here has a fault that bg_check looks for, whatever it does. */
static bool is_clean(session *s)
{
    bg_report *report = NULL;
    bg_finding finding = BG_FINDING_INIT;
    bool clean;
    if (!bg_ok(s, bg_check(s->graph, BG_CHECK_ALL, &report), "bg_check"))
        return false;
    clean = bg_report_count(report) == 0;
    if (!clean && bg_report_get(report, 0, &finding) == BG_OK)
        FAILS(FAILED_CALL, "bg_check found [%s] %s: %s", finding.kind, finding.call, finding.message);
    bg_report_destroy(report);
    return clean;
}

static bool replay(session *s, cudaStream_t stream)
{
    const program *p = s->program;
    if (!p->queued)
        TRY_CUDA(cudaDeviceSynchronize());
    else if (this_pass.number > 1)
        TRY_CUDA(cudaStreamWaitEvent(stream, the_machine.order, 0));
    if ((p->churn && !churn(s)) || !reset(s, stream) || !change_args(s))
        return false;
    if (!p->queued)
        TRY_CUDA(cudaDeviceSynchronize());
    if (!is_clean(s) || !check_outcome(s, bg_replay(s->graph, stream), "bg_replay") || !check_pool(s))
        return false;
    if (!p->queued ||
        s->expects >= 0) /* a body that came before the failure may have left work that nobody waits for */
        TRY_CUDA(cudaDeviceSynchronize());
    if (s->expects < 0 && !gather(s, stream))
        return false;
    return CUDA_OK(cudaEventRecord(the_machine.order, stream));
}

static bool replay_all(session *s)
{
    /* By then each output was everywhere that a body leaves it, some in passes that do not fail. */
    enum { SETTLED = 6 };
    const cudaStream_t streams[] = {the_machine.streams[0], the_machine.extra, the_machine.streams[1],
                                    cudaStreamPerThread};
    holdings most = {0};

    for (int pass = 1; pass <= s->program->replays; pass++) {
        begin_pass(s, pass, REPLAYED_BODIES);
        if (!replay(s, streams[pass % s->program->move]))
            return false;
        if (pass <= SETTLED)
            keep_most(&most, pass);
    }
    if (s->program->replays > SETTLED && !check_growth(s, &most))
        return false;
    return compare(s, FAILED_REPLAY, 1, s->program->replays);
}

/* ---- all of it ---- */

/* Nothing captures any more, whatever went wrong. */
bool check_streams(session *s)
{
    enum cudaStreamCaptureStatus status;
    TRY_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < STREAMS; i++) {
        TRY_CUDA(cudaStreamIsCapturing(the_machine.streams[i], &status));
        if (status != cudaStreamCaptureStatusNone)
            return fails(s, FAILED_CALL, 0, "stream s%d still captures after the end", i);
    }
    return true;
}

bool run_graph(session *s)
{
    bool good = capture(s) && check_streams(s) && check_capture_pass(s) && check_pool(s);
    if (good && s->expects < 0)
        good = check_calls(s) && replay_all(s);
    bg_graph_destroy(s->graph);
    s->graph = NULL;
    return good;
}

/* With memory that is counted, in a pool of its own. */
static bool run_counted(session *s, way w)
{
    holdings before = count_holdings();
    bool good = bg_ok(s, bg_pool_create(&s->pool, NULL), "bg_pool_create");

    good = good && run_way(s, w);
    bg_pool_destroy(s->pool);
    return check_streams(s) && good && check_holdings(s, &before, "since the program began");
}

/* p: as it runs in that way. */
static bool run_so(const program *p, way w, failure *f)
{
    session s = begin_session(p, f);

    f->where = w;
    if (!plan(&s) || !renew_events(&s) || !run_serially(&s))
        return false;
    if (w == WAY_OWN && !p->barriers && !run_freely(&s))
        return false;
    return run_counted(&s, w);
}

bool run_program(const program *p, failure *f)
{
    program other;

    if (!run_so(p, WAY_OWN, f))
        return false;
    for (int w = 0; w < WAY_COUNT; w++)
        if ((p->ways >> w & 1) && model_way(p, (way)w, &other) && !run_so(&other, (way)w, f))
            return false;
    return true;
}

/* ---- for the debugging tools ---- */

bool run_captured(const program *p, bool (*look)(void *user, bg_graph *graph, cudaStream_t stream), void *user,
                  failure *f)
{
    session s = begin_session(p, f);
    bool good;

    good = plan(&s) && upload_inputs(&s) && capture(&s) && check_streams(&s);
    begin_pass(&s, 1, REPLAYED_BODIES);
    good = good && reset(&s, the_machine.streams[0]) && cuda_ok(&s, cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    good = good && look(user, s.graph, the_machine.streams[0]);
    bg_graph_destroy(s.graph);
    return check_streams(&s) && good;
}

static void between(void *user)
{
    session *s = user;
    (void)renew_events(s); /* the failure tells of it */
    if (s->change != NULL)
        s->change();
}

bool run_recapture(const program *p, void (*change)(void), bg_report **report, failure *f)
{
    session s = begin_session(p, f);
    bool good;

    *report = NULL;
    s.change = change;
    begin_pass(&s, 0, CAPTURED_BODIES);
    good = plan(&s) && upload_inputs(&s) && renew_events(&s) && set_environment(&s, true);
    good = good &&
           bg_ok(&s, bg_check_recapture(forward, &s, between, the_machine.streams[0], report), "bg_check_recapture");
    good = set_environment(&s, false) && good && f->kind == PASSED;
    return check_streams(&s) && good;
}

bool run_shadowed(const program *p, bg_report **report, failure *f)
{
    session s = begin_session(p, f);
    bool good = plan(&s) && upload_inputs(&s) && shadow(&s, report);
    return check_streams(&s) && good;
}
