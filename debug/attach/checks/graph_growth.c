/* Detects a cache of graphs without a limit: one call has many live graphs, and made many of them after an older one
 * had been launched twice. Graphs that a program makes before it launches any, one for each size, do not count. */
#include "graph_growth.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(added) ((added)->lost = true)
#include <uthash.h>

#include "debug/attach/report/process_findings.h"

enum { REPORTED_ALIVE = 128, REPORTED_LATE = 64 }; /* graphs of one call before a finding is added */

typedef struct site {
    const bg__stack *made;
    size_t alive, late, bytes; /* late: made after another one had been launched twice */
    bool launched_twice, told, lost;
    UT_hash_handle hh;
} site;

struct bg__counted_exec {
    site *site;
    size_t bytes, launches;
    bool late;
};

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
    if (!s->lost)
        return s;
    free(s);
    return NULL;
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
             "were made when older ones had been launched again: nothing limits their number",
             s->alive, s->bytes, s->late);
    bg__attach_report_once(
        "growth", BG_WARNING, call, call, s->made,
        "destroy graphs that are no longer launched (cudaGraphExecDestroy), or keep only so many of them", message);
}

bg__counted_exec *bg__growth_add_exec(const bg__stack *made, size_t bytes)
{
    bg__counted_exec *grown = made != NULL ? calloc(1, sizeof *grown) : NULL;
    site *s;
    bool tells;

    if (grown == NULL)
        return NULL;
    pthread_mutex_lock(&growth.lock);
    s = find_or_add_site(made);
    if (s != NULL) {
        *grown = (bg__counted_exec){.site = s, .bytes = bytes, .late = s->launched_twice};
        s->alive++;
        s->late += grown->late;
        s->bytes += bytes;
    }
    tells = s != NULL && !s->told && s->alive >= REPORTED_ALIVE && s->late >= REPORTED_LATE;
    if (tells) {
        s->told = true;
        report_growth(s);
    }
    pthread_mutex_unlock(&growth.lock);
    if (s == NULL) {
        free(grown);
        return NULL;
    }
    return grown;
}

void bg__growth_record_launch(bg__counted_exec *grown)
{
    if (grown == NULL || ++grown->launches != 2)
        return;
    pthread_mutex_lock(&growth.lock);
    grown->site->launched_twice = true;
    pthread_mutex_unlock(&growth.lock);
}

void bg__growth_remove_exec(bg__counted_exec *grown)
{
    if (grown == NULL)
        return;
    pthread_mutex_lock(&growth.lock);
    grown->site->alive--;
    grown->site->late -= grown->late;
    grown->site->bytes -= grown->bytes;
    pthread_mutex_unlock(&growth.lock);
    free(grown);
}
