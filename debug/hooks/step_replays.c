#include "step_replays.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/variables.h"
#include "debug/report/process_report.h"
#include "debug/step/step.h"
#include "debug/step/stop_signals.h"
#include "debug/graph/tool_state.h"

struct bg__stepping {
    char *stop, *directory;    /* NULL: none */
    char *from;                /* NULL: none */
    bool chosen;               /* BG_STEP_GRAPHS selects the graph */
    uint64_t first, last;      /* numbers of the replays that are stepped */
    uint64_t next;             /* number of the next replay */
    bg__node_observer watcher; /* zeros: none */
    bg_report *report;         /* findings of all replays */
    bool ran;                  /* the replay that failed has run nodes */
    cudaError_t error;         /* error of the node that failed */
};

/* The directory that the first stepped replay dumped to; NULL: none yet. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *dumped_directory;

/* BG_STEP_FROM and BG_STEP_DUMP apply to the first replay that is stepped. */
static atomic_bool began;

/* Whether this process has dumped to `directory`. take: also marks the directory as dumped to. */
static bool check_dumped(const char *directory, bool take)
{
    bool is;
    pthread_mutex_lock(&lock);
    is = dumped_directory != NULL && strcmp(dumped_directory, directory) == 0;
    if (!is && take) {
        free(dumped_directory);
        dumped_directory = strdup(directory);
    }
    pthread_mutex_unlock(&lock);
    return is;
}

static bg_status read_variable(const char *variable, char **value)
{
    const char *text = bg__env_value(variable);
    if (text == NULL)
        return BG_OK;
    *value = strdup(text);
    return *value != NULL ? BG_OK : bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %s", variable);
}

/* ---- which replays --------------------------------------------------------------------------------------------- */

/* The last matching pattern decides. */
static bool matches_graphs(const char *list, const char *name)
{
    bg__pattern_list at = {.list = list};
    bool chosen = list[strspn(list, " ")] == '!';

    while (bg__pattern_list_next(&at))
        if (bg__glob_matches_numbered(at.text, at.length, name))
            chosen = !at.negate;
    return chosen;
}

static struct {
    atomic_bool limited, stepped; /* limited: variables leave out replays; stepped: a replay was stepped */
    pid_t process;                /* the process of these flags; a forked child does not warn */
} step_choice;

static bg_status read_step_choice(struct bg__stepping *stepping, const char *name)
{
    const char *graphs = bg__env_value("BG_STEP_GRAPHS"), *replays = bg__env_value("BG_STEP_REPLAYS");
    bg_status status = BG_OK;

    stepping->chosen = true;
    stepping->last = UINT64_MAX;
    if (graphs != NULL) {
        BG__TRY(bg__override_check_list(graphs, "BG_STEP_GRAPHS"));
        stepping->chosen = matches_graphs(graphs, name);
    }
    if (replays != NULL && !bg__variable_parse_range(replays, &stepping->first, &stepping->last))
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "BG_STEP_REPLAYS: \"%s\" is not %s", replays,
                 bg__variable_find("BG_STEP_REPLAYS")->allowed);
    if (graphs != NULL || replays != NULL)
        step_choice.process = getpid(), atomic_store(&step_choice.limited, true);
done:
    return status;
}

static bool is_next_stepped(struct bg__stepping *stepping)
{
    uint64_t number = stepping->next++;
    bool stepped = stepping->chosen && number >= stepping->first && number <= stepping->last;
    if (stepped)
        atomic_store(&step_choice.stepped, true);
    return stepped;
}

static struct {
    atomic_bool missed, met; /* the stop of BG_STEP_STOP was missed in a graph, or met, in programs that do not use
                              * breakgraph */
    pid_t process;           /* the process of these flags; a forked child does not warn */
} stop_state;

/* Without this warning, "0 findings" would look like success. */
__attribute__((destructor)) static void warn_if_nothing_stepped(void)
{
    if (atomic_load(&stop_state.missed) && !atomic_load(&stop_state.met) && stop_state.process == getpid())
        bg__warn("BG_STEP_STOP: no stepped graph has a call of that name or a node of that index: nothing was "
                 "stopped");
    if (atomic_load(&step_choice.limited) && !atomic_load(&step_choice.stepped) && step_choice.process == getpid())
        bg__warn(
            "BG_STEP_GRAPHS and BG_STEP_REPLAYS exclude all replays of this program: nothing was stepped; change them");
}

