#include "runner_report.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "launcher.h"
#include "process_report.h"
#include "runner/mix_json.h"

static struct {
    pthread_mutex_t lock;
    pid_t process;           /* the process of these runners: a forked child does not write those of its parent */
    const bg_runner **alive; /* by number; NULL: the runner was destroyed */
    size_t count, capacity;
    bool ended;
} runners = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Adds the row of a runner to a report. */
static bg_status add_row(bg_report *report, const bg_runner *runner, const char *name, bool ended)
{
    cJSON *list = bg__report_part(report, "runners"), *row = list != NULL ? bg__runner_json(runner) : NULL;
    long rank, ranks;
    bool good;

    if (row == NULL || !cJSON_AddItemToArray(list, row)) {
        cJSON_Delete(row);
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the report of a runner");
    }
    good = cJSON_AddStringToObject(row, "name", name) && cJSON_AddNumberToObject(row, "pid", (double)getpid()) &&
           cJSON_AddBoolToObject(row, "ended", ended);
    if (good && bg__launcher_rank(&rank, &ranks))
        good =
            cJSON_AddNumberToObject(row, "rank", (double)rank) && cJSON_AddNumberToObject(row, "ranks", (double)ranks);
    return good ? BG_OK : bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the report of a runner");
}

static void write_runner(const bg_runner *runner, size_t number, bool ended)
{
    bg_report *report = NULL;
    bg_status status;
    char name[32];

    snprintf(name, sizeof name, "runner#%zu", number);
    BG__TRY(bg__report_create(&report, "runner", name));
    BG__TRY(add_row(report, runner, name, ended));
    bg__process_report_write(report, "runner", (unsigned long)number + 1);
done:
    if (status != BG_OK)
        bg__process_report_warn();
    bg_report_destroy(report);
}

static void begin_child(void)
{
    runners.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    runners.count = 0;
}

static bool find_runner(const bg_runner *runner, size_t *number)
{
    for (*number = 0; *number < runners.count; ++*number)
        if (runners.alive[*number] == runner)
            return true;
    return false;
}

static bool add_runner(const bg_runner *runner)
{
    if (runners.process == 0)
        (void)pthread_atfork(NULL, NULL, begin_child);
    runners.process = getpid();
    if (BG__GROW(runners.alive, runners.count, runners.capacity, "runners") != BG_OK)
        return false;
    runners.alive[runners.count++] = runner;
    return true;
}

/* Writes the file of a runner. ends: the runner is being destroyed; one that could not be created has no number. */
static void report_runner(const bg_runner *runner, bool ends)
{
    char hidden;
    size_t number;

    if (!bg__process_report_is_wanted())
        return;
    hidden = bg__fail_hide();
    pthread_mutex_lock(&runners.lock);
    if (!runners.ended && (find_runner(runner, &number) || (!ends && add_runner(runner)))) {
        write_runner(runner, number, ends);
        if (ends)
            runners.alive[number] = NULL;
    }
    pthread_mutex_unlock(&runners.lock);
    bg__fail_unhide(hidden);
}

void bg__runner_report_write(const bg_runner *runner)
{
    report_runner(runner, false);
}

void bg__runner_report_end(const bg_runner *runner)
{
    report_runner(runner, true);
}

/* If another thread still uses a runner, its file stays as it is: its buckets may change at any time. */
__attribute__((destructor)) static void end_runners(void)
{
    if (runners.process != getpid())
        return;
    pthread_mutex_lock(&runners.lock);
    runners.ended = true;
    for (size_t i = 0; i < runners.count; i++)
        if (runners.alive[i] != NULL && !bg__runner_is_running(runners.alive[i]))
            write_runner(runners.alive[i], i, true);
    pthread_mutex_unlock(&runners.lock);
}
