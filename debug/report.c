#include "report.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REPORT_VERSION = 1 }; /* of the JSON; a reader refuses others */

typedef struct entry {
    struct entry *next;
    bg_finding finding; /* its strings lie behind it */
} entry;

struct bg_report {
    char *tool, *graph;
    entry *first, *last;
    int count;
    int lost; /* findings that there was no memory for */
};

static const char *const severity_names[] = {"note", "warning", "fault"};

bg_status bg__report_create(bg_report **result, const char *tool, const char *graph)
{
    bg_report *report = calloc(1, sizeof *report);
    if (report != NULL) {
        report->tool = strdup(tool);
        report->graph = strdup(graph);
    }
    if (report == NULL || report->tool == NULL || report->graph == NULL) {
        bg_report_destroy(report);
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for a report");
    }
    *result = report;
    return BG_OK;
}

void bg_report_destroy(bg_report *report)
{
    entry *next;
    if (report == NULL)
        return;
    for (entry *e = report->first; e != NULL; e = next) {
        next = e->next;
        free(e);
    }
    free(report->tool);
    free(report->graph);
    free(report);
}

/* ---- findings ---- */

static bool is_same(const bg_finding *a, const bg_finding *b)
{
    return a->address == b->address && a->line == b->line && strcmp(a->kind, b->kind) == 0 &&
           strcmp(a->call, b->call) == 0 && strcmp(a->message, b->message) == 0;
}

static bool is_known(const bg_report *report, const bg_finding *finding)
{
    for (const entry *e = report->first; e != NULL; e = e->next)
        if (is_same(&e->finding, finding))
            return true;
    return false;
}

static const char *copy_behind(char **room, const char *text)
{
    const char *copy = *room;
    *room = stpcpy(*room, text) + 1;
    return copy;
}

static entry *make_entry(const bg_finding *f)
{
    size_t bytes = strlen(f->kind) + strlen(f->call) + strlen(f->file) + strlen(f->message) + strlen(f->advice) + 5;
    entry *e = calloc(1, sizeof *e + bytes);
    char *room;
    if (e == NULL)
        return NULL;
    room = (char *)(e + 1);
    e->finding = *f;
    e->finding.kind = copy_behind(&room, f->kind);
    e->finding.call = copy_behind(&room, f->call);
    e->finding.file = copy_behind(&room, f->file);
    e->finding.message = copy_behind(&room, f->message);
    e->finding.advice = copy_behind(&room, f->advice);
    return e;
}

void bg__report_add(bg_report *report, const char *kind, bg_severity severity, const bg__call *call,
                    const void *address, const char *advice, const char *format, ...)
{
    char message[1024];
    bg_finding finding = {.struct_size = sizeof finding, .kind = kind, .severity = severity, .address = address};
    va_list arguments;
    entry *e;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    finding.call = call != NULL && call->name != NULL ? call->name : "";
    finding.file = call != NULL && call->site.file != NULL ? call->site.file : "";
    finding.line = call != NULL ? call->site.line : 0;
    finding.message = message;
    finding.advice = advice;
    if (is_known(report, &finding))
        return;
    e = make_entry(&finding);
    if (e == NULL) {
        report->lost++;
        return;
    }
    if (report->last != NULL)
        report->last->next = e;
    else
        report->first = e;
    report->last = e;
    report->count++;
}

int bg_report_count(const bg_report *report)
{
    return report != NULL ? report->count : 0;
}

/* Faults first. */
static const bg_finding *find(const bg_report *report, int index)
{
    for (int severity = BG_FAULT; severity >= BG_NOTE; severity--)
        for (const entry *e = report->first; e != NULL; e = e->next)
            if ((int)e->finding.severity == severity && index-- == 0)
                return &e->finding;
    return NULL;
}

bg_status bg_report_get(const bg_report *report, int index, bg_finding *finding)
{
    const bg_finding *found;

    BG__NEED(report);
    BG__NEED(finding);
    found = index < 0 ? NULL : find(report, index);
    if (found == NULL)
        return bg__fail(BG_ERROR_NOT_FOUND, "bg_report_get: there is no finding %d; the report has %d", index,
                        report->count);
    return bg__sized_give(finding, found, sizeof *found, "finding", "BG_FINDING_INIT");
}

/* ---- text ---- */

void bg__report_print(const bg_report *report, FILE *out)
{
    fprintf(out, "%s of %s: %d finding%s\n", report->tool, report->graph, report->count, report->count == 1 ? "" : "s");
    for (int i = 0; i < report->count; i++) {
        const bg_finding *f = find(report, i);
        fprintf(out, "%s [%s]", severity_names[f->severity], f->kind);
        if (f->call[0] != '\0')
            fprintf(out, " %s", f->call);
        if (f->file[0] != '\0')
            fprintf(out, " at %s:%d", f->file, f->line);
        fprintf(out, ": %s\n", f->message);
        if (f->advice[0] != '\0')
            fprintf(out, "    %s\n", f->advice);
    }
    if (report->lost > 0)
        fprintf(out, "%d more for which there was no host memory\n", report->lost);
}

