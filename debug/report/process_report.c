#include "process_report.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher.h"
#include "looked.h"
#include "outline.h"
#include "report.h"
#include "report_data.h"
#include "debug/graph/tools.h"

static struct {
    pthread_mutex_t lock;
    pid_t process;         /* the process that has a file; 0 in a child, until it has a graph */
    const char *directory; /* NULL: BG_REPORT is not set; constant, so that it is read without the lock */
    unsigned long graphs;
    uint64_t replays;       /* replays of destroyed graphs */
    const bg_graph **alive; /* recorded graphs that are not destroyed */
    size_t count, capacity;
    bool replayed, ended;
    bool runner; /* a replayed graph has buffers of a runner */
    atomic_ulong reports;
    /* BG_SHADOW: graphs; graphs without a forward function; replays that were compared; replays that could not be. */
    atomic_ulong shadowed, without_pass, compared, uncompared;
} record = {.lock = PTHREAD_MUTEX_INITIALIZER};

void bg__process_report_warn(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&told))
        bg__warn("BG_REPORT: %s", bg_last_error());
}

/* "DIR/graph-PID-N.json"; number 0: without "-N". The caller frees it. Returns NULL if out of host memory, after a
 * warning. */
static char *path_of(const char *kind, unsigned long number)
{
    char *path = NULL;
    int length = number == 0 ? asprintf(&path, "%s/%s-%ld.json", record.directory, kind, (long)getpid())
                             : asprintf(&path, "%s/%s-%ld-%lu.json", record.directory, kind, (long)getpid(), number);
    if (length >= 0)
        return path;
    bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a path");
    bg__process_report_warn();
    return NULL;
}

bool bg__process_report_is_wanted(void)
{
    return record.directory != NULL;
}

void bg__process_report_write(const bg_report *report, const char *kind, unsigned long number)
{
    char *path = path_of(kind, number);
    if (path != NULL && bg__report_write(report, BG_JSON, path, BG__FILE_MADE) != BG_OK)
        bg__process_report_warn();
    free(path);
}

/* ---- the process ---- */

static uint64_t count_replays(void)
{
    uint64_t replays = record.replays;
    for (size_t i = 0; i < record.count; i++)
        replays += bg__graph_replays(record.alive[i]);
    /* during the first replay, the graph has not counted it yet */
    return record.replayed && replays == 0 ? 1 : replays;
}

static bg_status print_process(void *user, FILE *out)
{
    const char *format = "{\n  \"breakgraph\": \"%s\",\n  \"report_version\": %d,\n  \"process\": {\"pid\": %ld, "
                         "\"device\": \"%s\", \"graphs\": %lu, \"replays\": %llu, \"ended\": %s";
    long rank, ranks;

    (void)user;
    fprintf(out, format, bg_version(), BG__REPORT_VERSION, (long)getpid(), bg_device_kind(), record.graphs,
            (unsigned long long)count_replays(), record.ended ? "true" : "false");
    if (bg__launcher_rank(&rank, &ranks))
        fprintf(out, ", \"rank\": %ld, \"ranks\": %ld", rank, ranks);
    if (record.runner)
        fputs(", \"runner\": true", out);
    if (record.shadowed + record.without_pass > 0)
        fprintf(out,
                ",\n    \"shadow\": {\"graphs\": %lu, \"without_pass\": %lu, \"compared\": %lu, \"uncompared\": %lu}",
                record.shadowed, record.without_pass, record.compared, record.uncompared);
    bg__looked_print(out);
    fputs("}\n}\n", out);
    return BG_OK;
}

static void write_process(void)
{
    char *path = path_of("process", 0);
    record.process = getpid();
    if (path != NULL && bg__file_write(path, BG__FILE_MADE, print_process, NULL) != BG_OK)
        bg__process_report_warn();
    free(path);
}

/* A forked child does not report what it has from its parent, whose file has it. Another thread of the parent may have
 * held the lock. */
static void begin_child(void)
{
    record.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    record.process = 0;
    record.graphs = 0;
    record.replays = 0;
    record.count = 0;
    record.replayed = record.ended = record.runner = false;
    record.shadowed = record.without_pass = record.compared = record.uncompared = 0;
    bg__looked_forget();
}

__attribute__((constructor)) static void begin_process(void)
{
    record.directory = bg__env("BG_REPORT");
    if (record.directory == NULL)
        return;
    (void)pthread_atfork(NULL, NULL, begin_child); /* if this fails, the file of a child says that it did not end */
    write_process();
}

__attribute__((destructor)) static void end_process(void)
{
    if (record.directory == NULL || record.process != getpid())
        return; /* a child without a graph has no file */
    pthread_mutex_lock(&record.lock);
    record.ended = true;
    write_process();
    pthread_mutex_unlock(&record.lock);
}

