/* Findings that belong to no graph of the program. */
#include "process_findings.h"
#include "report_list.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A finding that was reported, by kind, subject and place: a program that repeats it in a loop gets it once. */
typedef struct reported_key {
    struct reported_key *next;
    char key[];
} reported_key;

static struct {
    pthread_mutex_t lock;
    reported_key *list;
} findings = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns true when out of host memory, too: a loop would otherwise report the finding in each iteration. */
static bool is_reported(const char *kind, const char *subject, bg_site site)
{
    char *key = NULL;
    bool known = asprintf(&key, "%s %s %s:%d", kind, subject, site.file != NULL ? site.file : "", site.line) < 0;
    reported_key *s;

    if (known)
        return true;
    pthread_mutex_lock(&findings.lock);
    for (s = findings.list; s != NULL && !known; s = s->next)
        known = strcmp(s->key, key) == 0;
    s = known ? NULL : malloc(sizeof *s + strlen(key) + 1);
    if (s != NULL) {
        memcpy(s->key, key, strlen(key) + 1);
        s->next = findings.list;
        findings.list = s;
    }
    pthread_mutex_unlock(&findings.lock);
    free(key);
    return s == NULL;
}

void bg__attach_report_call(const char *kind, bg_severity severity, const bg__call *place, const char *advice,
                            const char *message)
{
    bg_report *report = NULL;
    int told = 0;

    if (bg__report_create(&report, "check", "") != BG_OK) {
        bg__warn("--attach: a finding could not be reported: %s", bg_last_error());
        return;
    }
    bg__report_add(report, kind, severity, place, NULL, advice, "%s", message);
    bg__report_publish_new(report, &told);
    bg__report_queue(report, 0);
}

void bg__attach_report_once(const char *kind, bg_severity severity, const char *subject, const char *call,
                            const bg__stack *at, const char *advice, const char *message)
{
    bg__attach_report_once_at(kind, severity, subject, call, at != NULL ? bg__stack_site(at) : (bg_site){NULL, 0},
                              advice, message);
}

void bg__attach_report_once_at(const char *kind, bg_severity severity, const char *subject, const char *call,
                               bg_site site, const char *advice, const char *message)
{
    const bg__call place = {.site = site, .name = (char *)(uintptr_t)call}; /* name is only read */

    if (!is_reported(kind, subject, site))
        bg__attach_report_call(kind, severity, &place, advice, message);
}
