#include "runner_report.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "launcher_rank.h"
#include "process_report.h"
#include "runner/runner_json.h"

static struct {
    pthread_mutex_t lock;
    pid_t process; /* the process of these runners: a forked child does not write those of its parent */
    const bg_runner **live_runners; /* by number; NULL: the runner was destroyed */
    size_t count, capacity;
    bool ended;
} runner_record = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Adds the row of a runner to a report. */
static bg_status add_runner_row(bg_report *report, const bg_runner *runner, const char *name, bool ended)
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
    BG__TRY(add_runner_row(report, runner, name, ended));
    bg__process_report_write(report, "runner", (unsigned long)number + 1);
done:
    if (status != BG_OK)
        bg__process_report_warn_once();
    bg_report_destroy(report);
}

static void reset_in_child(void)
{
    runner_record.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    runner_record.count = 0;
}

static bool find_runner(const bg_runner *runner, size_t *number)
{
    for (*number = 0; *number < runner_record.count; ++*number)
        if (runner_record.live_runners[*number] == runner)
            return true;
    return false;
}

static bool add_runner(const bg_runner *runner)
{
    if (runner_record.process == 0)
        (void)pthread_atfork(NULL, NULL, reset_in_child);
    runner_record.process = getpid();
    if (BG__ARRAY_GROW(runner_record.live_runners, runner_record.count, runner_record.capacity, "runners") != BG_OK)
        return false;
    runner_record.live_runners[runner_record.count++] = runner;
    return true;
}

/* Writes the file of a runner. ends: the runner is being destroyed. A runner that could not be created has no
 * number. */
static void report_runner(const bg_runner *runner, bool ends)
{
    char hidden;
    size_t number;

    if (!bg__process_report_is_wanted())
        return;
    hidden = bg__error_set_aside();
    pthread_mutex_lock(&runner_record.lock);
    if (!runner_record.ended && (find_runner(runner, &number) || (!ends && add_runner(runner)))) {
        write_runner(runner, number, ends);
        if (ends)
            runner_record.live_runners[number] = NULL;
    }
    pthread_mutex_unlock(&runner_record.lock);
    bg__error_restore(hidden);
}

void bg__runner_report_write(const bg_runner *runner)
{
    report_runner(runner, false);
}

void bg__runner_report_end(const bg_runner *runner)
{
    report_runner(runner, true);
}

/* Writes the files of runners at exit. If another thread still uses a runner, the file of this runner stays as it is,
 * since the buckets may change at any time. */
__attribute__((destructor)) static void end_runners(void)
{
    if (runner_record.process != getpid())
        return;
    pthread_mutex_lock(&runner_record.lock);
    runner_record.ended = true;
    for (size_t i = 0; i < runner_record.count; i++)
        if (runner_record.live_runners[i] != NULL && !bg__runner_is_running(runner_record.live_runners[i]))
            write_runner(runner_record.live_runners[i], i, true);
    pthread_mutex_unlock(&runner_record.lock);
}
