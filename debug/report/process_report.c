#include "process_report.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher_rank.h"
#include "coverage.h"
#include "outline.h"
#include "report.h"
#include "report_data.h"
#include "debug/graph/tool_state.h"

static struct {
    pthread_mutex_t lock;
    pid_t process;         /* the process that has a file; 0 in a child, until it has a graph */
    const char *directory; /* NULL: BG_REPORT is not set; it never changes, so it is read without the lock */
    unsigned long graphs;
    uint64_t replays;             /* replays of destroyed graphs */
    const bg_graph **live_graphs; /* recorded graphs that are not destroyed */
    size_t count, capacity;
    bool replayed, ended;
    bool runner; /* a replayed graph has buffers of a runner */
    atomic_ulong reports;
    /* BG_SHADOW: the number of graphs; of graphs without a forward function; of replays that were compared; of replays
     * that could not be compared. */
    atomic_ulong shadowed, without_pass, compared, uncompared;
} process_record = {.lock = PTHREAD_MUTEX_INITIALIZER};

void bg__process_report_warn_once(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&told))
        bg__warn("BG_REPORT: %s", bg_last_error());
}

/* Makes "DIR/KIND-PID-N.json"; number 0: without "-N". The caller frees it. If host memory runs out, warns and returns
 * NULL. */
static char *make_report_path(const char *kind, unsigned long number)
{
    char *path = NULL;
    int length = number == 0
                     ? asprintf(&path, "%s/%s-%ld.json", process_record.directory, kind, (long)getpid())
                     : asprintf(&path, "%s/%s-%ld-%lu.json", process_record.directory, kind, (long)getpid(), number);
    if (length >= 0)
        return path;
    bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a path");
    bg__process_report_warn_once();
    return NULL;
}

bool bg__process_report_is_wanted(void)
{
    return process_record.directory != NULL;
}

void bg__process_report_write(const bg_report *report, const char *kind, unsigned long number)
{
    char *path = make_report_path(kind, number);
    if (path != NULL && bg__report_write(report, BG_JSON, path, BG__FILE_GENERATED) != BG_OK)
        bg__process_report_warn_once();
    free(path);
}

/* ---- the process ---- */

static uint64_t count_replays(void)
{
    uint64_t replays = process_record.replays;
    for (size_t i = 0; i < process_record.count; i++)
        replays += bg__graph_replays(process_record.live_graphs[i]);
    /* during the first replay, the graph has not counted it yet */
    return process_record.replayed && replays == 0 ? 1 : replays;
}

static bg_status print_process(void *user, FILE *out)
{
    const char *format = "{\n  \"breakgraph\": \"%s\",\n  \"report_version\": %d,\n  \"process\": {\"pid\": %ld, "
                         "\"device\": \"%s\", \"graphs\": %lu, \"replays\": %llu, \"ended\": %s";
    long rank, ranks;

    (void)user;
    fprintf(out, format, bg_version(), BG__REPORT_VERSION, (long)getpid(), bg_device_kind(), process_record.graphs,
            (unsigned long long)count_replays(), process_record.ended ? "true" : "false");
    if (bg__launcher_rank(&rank, &ranks))
        fprintf(out, ", \"rank\": %ld, \"ranks\": %ld", rank, ranks);
    if (process_record.runner)
        fputs(", \"runner\": true", out);
    if (process_record.shadowed + process_record.without_pass > 0)
        fprintf(
            out, ",\n    \"shadow\": {\"graphs\": %lu, \"without_pass\": %lu, \"compared\": %lu, \"uncompared\": %lu}",
            process_record.shadowed, process_record.without_pass, process_record.compared, process_record.uncompared);
    bg__coverage_print(out);
    fputs("}\n}\n", out);
    return BG_OK;
}

static void write_process_file(void)
{
    char *path = make_report_path("process", 0);
    process_record.process = getpid();
    if (path != NULL && bg__file_write(path, BG__FILE_GENERATED, print_process, NULL) != BG_OK)
        bg__process_report_warn_once();
    free(path);
}

/* A forked child does not report what it has inherited: the parent's file has it. Resets the lock, too, since another
 * thread of the parent may have held it. */
static void reset_in_child(void)
{
    process_record.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    process_record.process = 0;
    process_record.graphs = 0;
    process_record.replays = 0;
    process_record.count = 0;
    process_record.replayed = process_record.ended = process_record.runner = false;
    process_record.shadowed = process_record.without_pass = process_record.compared = process_record.uncompared = 0;
    bg__coverage_reset();
}

__attribute__((constructor)) static void start_process_report(void)
{
    process_record.directory = bg__env_value("BG_REPORT");
    if (process_record.directory == NULL)
        return;
    (void)pthread_atfork(NULL, NULL, reset_in_child); /* if this fails, the file of a child says that it did not end */
    write_process_file();
}

__attribute__((destructor)) static void end_process_report(void)
{
    if (process_record.directory == NULL || process_record.process != getpid())
        return; /* a child without a graph has no file */
    pthread_mutex_lock(&process_record.lock);
    process_record.ended = true;
    write_process_file();
    pthread_mutex_unlock(&process_record.lock);
}

/* ---- graphs ---- */