/* ---- graphs ---- */

static bool add_alive(const bg_graph *graph)
{
    if (BG__GROW(record.alive, record.count, record.capacity, "graphs") != BG_OK)
        return false;
    record.alive[record.count++] = graph;
    return true;
}

static void write_graph(const bg_graph *graph, unsigned long number)
{
    bg_report *report = NULL;
    bg_status status;

    BG__TRY(bg__report_create(&report, "capture", bg__graph_name(graph)));
    BG__TRY(bg__outline_note(report, graph));
    bg__process_report_write(report, "graph", number);
done:
    if (status != BG_OK)
        bg__process_report_warn();
    bg_report_destroy(report);
}

void bg__process_report_add_graph(bg_graph *graph)
{
    bg__tools *tools;
    char hidden;
    unsigned long number;
    bool reported;

    if (record.directory == NULL)
        return;
    hidden = bg__fail_hide();
    pthread_mutex_lock(&record.lock);
    number = record.ended ? 0 : ++record.graphs; /* graphs after the end are neither counted nor written */
    reported = number > 0 && bg__tools_get(graph, &tools) == BG_OK && add_alive(graph);
    if (reported)
        tools->reported = true;
    else if (number > 0)
        bg__process_report_warn();
    if (number == 1)
        write_process();
    pthread_mutex_unlock(&record.lock);
    if (number > 0)
        write_graph(graph, number);
    bg__fail_unhide(hidden);
}

void bg__process_report_end_graph(const bg_graph *graph)
{
    pthread_mutex_lock(&record.lock);
    for (size_t i = 0; i < record.count; i++) {
        if (record.alive[i] != graph)
            continue;
        record.replays += bg__graph_replays(graph);
        record.alive[i] = record.alive[--record.count];
        break;
    }
    pthread_mutex_unlock(&record.lock);
}

/* A runner records its buffers after the capture. */
static bool has_runner(const bg_graph *graph)
{
    const bg__noted *noted = bg__graph_noted(graph);
    for (int i = 0; i < noted->count; i++)
        if (bg__noted_at(noted, i)->call == NULL)
            return true;
    return false;
}

void bg__process_report_count_replay(const bg_graph *graph)
{
    char hidden;

    if (record.directory == NULL)
        return;
    hidden = bg__fail_hide();
    pthread_mutex_lock(&record.lock);
    record.runner = record.runner || (graph != NULL && has_runner(graph));
    if (!record.replayed && !record.ended) {
        record.replayed = true;
        write_process();
    }
    pthread_mutex_unlock(&record.lock);
    bg__fail_unhide(hidden);
}

/* ---- checks ---- */

void bg__process_report_stepped(const double counts[BG__STEP_COUNTS])
{
    char hidden;

    if (record.directory == NULL)
        return;
    hidden = bg__fail_hide();
    pthread_mutex_lock(&record.lock);
    bg__looked_add_step(counts);
    if (!record.ended)
        write_process();
    pthread_mutex_unlock(&record.lock);
    bg__fail_unhide(hidden);
}

static void tell_checked(const char *check, const char *graph, const char *why, size_t calls, size_t nodes)
{
    char hidden, text[1024];

    if (record.directory == NULL)
        return;
    snprintf(text, sizeof text, "%s", why != NULL ? why : ""); /* why may be bg_last_error(), which is cleared next */
    hidden = bg__fail_hide();
    pthread_mutex_lock(&record.lock);
    if (why != NULL)
        bg__looked_not(check, graph, text);
    else
        bg__looked_add(check, calls, nodes);
    write_process(); /* also at the end of the process, which records graphs that were never checked */
    pthread_mutex_unlock(&record.lock);
    bg__fail_unhide(hidden);
}

void bg__process_report_checked(const char *check, size_t calls, size_t nodes)
{
    tell_checked(check, NULL, NULL, calls, nodes);
}

void bg__process_report_not_checked(const char *check, const char *graph, const char *why)
{
    tell_checked(check, graph, why, 0, 0);
}

void bg__process_report_compared(void)
{
    bg__looked_count_replay();
}

/* ---- comparisons ---- */

void bg__process_report_shadow_graph(bool comparable)
{
    atomic_fetch_add(comparable ? &record.shadowed : &record.without_pass, 1);
}

void bg__process_report_shadow_replay(bool compared)
{
    atomic_fetch_add(compared ? &record.compared : &record.uncompared, 1);
}

/* ---- reports ---- */

void bg__process_report_add(bg_report *report)
{
    char hidden;

    if (record.directory == NULL)
        return;
    hidden = bg__fail_hide();
    if (report->number == 0)
        report->number = atomic_fetch_add(&record.reports, 1) + 1;
    bg__process_report_write(report, "report", report->number);
    bg__fail_unhide(hidden);
}
