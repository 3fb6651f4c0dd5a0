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

static const double grace = 2; /* seconds between SIGTERM and SIGKILL */

typedef enum phase { RUNNING, PATIENT, ENDING, KILLED } phase;

typedef struct watch {
    cli_group group;
    cli_ranks_end *told;
    phase phase;
    double deadline; /* 0: none */
    int running;
    bool ended[CLI_RANKS_MOST];
} watch;

/* ---- ending ---- */

static void terminate(watch *w)
{
    w->told->others = w->running;
    cli_group_signal(&w->group, SIGTERM);
    cli_group_signal(&w->group, SIGCONT);
    w->phase = ENDING;
    w->deadline = cli_now() + grace;
}

static void note_running(watch *w)
{
    char *still = w->told->still;
    size_t used = 0, room = sizeof w->told->still;
    for (int i = 0; i < w->group.started && used < room; i++)
        if (!w->ended[i])
            used += (size_t)snprintf(still + used, room - used, "%s%d", used > 0 ? ", " : "", i);
}

static void pass_deadline(watch *w)
{
    if (w->phase == RUNNING) {
        w->told->end = (cli_end){.how = CLI_TIMED_OUT};
        note_running(w);
    }
    if (w->phase <= PATIENT) {
        terminate(w);
    } else {
        cli_group_signal(&w->group, SIGKILL);
        w->phase = KILLED;
        w->deadline = 0;
    }
}

static void interrupt(watch *w, int signal)
{
    if (w->phase > PATIENT) {
        if (signal != SIGTERM) /* timeout(1) sends it twice: to the command, and to its group */
            pass_deadline(w);
    } else {
        w->told->end = (cli_end){.how = CLI_STOPPED, .code = signal};
        terminate(w);
    }
}

static int weight_of(const cli_end *end)
{
    if (end->how != CLI_EXITED)
        return 3;
    return end->code == 0 ? 0 : end->code == 125 ? 1 : 2;
}

static void note_end(watch *w, int rank, const cli_end *end)
{
    w->ended[rank] = true;
    w->running--;
    if (w->phase <= PATIENT && weight_of(end) > weight_of(&w->told->end)) {
        w->told->end = *end;
        w->told->pid = w->group.keepers[rank].program;
    }
}

static void look_for_ends(watch *w)
{
    for (int i = 0; i < w->group.started; i++) {
        cli_end end = {.rank = i};
        if (!w->ended[i] && cli_keeper_ended(&w->group.keepers[i], &end))
            note_end(w, i, &end);
    }
}

static void judge_ends(watch *w)
{
    int weight = weight_of(&w->told->end);
    double patient = cli_now() + w->group.plan->patience;
    if (w->phase > PATIENT || weight == 0)
        return;
    if (weight == 3 || w->group.plan->patience <= 0) {
        terminate(w);
    } else if (w->phase == RUNNING) {
        w->phase = PATIENT;
        w->deadline = w->deadline > 0 && w->deadline < patient ? w->deadline : patient;
    }
}

/* ---- waiting ---- */

typedef struct waiting {
    struct pollfd polled[1 + CLI_SOURCES_MOST + CLI_SINKS];
    cli_source *sources[CLI_SOURCES_MOST];
    cli_sink *sinks[CLI_SINKS];
    nfds_t source_count, sink_count;
} waiting;

static void collect_waiting(watch *w, waiting *all)
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
        if (cli_sink_waits(&w->group.sinks[i])) {
            all->sinks[all->sink_count++] = &w->group.sinks[i];
            all->polled[count++] = (struct pollfd){.fd = w->group.sinks[i].descriptor, .events = POLLOUT};
        }
}

/* Milliseconds for poll. */
static int left_until(double deadline)
{
    double left = deadline - cli_now();
    if (deadline <= 0)
        return -1;
    return left <= 0 ? 0 : (int)((left < 1e6 ? left : 1e6) * 1000) + 1;
}

/* Closes the sources of a sink that nobody reads, so that a rank which writes to it gets SIGPIPE. */
static void drop_gone(watch *w)
{
    cli_group *g = &w->group;
    for (int i = 0; i < g->source_count; i++)
        if (g->sources[i].sink->gone)
            cli_source_close(&g->sources[i]);
    for (int i = 0; i < CLI_SINKS; i++) {
        bool used = cli_sink_waits(&g->sinks[i]);
        for (int k = 0; k < g->source_count; k++)
            used = used || (g->sources[k].descriptor >= 0 && g->sources[k].sink == &g->sinks[i]);
        if (!used && g->sinks[i].owned)
            cli_sink_close(&g->sinks[i]);
    }
}

/* Waits for one event or the deadline, and handles what came. *interrupted: a signal to the command; 0: none. */
static void wait_once(watch *w, double deadline, int *interrupted)
{
    waiting all;
    const struct pollfd *next = all.polled + 1;
    int signal;

    *interrupted = 0;
    collect_waiting(w, &all);
    if (poll(all.polled, 1 + all.source_count + all.sink_count, left_until(deadline)) <= 0)
        return;
    for (nfds_t i = 0; i < all.source_count; i++, next++)
        if (next->revents != 0)
            cli_source_read(all.sources[i]);
    for (nfds_t i = 0; i < all.sink_count; i++, next++)
        if (next->revents != 0)
            cli_sink_write(all.sinks[i]);
    drop_gone(w);
    while ((signal = cli_signals_next(NULL)) != 0)
        if (signal != SIGCHLD)
            *interrupted = signal;
}

static void wait_for_all(watch *w)
{
    int signal;
    while (w->running > 0) {
        wait_once(w, w->deadline, &signal);
        look_for_ends(w);
        judge_ends(w);
        if (signal != 0)
            interrupt(w, signal);
        else if (w->deadline > 0 && cli_now() >= w->deadline && w->running > 0)
            pass_deadline(w);
    }
}

/* Writes what the ranks have printed; a signal ends that. */
static void write_rest(watch *w)
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
            more = more || cli_sink_waits(&g->sinks[i]);
        if (more)
            wait_once(w, 0, &signal);
    }
}

/* ---- all of it ---- */

static void start_all(watch *w)
{
    cli_group *g = &w->group;
    bool started = cli_job_make(&g->job, g->plan->count);
    while (started && g->started < g->plan->count) {
        started = cli_group_start(g);
        w->running += started;
    }
    if (started)
        return;
    w->told->end = (cli_end){.how = CLI_UNSTARTED, .code = errno, .rank = g->started};
    terminate(w);
}

void cli_ranks_run(const cli_ranks *ranks, cli_ranks_end *end)
{
    double began = cli_now();
    watch w = {.group = {.plan = ranks}, .told = end};

    *end = (cli_ranks_end){.end = {.how = CLI_EXITED}};

    w.deadline = ranks->timeout > 0 ? began + ranks->timeout : 0;
    cli_group_open(&w.group);
    start_all(&w);
    wait_for_all(&w);
    cli_group_end(&w.group);
    for (int i = 0; i < w.group.source_count; i++)
        if (w.group.sources[i].descriptor == STDIN_FILENO)
            cli_source_close(&w.group.sources[i]);
    cli_sink_close(&w.group.sinks[CLI_SINK_INPUT]);
    write_rest(&w);
    cli_group_close(&w.group);
    end->end.seconds = cli_now() - began;
}