static bool add_live_graph(const bg_graph *graph)
{
    if (BG__ARRAY_GROW(process_record.live_graphs, process_record.count, process_record.capacity, "graphs") != BG_OK)
        return false;
    process_record.live_graphs[process_record.count++] = graph;
    return true;
}

static void write_graph_file(const bg_graph *graph, unsigned long number)
{
    bg_report *report = NULL;
    bg_status status;

    BG__TRY(bg__report_create(&report, "capture", bg__graph_name(graph)));
    BG__TRY(bg__report_add_outline(report, graph));
    bg__process_report_write(report, "graph", number);
done:
    if (status != BG_OK)
        bg__process_report_warn_once();
    bg_report_destroy(report);
}

void bg__process_report_add_graph(bg_graph *graph)
{
    bg__tools *tools;
    char hidden;
    unsigned long number;
    bool reported;

    if (process_record.directory == NULL)
        return;
    hidden = bg__error_set_aside();
    pthread_mutex_lock(&process_record.lock);
    number =
        process_record.ended ? 0 : ++process_record.graphs; /* graphs after the end are neither counted nor written */
    reported = number > 0 && bg__tools_get(graph, &tools) == BG_OK && add_live_graph(graph);
    if (reported)
        tools->reported = true;
    else if (number > 0)
        bg__process_report_warn_once();
    if (number == 1)
        write_process_file();
    pthread_mutex_unlock(&process_record.lock);
    if (number > 0)
        write_graph_file(graph, number);
    bg__error_restore(hidden);
}

void bg__process_report_end_graph(const bg_graph *graph)
{
    pthread_mutex_lock(&process_record.lock);
    for (size_t i = 0; i < process_record.count; i++) {
        if (process_record.live_graphs[i] != graph)
            continue;
        process_record.replays += bg__graph_replays(graph);
        process_record.live_graphs[i] = process_record.live_graphs[--process_record.count];
        break;
    }
    pthread_mutex_unlock(&process_record.lock);
}

/* A runner records its buffers after the capture. */
static bool has_runner(const bg_graph *graph)
{
    const bg__recorded_addresses *noted = bg__graph_recorded_addresses(graph);
    for (int i = 0; i < noted->count; i++)
        if (bg__recorded_addresses_get(noted, i)->call == NULL)
            return true;
    return false;
}

void bg__process_report_count_replay(const bg_graph *graph)
{
    char hidden;

    if (process_record.directory == NULL)
        return;
    hidden = bg__error_set_aside();
    pthread_mutex_lock(&process_record.lock);
    process_record.runner = process_record.runner || (graph != NULL && has_runner(graph));
    if (!process_record.replayed && !process_record.ended) {
        process_record.replayed = true;
        write_process_file();
    }
    pthread_mutex_unlock(&process_record.lock);
    bg__error_restore(hidden);
}

/* ---- checks ---- */

void bg__process_report_add_stepped_replay(const double counts[BG__STEP_COUNTS])
{
    char hidden;

    if (process_record.directory == NULL)
        return;
    hidden = bg__error_set_aside();
    pthread_mutex_lock(&process_record.lock);
    bg__coverage_add_stepped_replay(counts);
    if (!process_record.ended)
        write_process_file();
    pthread_mutex_unlock(&process_record.lock);
    bg__error_restore(hidden);
}

static void record_check(const char *check, const char *graph, const char *why, size_t calls, size_t nodes)
{
    char hidden, text[1024];

    if (process_record.directory == NULL)
        return;
    snprintf(text, sizeof text, "%s", why != NULL ? why : ""); /* why may be bg_last_error(), which is cleared next */
    hidden = bg__error_set_aside();
    pthread_mutex_lock(&process_record.lock);
    if (why != NULL)
        bg__coverage_add_unchecked(check, graph, text);
    else
        bg__coverage_add_graph(check, calls, nodes);
    write_process_file(); /* also at the end of the process, since the end records the graphs that were never checked */
    pthread_mutex_unlock(&process_record.lock);
    bg__error_restore(hidden);
}

void bg__process_report_add_checked(const char *check, size_t calls, size_t nodes)
{
    record_check(check, NULL, NULL, calls, nodes);
}

void bg__process_report_add_unchecked(const char *check, const char *graph, const char *why)
{
    record_check(check, graph, why, 0, 0);
}

void bg__process_report_count_compared_replay(void)
{
    bg__coverage_count_replay();
}

/* ---- comparisons ---- */

void bg__process_report_count_shadow_graph(bool comparable)
{
    atomic_fetch_add(comparable ? &process_record.shadowed : &process_record.without_pass, 1);
}

void bg__process_report_count_shadow_replay(bool compared)
{
    atomic_fetch_add(compared ? &process_record.compared : &process_record.uncompared, 1);
}

/* ---- reports ---- */

void bg__process_report_add(bg_report *report)
{
    char hidden;

    if (process_record.directory == NULL)
        return;
    hidden = bg__error_set_aside();
    if (report->number == 0)
        report->number = atomic_fetch_add(&process_record.reports, 1) + 1;
    bg__process_report_write(report, "report", report->number);
    bg__error_restore(hidden);
}
