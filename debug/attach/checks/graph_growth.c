/* Finds a cache of graphs without a limit ("growth"): one call has many live graphs, and made many of them after an
 * older one had been launched twice. Graphs that a program makes before it launches any, one for each size, do not
 * count. */
#include "debug/attach/events/subscribers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "debug/memory/hash_table.h"

#include "debug/attach/report/process_findings.h"

enum { REPORTED_ALIVE = 128, REPORTED_LATE = 64 }; /* graphs of one call before a finding is added */

typedef struct site {
    const bg__stack *made;
    size_t alive, late, bytes; /* late: number of graphs made after one of this call had been launched twice */
    bool launched_twice, reported;
    UT_hash_handle hh;
} site;

/* The state of a graph. */
typedef struct counted_exec {
    site *site; /* NULL: not counted */
    size_t bytes, launches;
    bool late;
} counted_exec;

static struct {
    pthread_mutex_t lock;
    site *list;
} growth = {.lock = PTHREAD_MUTEX_INITIALIZER};

static site *add_instantiate_site(const bg__stack *made)
{
    site *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->made = made;
    HASH_ADD_PTR(growth.list, made, s);
    return s;
}

static site *find_or_add_site(const bg__stack *made)
{
    site *s;
    HASH_FIND_PTR(growth.list, &made, s);
    return s != NULL ? s : add_instantiate_site(made);
}

static void report_growth(const site *s)
{
    const char *call = bg__stack_is_from_runtime(s->made) ? "cudaGraphInstantiate" : "cuGraphInstantiate";
    char message[300];

    snprintf(message, sizeof message,
             "%zu executable graphs that were made here are alive, and hold %zu bytes of device memory; %zu of them "
             "were made after an older one had already been launched more than once: nothing limits their number",
             s->alive, s->bytes, s->late);
    bg__attach_report_once(
        "growth", BG_WARNING, call, call, s->made,
        "destroy graphs that are no longer launched (cudaGraphExecDestroy), or limit how many are kept", message);
}

static void count_exec(const bg__event *event)
{
    counted_exec *exec = event->state;
    site *s;

    if (event->stack == NULL)
        return;
    pthread_mutex_lock(&growth.lock);
    s = find_or_add_site(event->stack);
    if (s != NULL) {
        *exec = (counted_exec){.site = s, .bytes = event->bytes, .late = s->launched_twice};
        s->alive++;
        s->late += exec->late;
        s->bytes += exec->bytes;
    }
    if (s != NULL && !s->reported && s->alive >= REPORTED_ALIVE && s->late >= REPORTED_LATE) {
        s->reported = true;
        report_growth(s);
    }
    pthread_mutex_unlock(&growth.lock);
}

static void count_launch(const bg__event *event)
{
    counted_exec *exec = event->state;

    if (exec == NULL || exec->site == NULL || ++exec->launches != 2)
        return;
    pthread_mutex_lock(&growth.lock);
    exec->site->launched_twice = true;
    pthread_mutex_unlock(&growth.lock);
}

static void uncount_exec(const bg__event *event)
{
    const counted_exec *exec = event->state;

    if (exec->site == NULL)
        return;
    pthread_mutex_lock(&growth.lock);
    exec->site->alive--;
    exec->site->late -= exec->late;
    exec->site->bytes -= exec->bytes;
    pthread_mutex_unlock(&growth.lock);
}

const bg__subscriber bg__check_growth = {
    .name = "growth",
    .when = BG__CHECK_EXECS,
    .state_bytes = sizeof(counted_exec),
    .on = {[BG__EXEC_MADE] = count_exec, [BG__EXEC_LAUNCHING] = count_launch, [BG__EXEC_GONE] = uncount_exec},
};