/* ---- JSON ---- */

static bool add_finding(cJSON *list, const bg_finding *f)
{
    char address[32];
    cJSON *item = cJSON_CreateObject();

    if (item == NULL || !cJSON_AddItemToArray(list, item)) {
        cJSON_Delete(item);
        return false;
    }
    snprintf(address, sizeof address, "%p", f->address);
    return cJSON_AddStringToObject(item, "kind", f->kind) &&
           cJSON_AddStringToObject(item, "severity", severity_names[f->severity]) &&
           cJSON_AddStringToObject(item, "call", f->call) && cJSON_AddStringToObject(item, "file", f->file) &&
           cJSON_AddNumberToObject(item, "line", f->line) &&
           (f->address != NULL ? cJSON_AddStringToObject(item, "address", address)
                               : cJSON_AddNullToObject(item, "address")) &&
           cJSON_AddStringToObject(item, "message", f->message) && cJSON_AddStringToObject(item, "advice", f->advice);
}

static bool add_all(const bg_report *report, cJSON *root)
{
    cJSON *list;
    if (!cJSON_AddStringToObject(root, "breakgraph", bg_version()) ||
        !cJSON_AddNumberToObject(root, "report_version", REPORT_VERSION) ||
        !cJSON_AddStringToObject(root, "tool", report->tool) ||
        !cJSON_AddStringToObject(root, "graph", report->graph) || !cJSON_AddNumberToObject(root, "lost", report->lost))
        return false;
    list = cJSON_AddArrayToObject(root, "findings");
    for (int i = 0; list != NULL && i < report->count; i++)
        if (!add_finding(list, find(report, i)))
            return false;
    return list != NULL;
}

static bg_status write_json(const bg_report *report, FILE *out)
{
    cJSON *root = cJSON_CreateObject();
    char *text = NULL;
    bg_status status = BG_OK;

    if (root != NULL && add_all(report, root))
        text = cJSON_Print(root);
    if (text == NULL)
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_report_write: no host memory for the JSON text");
    else
        fprintf(out, "%s\n", text);
    cJSON_free(text);
    cJSON_Delete(root);
    return status;
}

/* ---- files ---- */

static bg_status write_to(const bg_report *report, bg_format format, FILE *out)
{
    if (format == BG_JSON)
        return write_json(report, out);
    bg__report_print(report, out);
    return BG_OK;
}

static bg_status write_file(const bg_report *report, bg_format format, const char *path)
{
    size_t bytes = strlen(path) + sizeof ".XXXXXX";
    char *unfinished = malloc(bytes);
    FILE *file = NULL;
    int descriptor = -1;
    bg_status status = BG_OK;

    if (unfinished == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_report_write: no host memory for a path");
    snprintf(unfinished, bytes, "%s.XXXXXX", path);
    descriptor = mkstemp(unfinished);
    file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (file == NULL) {
        status = bg__fail(BG_ERROR_IO, "bg_report_write: %s cannot be written: %s", path, strerror(errno));
        goto done;
    }
    descriptor = -1;
    status = write_to(report, format, file);
    if (status == BG_OK && fchmod(fileno(file), 0644) != 0) /* mkstemp's is the owner's alone */
        status = bg__fail(BG_ERROR_IO, "bg_report_write: %s cannot be written: %s", path, strerror(errno));
    if (fflush(file) != 0 && status == BG_OK)
        status = bg__fail(BG_ERROR_IO, "bg_report_write: %s cannot be written: %s", path, strerror(errno));
    if (fclose(file) != 0 && status == BG_OK)
        status = bg__fail(BG_ERROR_IO, "bg_report_write: %s cannot be written: %s", path, strerror(errno));
    file = NULL;
    if (status == BG_OK && rename(unfinished, path) != 0)
        status = bg__fail(BG_ERROR_IO, "bg_report_write: %s cannot be written: %s", path, strerror(errno));
    if (status != BG_OK)
        (void)remove(unfinished);
done:
    if (descriptor >= 0) {
        (void)close(descriptor);
        (void)remove(unfinished);
    }
    free(unfinished);
    return status;
}

bg_status bg_report_write(const bg_report *report, bg_format format, const char *path)
{
    bg_status status;

    BG__NEED(report);
    BG__NEED(path);
    if (format == BG_HTML)
        return bg__fail(BG_ERROR_UNSUPPORTED,
                        "bg_report_write: BG_HTML is not in this version; use BG_TEXT or BG_JSON");
    if (format != BG_TEXT && format != BG_JSON)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_report_write: format is %d, no bg_format", (int)format);
    if (strcmp(path, "-") != 0)
        return write_file(report, format, path);
    status = write_to(report, format, stdout);
    if (fflush(stdout) != 0 && status == BG_OK)
        status = bg__fail(BG_ERROR_IO, "bg_report_write: standard output cannot be written: %s", strerror(errno));
    return status;
}