bg_status bg__stepping_create(bg_graph *graph)
{
    bg__tools *tools;
    struct bg__stepping *stepping = calloc(1, sizeof *stepping);
    bg_status status;

    if (stepping == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for BG_DEBUG=step");
    BG__TRY(read_variable("BG_STEP_STOP", &stepping->stop));
    BG__TRY(read_variable("BG_STEP_FROM", &stepping->from));
    BG__TRY(read_variable("BG_STEP_DUMP", &stepping->directory));
    BG__TRY(read_step_choice(stepping, bg__graph_name(graph)));
    if (stepping->directory != NULL && !check_dumped(stepping->directory, false)) {
        status = bg__dump_check_directory(stepping->directory);
        if (status != BG_OK) {
            bg__error_add_location("BG_STEP_DUMP");
            goto done;
        }
    }
    BG__TRY(bg__tools_get(graph, &tools));
    tools->stepping = stepping;
    stepping = NULL;
done:
    bg__stepping_free(stepping);
    return status;
}

void bg__stepping_free(struct bg__stepping *stepping)
{
    if (stepping == NULL)
        return;
    if (stepping->watcher.free != NULL)
        stepping->watcher.free(stepping->watcher.user);
    bg_report_destroy(stepping->report);
    free(stepping->stop);
    free(stepping->from);
    free(stepping->directory);
    free(stepping);
}

bool bg__stepping_is_on(const bg_graph *graph)
{
    const bg__tools *tools = bg__tools_find(graph);
    return tools != NULL && tools->stepping != NULL && tools->stepping->chosen;
}

void bg__stepping_set_observer(bg_graph *graph, const bg__node_observer *watcher)
{
    bg__tools_find(graph)->stepping->watcher = *watcher;
}

/* Whether the graph has an observer. Then the program does not use breakgraph, so a failure of the tool cannot be
 * reported to it, and its graph runs anyway. */
static bool has_observer(const struct bg__stepping *stepping)
{
    return stepping->watcher.before != NULL;
}

static bg_status begin_dump(const bg_graph *graph, bg__dump **dump)
{
    const struct bg__stepping *stepping = bg__tools_find(graph)->stepping;
    bg_status status = BG_OK;
    if (stepping->directory == NULL || check_dumped(stepping->directory, true))
        return BG_OK;
    status = bg__dump_create(dump, stepping->directory, bg__graph_name(graph), (int64_t)stepping->next - 1);
    if (status != BG_OK)
        bg__error_add_location("BG_STEP_DUMP");
    return status;
}

static bg_status tolerate_dump_failure(const struct bg__stepping *stepping, bg_status status)
{
    if (status == BG_OK || !has_observer(stepping))
        return status;
    bg__dump_report_missing(stepping->report, NULL, bg_last_error());
    return BG_OK;
}

/* A call that is not found is not a failure: the call may be in another graph of the program. */
static void record_stop(bg__walk_end *end)
{
    if (end->what == BG_ERROR_STOPPED)
        atomic_store(&stop_state.met, true);
    if (end->what != BG_ERROR_NOT_FOUND)
        return;
    stop_state.process = getpid();
    atomic_store(&stop_state.missed, true);
    end->what = BG_OK;
}

/* Whether the text is "#12", at the end of a name. */
static bool is_number_part(const char *text)
{
    size_t digits = strspn(text + 1, "0123456789");
    return text[0] == '#' && digits > 0 && text[1 + digits] == '\0' && (text[1] != '0' || digits == 1);
}

/* Writes a pattern for a name. The pattern may match other names, too: it has '*' in place of characters that
 * BG_STEP_GRAPHS does not accept, and in place of the part of a long name that does not fit. */
static void write_pattern(const char *name, char *pattern, size_t bytes)
{
    static const char taken[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *at = name;
    size_t used = 0;

    for (; *at != '\0' && used + 2 < bytes; at++) {
        if (strchr(taken, *at) != NULL || is_number_part(at)) {
            pattern[used++] = *at;
        } else if (used == 0 || pattern[used - 1] != '*') {
            pattern[used++] = '*';
        }
    }
    snprintf(pattern + used, bytes - used, "%s", *at != '\0' || used == 0 ? "*" : "");
}

/* Writes the flags that choose this replay. For the first stepped replay, writes no flags if no variables choose
 * replays. */
static void write_replay_flags(const bg_graph *graph, bool first, char *flags, size_t bytes)
{
    const struct bg__stepping *stepping = bg__tools_find(graph)->stepping;
    char pattern[160];

    snprintf(flags, bytes, "%s", "");
    if (first && !atomic_load(&step_choice.limited))
        return;
    write_pattern(bg__graph_name(graph), pattern, sizeof pattern);
    snprintf(flags, bytes, "--graphs='%s' --replays=%llu- ", pattern, (unsigned long long)(stepping->next - 1));
}

static bg_status walk_replay(bg_graph *graph, cudaStream_t stream, bg__walk_end *end)
{
    struct bg__stepping *stepping = bg__tools_find(graph)->stepping;
    bool first = !atomic_exchange(&began, true);
    char flags[230];
    bg__walk_options options = {.stop = stepping->stop,
                                .from = first ? stepping->from : NULL,
                                .progress = true,
                                .signals = true,
                                .command = flags,
                                .watcher = has_observer(stepping) ? &stepping->watcher : NULL};
    bg_status status;

    write_replay_flags(graph, first, flags, sizeof flags);
    if (stepping->report == NULL)
        BG__TRY(bg__report_create(&stepping->report, "step", bg__graph_name(graph)));
    else if (has_observer(stepping)) /* the program may have renamed the graph */
        BG__TRY(bg__report_set_graph(stepping->report, bg__graph_name(graph)));
    BG__TRY(tolerate_dump_failure(stepping, begin_dump(graph, &options.dump)));
    BG__TRY(bg__walk(graph, stream, &options, stepping->report, end));
    if (options.dump != NULL)
        BG__TRY(tolerate_dump_failure(stepping, bg__dump_finish(options.dump, end->whole, end->next)));
    if (has_observer(stepping) && stepping->stop != NULL)
        record_stop(end);
done:
    bg__dump_free(options.dump);
    return status;
}

static void record_coverage(const bg__walk_coverage *looked)
{
    const double counts[BG__STEP_COUNTS] = {(double)looked->nodes, (double)looked->calls, (double)looked->elements,
                                            (double)looked->whole, (double)looked->skipped};
    bg__process_report_add_stepped_replay(counts);
}

static bg_status step_replay(bg_graph *graph, cudaStream_t stream)
{
    struct bg__stepping *stepping = bg__tools_find(graph)->stepping;
    bg__walk_end end = {.early = false};
    bg_status status = walk_replay(graph, stream, &end);

    if (end.ran)
        record_coverage(&end.looked);
    if (status != BG_OK) /* writing the report changes bg_last_error() */
        snprintf(end.text, sizeof end.text, "%s", bg_last_error());
    if (status != BG_OK || end.what == BG_ERROR_NOT_FOUND) /* no finding reports the failure, and the program may not
                                                            * report it */
        bg__process_report_add_unchecked("step", bg__graph_name(graph), end.text);
    if (bg__report_print_new(stepping->report, stderr))
        bg__process_report_add(stepping->report);
    if (status == BG_OK && end.what != BG_OK) {
        status = bg__fail(end.what, "%s", end.text);
        bg__error_set_located();
    }
    stepping->ran = status != BG_OK && status != BG_ERROR_STOPPED && end.ran;
    stepping->error = end.error;
    return status;
}

bg_status bg__stepping_replay(bg_graph *graph, cudaStream_t stream)
{
    bg_status status;
    char hidden;
    int hold;

    if (!is_next_stepped(bg__tools_find(graph)->stepping))
        return bg__replay_steps(graph, stream);
    hidden = bg__error_set_aside();
    hold = bg__stop_signals_defer();
    status = step_replay(graph, stream);
    bg__stop_signals_release(hold); /* a signal may end the program here */
    bg__error_restore(hidden);
    return status;
}

bool bg__stepping_pop_partial_run(const bg_graph *graph, cudaError_t *error)
{
    struct bg__stepping *stepping = bg__tools_find(graph)->stepping;
    bool ran = stepping->ran;
    *error = ran ? stepping->error : cudaSuccess;
    stepping->ran = false;
    return ran;
}
