/* One loop waits for all events of ranks: output, room in a sink, ends, signals, deadlines. */
#include "cli_ranks.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug/cli/process/signals.h"
#include "group.h"

static const double grace_seconds = 2; /* seconds between SIGTERM and SIGKILL */

typedef enum phase { RUNNING, PATIENT, ENDING, KILLED } phase;

typedef struct ranks_run {
    cli_group group;
    cli_ranks_end *told;
    phase phase;
    double deadline; /* 0: none */
    int running;
    bool ended[CLI_RANKS_MOST];
} ranks_run;

/* ---- ending ---- */

static void terminate_ranks(ranks_run *w)
{
    w->told->others = w->running;
    cli_group_signal(&w->group, SIGTERM);
    cli_group_signal(&w->group, SIGCONT);
    w->phase = ENDING;
    w->deadline = cli_monotonic_seconds() + grace_seconds;
}

static void record_running(ranks_run *w)
{
    char *still = w->told->still;
    size_t used = 0, room = sizeof w->told->still;
    for (int i = 0; i < w->group.started && used < room; i++)
        if (!w->ended[i])
            used += (size_t)snprintf(still + used, room - used, "%s%d", used > 0 ? ", " : "", i);
}

static void handle_deadline(ranks_run *w)
{
    if (w->phase == RUNNING) {
        w->told->end = (cli_end){.how = CLI_TIMED_OUT};
        record_running(w);
    }
    if (w->phase <= PATIENT) {
        terminate_ranks(w);
    } else {
        cli_group_signal(&w->group, SIGKILL);
        w->phase = KILLED;
        w->deadline = 0;
    }
}

static void handle_signal(ranks_run *w, int signal)
{
    if (w->phase > PATIENT) {
        if (signal != SIGTERM) /* timeout(1) sends it twice: to the command, and to its group */
            handle_deadline(w);
    } else {
        w->told->end = (cli_end){.how = CLI_STOPPED, .code = signal};
        terminate_ranks(w);
    }
}

static int failure_weight(const cli_end *end)
{
    if (end->how != CLI_EXITED)
        return 3;
    return end->code == 0 ? 0 : end->code == 125 ? 1 : 2;
}

static void record_end(ranks_run *w, int rank, const cli_end *end)
{
    w->ended[rank] = true;
    w->running--;
    if (w->phase <= PATIENT && failure_weight(end) > failure_weight(&w->told->end)) {
        w->told->end = *end;
        w->told->pid = w->group.keepers[rank].program;
    }
}

static void collect_ends(ranks_run *w)
{
    for (int i = 0; i < w->group.started; i++) {
        cli_end end = {.rank = i};
        if (!w->ended[i] && cli_supervisor_poll_end(&w->group.keepers[i], &end))
            record_end(w, i, &end);
    }
}

static void handle_failures(ranks_run *w)
{
    int weight = failure_weight(&w->told->end);
    double patient = cli_monotonic_seconds() + w->group.plan->patience;
    if (w->phase > PATIENT || weight == 0)
        return;
    if (weight == 3 || w->group.plan->patience <= 0) {
        terminate_ranks(w);
    } else if (w->phase == RUNNING) {
        w->phase = PATIENT;
        w->deadline = w->deadline > 0 && w->deadline < patient ? w->deadline : patient;
    }
}

/* ---- waiting ---- */

typedef struct poll_set {
    struct pollfd polled[1 + CLI_SOURCES_MOST + CLI_SINKS];
    cli_source *sources[CLI_SOURCES_MOST];
    cli_sink *sinks[CLI_SINKS];
    nfds_t source_count, sink_count;
} poll_set;

static void collect_poll_set(ranks_run *w, poll_set *all)
{
    nfds_t count = 1;
    all->source_count = all->sink_count = 0;
    all->polled[0] = (struct pollfd){.fd = cli_signals_descriptor(), .events = POLLIN};
    for (int i = 0; i < w->group.source_count; i++)
        if (cli_source_ready(&w->group.sources[i])) {
            all->sources[all->source_count++] = &w->group.sources[i];
            all->polled[count++] = (struct pollfd){.fd = w->group.sources[i].descriptor, .events = POLLIN};
        }
    for (int i = 0; i < CLI_SINKS; i++)
        if (cli_sink_has_bytes(&w->group.sinks[i])) {
            all->sinks[all->sink_count++] = &w->group.sinks[i];
            all->polled[count++] = (struct pollfd){.fd = w->group.sinks[i].descriptor, .events = POLLOUT};
        }
}

