/* Starts ranks: each in a process group of its own, with pipes or files for what it prints. */
#include "group.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debug/cli/output/exits.h"
#include "debug/cli/process/orphans.h"

/* ---- sources and sinks ---- */

static bool is_same_file(int a, int b)
{
    struct stat one, other;
    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

void cli_group_open(cli_group *g)
{
    g->sinks[CLI_SINK_OUTPUT].descriptor = STDOUT_FILENO;
    g->sinks[CLI_SINK_ERRORS].descriptor = STDERR_FILENO;
    g->sinks[CLI_SINK_INPUT].descriptor = -1;
}

static cli_source *add_source(cli_group *g, int descriptor, cli_sink *sink)
{
    cli_source *source = &g->sources[g->source_count++];
    *source = (cli_source){.descriptor = descriptor, .sink = sink};
    return source;
}

/* If standard output and errors are one file, they share a sink: two would cut each other's lines. */
static cli_sink *choose_sink(cli_group *g, int stream)
{
    bool same = stream == STDERR_FILENO && is_same_file(STDOUT_FILENO, STDERR_FILENO);
    return &g->sinks[stream == STDOUT_FILENO || same ? CLI_SINK_OUTPUT : CLI_SINK_ERRORS];
}

static void set_prefix(cli_source *source, const cli_ranks *plan, int rank, int stream)
{
    static const int colors[] = {36, 33, 35, 32, 34, 31};
    source->raw = !plan->prefix && plan->count == 1;
    if (plan->prefix && cli_is_colored(stream))
        snprintf(source->prefix, sizeof source->prefix, "\033[%dm[rank %d]\033[0m ", colors[rank % 6], rank);
    else if (plan->prefix)
        snprintf(source->prefix, sizeof source->prefix, "[rank %d] ", rank);
}

/* *end: the write end, for the rank. */
static bool add_pipe(cli_group *g, int stream, int *end)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    set_prefix(add_source(g, ends[0], choose_sink(g, stream)), g->plan, g->started, stream);
    *end = ends[1];
    return true;
}

/* A terminal gives no input to a process group in the background, such as a rank's: the command forwards it. */
static bool add_terminal(cli_group *g, int *end)
{
    int ends[2];
    if (tcgetpgrp(STDIN_FILENO) != getpgrp()) {
        *end = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return *end >= 0;
    }
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    g->sinks[CLI_SINK_INPUT] = (cli_sink){.descriptor = ends[1], .owned = true};
    add_source(g, STDIN_FILENO, &g->sinks[CLI_SINK_INPUT])->raw = true;
    *end = ends[0];
    return true;
}

/* ---- a rank ---- */

typedef struct rank_in_job {
    const cli_job *job;
    int rank;
} rank_in_job;

static int set_rank_environment(const void *user)
{
    const rank_in_job *place = user;
    return cli_job_set_environment(place->job, place->rank);
}

/* Opens the standard streams of the rank; -1: it uses the file in child, or the command's own stream. */
static bool open_streams(cli_group *g, cli_child *child, int streams[3])
{
    bool first = g->started == 0 && g->plan->input;
    if (!first)
        child->input = "/dev/null";
    else if (isatty(STDIN_FILENO) && !add_terminal(g, &streams[STDIN_FILENO]))
        return false;
    return (child->output != NULL || add_pipe(g, STDOUT_FILENO, &streams[STDOUT_FILENO])) &&
           (child->errors != NULL || add_pipe(g, STDERR_FILENO, &streams[STDERR_FILENO]));
}

bool cli_group_start_rank(cli_group *g)
{
    const cli_ranks *plan = g->plan;
    rank_in_job place = {&g->job, g->started};
    int streams[3] = {-1, -1, -1}, error;
    char *output = plan->output != NULL ? cli_rank_output_path(plan->output, g->started, "out") : NULL;
    char *errors = plan->errors != NULL ? cli_rank_output_path(plan->errors, g->started, "err") : NULL;
    cli_child child = {.argv = plan->argv,
                       .set = plan->set,
                       .output = output,
                       .errors = errors,
                       .streams = streams,
                       .prepare = set_rank_environment,
                       .user = &place,
                       .apart = true};
    bool done = false;

    errno = ENOMEM;
    if ((output != NULL || plan->output == NULL) && (errors != NULL || plan->errors == NULL) &&
        open_streams(g, &child, streams))
        done = cli_supervisor_start(&g->keepers[g->started], &child);
    error = errno;
    for (int i = 0; i < 3; i++)
        if (streams[i] >= 0)
            (void)close(streams[i]);
    free(output);
    free(errors);
    g->started += done;
    errno = error;
    return done;
}

void cli_group_signal(const cli_group *g, int signal)
{
    for (int i = 0; i < g->started; i++)
        (void)kill(-g->keepers[i].program, signal);
}

/* ---- what they left ---- */

void cli_group_kill(cli_group *g)
{
    bool kept = true;
    for (int i = 0; i < g->started; i++)
        cli_supervisor_kill_all(&g->keepers[i]);
    for (int i = 0; i < g->started; i++)
        kept = cli_supervisor_wait(&g->keepers[i], g->plan->argv[0]) && kept;
    if (!kept)
        cli_orphans_kill(NULL, NULL);
}

void cli_group_close(cli_group *g)
{
    cli_job_destroy(&g->job);
    for (int i = 0; i < g->source_count; i++)
        cli_source_close(&g->sources[i]);
    for (int i = 0; i < CLI_SINKS; i++)
        cli_sink_close(&g->sinks[i]);
}
