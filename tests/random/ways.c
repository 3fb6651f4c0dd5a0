/* The ways to run a program beside those of a capture's own options: bg_forward_run, runners, shadows. */
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "ops.h"
#include "session.h"

enum { BUCKET = 4, LARGER = 8 };

/* ---- what is said on standard error ---- */

typedef struct ear {
    FILE *file;
    int kept;
} ear;

static bool open_ear(session *s, ear *e)
{
    e->file = tmpfile();
    e->kept = e->file == NULL ? -1 : dup(STDERR_FILENO);
    fflush(stderr);
    if (e->kept >= 0 && dup2(fileno(e->file), STDERR_FILENO) >= 0)
        return true;
    return fails(s, FAILED_CALL, 0, "standard error cannot be heard");
}

/* A rule that cannot be proven on what the pass holds now, such as zeros, is told of, and not used. */
static bool is_of_unproven(const char *line)
{
    static const char *const begins[] = {"compile of ", "fault [fusion-differs] planted[", "note [fusion-", " "};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(line, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* allowed: whatever was said. Else nothing else may have been. */
static bool close_ear(session *s, ear *e, bool allowed)
{
    char text[400] = "";
    bool good = true, other = false;

    fflush(stderr);
    if (e->kept >= 0)
        good = dup2(e->kept, STDERR_FILENO) >= 0 && close(e->kept) == 0;
    if (e->file != NULL) {
        rewind(e->file);
        while (!other && fgets(text, sizeof text, e->file) != NULL)
            other = !is_of_unproven(text);
        good &= fclose(e->file) == 0;
    }
    if (other && !allowed)
        return FAILS(FAILED_FINDING, "on standard error: %s", text);
    return good || fails(s, FAILED_CALL, 0, "standard error is not what it was");
}

/* A step tells of a body that fails. */
static bool run_heard(session *s)
{
    ear e;
    bool good = open_ear(s, &e) && run_graph(s);
    return close_ear(s, &e, s->program->faults >= FAULTS_RETURNED) && good;
}

/* ---- bg_forward_run ---- */

static bool run_forward(session *s, int pass)
{
    const cudaStream_t stream = the_machine.streams[0];
    bg_tensor state[BUFFERS + 1];
    const bg_capture_options options = options_of(s, state);
    bool good;

    begin_pass(s, pass, ALL_BODIES);
    if (!renew_events(s) || !reset(s, stream) || !set_environment(s, true))
        return false;
    good = check_outcome(s, bg_forward_run(forward, s, stream, &options), "bg_forward_run");
    if (!set_environment(s, false) || !good || (s->expects < 0 && !gather(s, stream)))
        return false; /* nothing but the stream's own order is waited for */
    if (!check_streams(s) || !check_pool(s))
        return false;
    return s->expects < 0 || check_failed_pass(s);
}

static bool run_forwards(session *s)
{
    for (int pass = 0; pass <= s->program->replays; pass++)
        if (!run_forward(s, pass))
            return false;
    return compare(s, FAILED_EAGER, 0, s->program->replays);
}

/* ---- runners ---- */

static bg_status forward_in_runner(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    (void)context;
    return forward(user, stream);
}

/* Between a warm-up and the capture that follows, the buffers hold what the former has made. Events of the warm-up are
 * not the capture's to wait for. */
static bg_status prepare_pass(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    session *s = user;
    bool good = true;

    if (context->phase == BG_PHASE_CAPTURE)
        good = gather(s, stream) && renew_events(s);
    if (context->phase == BG_PHASE_CAPTURE || context->phase == BG_PHASE_WARMUP)
        begin_pass(s, 0, context->phase == BG_PHASE_WARMUP ? ALL_BODIES : CAPTURED_BODIES);
    return good && reset(s, stream) ? BG_OK : BG_ERROR_CUDA;
}

static bool make_runner(session *s, bg_mode mode, bg_runner **runner)
{
    const program *p = s->program;
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;

    config.mode = mode;
    config.schedule = "4";
    config.max_tokens = BUCKET;
    config.debug = p->debug;
    config.worker_threads = p->workers;
    config.prepare = prepare_pass;
    config.callback_user = s;
    return bg_ok(s, bg_runner_create(runner, &config, forward_in_runner, s, the_machine.streams[0]),
                 "bg_runner_create");
}

/* Whether the bucket is captured, as it must be where no call of its passes fails. */
static bool capture_bucket(session *s, bg_runner *runner, bool *captured)
{
    bg_status status = bg_runner_capture(runner);

    *captured = false;
    TRY_CUDA(cudaDeviceSynchronize());
    if (!check_outcome(s, status, "bg_runner_capture") || !check_streams(s) || !check_pool(s))
        return false;
    *captured = s->expects < 0;
    return !*captured || compare(s, FAILED_EAGER, 0, 0);
}

static bool run_batch(session *s, bg_runner *runner, int pass, int tokens, bool replayed)
{
    const bg_batch batch = {.tokens = tokens, .requests = tokens, .max_query_len = 1};
    bg_reason why;

    begin_pass(s, pass, replayed ? REPLAYED_BODIES : ALL_BODIES);
    if (bg_runner_can_run(runner, &batch, &why) != replayed)
        return fails(s, FAILED_CALLS, pass, "a batch of %d tokens does not run %s; reason %d", tokens,
                     replayed ? "by a graph" : "eagerly", (int)why);
    if (!check_outcome(s, bg_runner_run(runner, &batch, NULL, NULL, NULL), "bg_runner_run"))
        return false;
    if (s->expects < 0 && !gather(s, the_machine.streams[0]))
        return false;
    if (!check_streams(s) || !check_pool(s))
        return false;
    return s->expects >= 0 || compare(s, replayed ? FAILED_REPLAY : FAILED_EAGER, pass, pass);
}

static bool use_runner(session *s, bg_runner *runner, bg_mode mode)
{
    bool captured = false, good = set_environment(s, true);

    if (good && mode != BG_MODE_NONE)
        good = capture_bucket(s, runner, &captured);
    for (int pass = 1; pass <= s->program->replays && good; pass++) {
        int tokens = pass % 2 ? BUCKET : LARGER;
        good = run_batch(s, runner, pass, tokens, captured && tokens == BUCKET);
    }
    return set_environment(s, false) && good;
}

static bool run_runner(session *s, bg_mode mode)
{
    bg_pool *own = s->pool;
    bg_runner *runner = NULL;
    ear e;
    bool good;

    good = open_ear(s, &e) && renew_events(s) && make_runner(s, mode, &runner);
    if (good) {
        s->pool = bg_runner_pool(runner);
        good = use_runner(s, runner, mode);
    }
    s->pool = own;
    bg_runner_destroy(runner);
    return close_ear(s, &e, s->program->faults >= FAULTS_RETURNED) && good; /* a bucket that fails is told of */
}

/* ---- shadows ---- */

/* Buffers and a body's own memory are what passes change, by plain CUDA calls, too. */
bool shadow(session *s, bg_report **report)
{
    bg_compare_options options = BG_COMPARE_OPTIONS_INIT;
    bg_tensor state[BUFFERS + 1];
    bool good;

    *report = NULL;
    (void)options_of(s, state);
    options.state = state;
    options.state_count = sizeof state / sizeof *state;
    begin_pass(s, 0, ALL_BODIES);
    good = reset(s, the_machine.streams[0]) && renew_events(s) && set_environment(s, true);
    good = good && bg_ok(s, bg_shadow(forward, s, the_machine.streams[0], &options, report), "bg_shadow");
    return set_environment(s, false) && good && s->failure->kind == PASSED;
}

static bool find_nothing(session *s)
{
    bg_report *report = NULL;
    bg_finding finding = BG_FINDING_INIT;
    bool good = shadow(s, &report);

    if (good && bg_report_get(report, 0, &finding) == BG_OK)
        good = fails(s, FAILED_FINDING, 0, "bg_shadow found [%s] %s: %s", finding.kind, finding.call, finding.message);
    bg_report_destroy(report);
    return good;
}

/* ---- all of them ---- */

bool run_way(session *s, way w)
{
    bool good;

    s->shadowed = w == WAY_SHADOWED;
    this_pass.drains = w == WAY_DEBUG_STEP; /* outputs are looked at when a call ends */
    if (w == WAY_FORWARD_RUN || w == WAY_SHADOW || s->shadowed || (w >= WAY_RUNNER && w <= WAY_RUNNER_FORWARD))
        s->cells = BUFFERS;
    switch (w) {
    case WAY_FORWARD_RUN: good = run_forwards(s); break;
    case WAY_RUNNER:
    case WAY_RUNNER_FORWARD: good = run_runner(s, BG_MODE_PIECEWISE); break;
    case WAY_RUNNER_FULL: good = run_runner(s, BG_MODE_FULL); break;
    case WAY_RUNNER_NONE: good = run_runner(s, BG_MODE_NONE); break;
    case WAY_SHADOW: good = find_nothing(s); break;
    case WAY_SHADOWED:
    case WAY_DEBUG_STEP: good = run_heard(s); break;
    default: good = run_graph(s); break;
    }
    this_pass.drains = false;
    return good;
}