/* Milliseconds for poll. */
static int milliseconds_until(double deadline)
{
    double left = deadline - cli_monotonic_seconds();
    if (deadline <= 0)
        return -1;
    return left <= 0 ? 0 : (int)((left < 1e6 ? left : 1e6) * 1000) + 1;
}

/* Closes the sources of a sink that nobody reads, so that a rank which writes to it gets SIGPIPE. */
static void close_unused(ranks_run *w)
{
    cli_group *g = &w->group;
    for (int i = 0; i < g->source_count; i++)
        if (g->sources[i].sink->gone)
            cli_source_close(&g->sources[i]);
    for (int i = 0; i < CLI_SINKS; i++) {
        bool used = cli_sink_has_bytes(&g->sinks[i]);
        for (int k = 0; k < g->source_count; k++)
            used = used || (g->sources[k].descriptor >= 0 && g->sources[k].sink == &g->sinks[i]);
        if (!used && g->sinks[i].owned)
            cli_sink_close(&g->sinks[i]);
    }
}

/* Waits for one event or the deadline, and handles what came. *interrupted: a signal to the command; 0: none. */
static void wait_for_event(ranks_run *w, double deadline, int *interrupted)
{
    poll_set all;
    const struct pollfd *next = all.polled + 1;
    int signal;

    *interrupted = 0;
    collect_poll_set(w, &all);
    if (poll(all.polled, 1 + all.source_count + all.sink_count, milliseconds_until(deadline)) <= 0)
        return;
    for (nfds_t i = 0; i < all.source_count; i++, next++)
        if (next->revents != 0)
            cli_source_read(all.sources[i]);
    for (nfds_t i = 0; i < all.sink_count; i++, next++)
        if (next->revents != 0)
            cli_sink_write(all.sinks[i]);
    close_unused(w);
    while ((signal = cli_signals_pop(NULL)) != 0)
        if (signal != SIGCHLD)
            *interrupted = signal;
}

static void wait_for_ranks(ranks_run *w)
{
    int signal;
    while (w->running > 0) {
        wait_for_event(w, w->deadline, &signal);
        collect_ends(w);
        handle_failures(w);
        if (signal != 0)
            handle_signal(w, signal);
        else if (w->deadline > 0 && cli_monotonic_seconds() >= w->deadline && w->running > 0)
            handle_deadline(w);
    }
}

/* Writes what the ranks have printed; a signal ends that. */
static void write_remaining_output(ranks_run *w)
{
    cli_group *g = &w->group;
    bool more = true;
    int signal = 0;
    while (more && signal == 0) {
        more = false;
        for (int i = 0; i < g->source_count; i++) {
            cli_source_finish(&g->sources[i]);
            more = more || (g->sources[i].descriptor >= 0 && !g->sources[i].sink->gone);
        }
        for (int i = 0; i < CLI_SINKS; i++)
            more = more || cli_sink_has_bytes(&g->sinks[i]);
        if (more)
            wait_for_event(w, 0, &signal);
    }
}

/* ---- all of it ---- */

static void start_ranks(ranks_run *w)
{
    cli_group *g = &w->group;
    bool started = cli_job_create(&g->job, g->plan->count);
    while (started && g->started < g->plan->count) {
        started = cli_group_start_rank(g);
        w->running += started;
    }
    if (started)
        return;
    w->told->end = (cli_end){.how = CLI_UNSTARTED, .code = errno, .rank = g->started};
    terminate_ranks(w);
}

void cli_ranks_run(const cli_ranks *ranks, cli_ranks_end *end)
{
    double began = cli_monotonic_seconds();
    ranks_run w = {.group = {.plan = ranks}, .told = end};

    *end = (cli_ranks_end){.end = {.how = CLI_EXITED}};

    w.deadline = ranks->timeout > 0 ? began + ranks->timeout : 0;
    cli_group_open(&w.group);
    start_ranks(&w);
    wait_for_ranks(&w);
    cli_group_kill(&w.group);
    for (int i = 0; i < w.group.source_count; i++)
        if (w.group.sources[i].descriptor == STDIN_FILENO)
            cli_source_close(&w.group.sources[i]);
    cli_sink_close(&w.group.sinks[CLI_SINK_INPUT]);
    write_remaining_output(&w);
    cli_group_close(&w.group);
    end->end.seconds = cli_monotonic_seconds() - began;
}
