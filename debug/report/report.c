#include "report.h"
#include "report_data.h"

#include <cjson/cJSON.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const bg__severity_names[] = {"note", "warning", "fault", NULL};

bg_status bg__report_create(bg_report **result, const char *tool, const char *graph)
{
    bg_report *report = calloc(1, sizeof *report);
    if (report != NULL) {
        report->tool = strdup(tool);
        report->graph = strdup(graph);
    }
    if (report == NULL || report->tool == NULL || report->graph == NULL) {
        bg_report_destroy(report);
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a report");
    }
    *result = report;
    return BG_OK;
}

bg_status bg__report_set_graph(bg_report *report, const char *graph)
{
    char *copy = strdup(graph);
    if (copy == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a report");
    free(report->graph);
    report->graph = copy;
    return BG_OK;
}

void bg_report_destroy(bg_report *report)
{
    if (report == NULL)
        return;
    tdestroy(report->known, free);
    for (int severity = BG_NOTE; severity <= BG_FAULT; severity++)
        free(report->of[severity].list);
    cJSON_Delete(report->parts);
    free(report->tool);
    free(report->graph);
    free(report);
}

/* ---- findings ---- */

/* Compares kind and call first: a finding without a message equals any finding of that kind and call. */
static int compare_findings(const void *one, const void *other)
{
    const bg_finding *a = one, *b = other;
    int order = strcmp(a->kind, b->kind);
    if (order == 0)
        order = strcmp(a->call, b->call);
    if (order != 0 || a->message == NULL || b->message == NULL)
        return order;
    if ((a->graph == NULL) != (b->graph == NULL))
        return a->graph == NULL ? -1 : 1;
    order = a->graph != NULL ? strcmp(a->graph, b->graph) : 0;
    if (order != 0)
        return order;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->address != b->address)
        return (uintptr_t)a->address < (uintptr_t)b->address ? -1 : 1;
    return strcmp(a->message, b->message);
}

bool bg__report_has_finding(const bg_report *report, const char *kind, const char *call)
{
    const bg_finding any = {.kind = kind, .call = call};
    return tfind(&any, &report->known, compare_findings) != NULL;
}

static const char *copy_string(char **room, const char *text)
{
    const char *copy = *room;
    *room = stpcpy(*room, text) + 1;
    return copy;
}

static bg_finding *copy_finding(const bg_finding *f)
{
    size_t bytes = strlen(f->kind) + strlen(f->call) + strlen(f->file) + strlen(f->message) + strlen(f->advice) +
                   strlen(f->others) + (f->graph != NULL ? strlen(f->graph) : 0) + 7;
    bg_finding *copy = malloc(sizeof *copy + bytes);
    char *room;
    if (copy == NULL)
        return NULL;
    room = (char *)(copy + 1);
    *copy = *f;
    copy->kind = copy_string(&room, f->kind);
    copy->call = copy_string(&room, f->call);
    copy->file = copy_string(&room, f->file);
    copy->message = copy_string(&room, f->message);
    copy->advice = copy_string(&room, f->advice);
    copy->others = copy_string(&room, f->others);
    copy->graph = f->graph != NULL ? copy_string(&room, f->graph) : NULL;
    return copy;
}

/* Also finds the same finding with a greater severity: a fault that did harm once need not do harm in each replay. */
static bool has_same_finding(const bg_report *report, bg_finding finding)
{
    for (; finding.severity <= BG_FAULT; finding.severity++)
        if (tfind(&finding, &report->known, compare_findings) != NULL)
            return true;
    return false;
}

void bg__report_add_finding(bg_report *report, const bg_finding *finding)
{
    bg__report_findings *of = &report->of[finding->severity];
    bg_finding own = *finding, *copy;

    if (own.graph != NULL && strcmp(own.graph, report->graph) == 0)
        own.graph = NULL;
    if (has_same_finding(report, own))
        return;
    copy = copy_finding(&own);
    if (copy == NULL || BG__ARRAY_GROW(of->list, of->count, of->capacity, "findings") != BG_OK ||
        tsearch(copy, &report->known, compare_findings) == NULL) {
        free(copy);
        report->lost++;
        return;
    }
    of->list[of->count++] = copy;
    report->count++;
}

static void (*edit_message)(char *message, size_t bytes);

void bg__report_set_message_editor(void (*edit)(char *message, size_t bytes))
{
    edit_message = edit;
}

/* The finding names a call that a rule has fused with its neighbours. Appends the name of the run that computes the
 * call. */
static void append_run_name(const bg__call *call, char *message, size_t bytes)
{
    size_t length = strlen(message);
    if (call != NULL && call->run != NULL)
        snprintf(message + length, bytes - length, "; a rule has replaced it by %.300s", call->run->name);
}

/* Formats the message and adds the finding, whose other members are set. */
static void add_formatted_finding(bg_report *report, bg_finding finding, const bg__call *call, const char *format,
                                  va_list arguments)
{
    char message[1024];

    vsnprintf(message, sizeof message, format, arguments);
    append_run_name(call, message, sizeof message);
    if (edit_message != NULL)
        edit_message(message, sizeof message);
    finding.struct_size = sizeof finding;
    finding.call = call != NULL && call->name != NULL ? call->name : "";
    finding.file = call != NULL && call->site.file != NULL ? call->site.file : "";
    finding.line = call != NULL ? call->site.line : 0;
    finding.message = message;
    bg__report_add_finding(report, &finding);
}

void bg__report_add(bg_report *report, const char *kind, bg_severity severity, const bg__call *call,
                    const void *address, const char *advice, const char *format, ...)
{
    bg_finding finding = {.kind = kind, .severity = severity, .address = address, .advice = advice, .others = ""};
    va_list arguments;

    va_start(arguments, format);
    add_formatted_finding(report, finding, call, format, arguments);
    va_end(arguments);
}

/* ---- findings about several calls ---- */

bg_status bg__finding_calls_add(bg__finding_calls *about, const bg__call *call)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < about->count; i++)
        if (about->calls[i] == call)
            return BG_OK;
    BG__TRY(BG__ARRAY_GROW(about->calls, about->count, about->capacity, "calls of a finding"));
    about->calls[about->count++] = call;
done:
    return status;
}

void bg__finding_calls_free(bg__finding_calls *about)
{
    free(about->calls);
    *about = (bg__finding_calls){.calls = NULL};
}

/* Joins the names of all calls but the first. The caller frees the text. Returns NULL if out of host memory. */
static char *join_other_names(const bg__finding_calls *about)
{
    char *names = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&names, &bytes);

    if (out == NULL)
        return NULL;
    for (size_t i = 1; i < about->count; i++)
        fprintf(out, "%s%s", i > 1 ? ", " : "", about->calls[i]->name);
    if (fclose(out) == 0)
        return names;
    free(names);
    return NULL;
}

void bg__report_add_for_calls(bg_report *report, const char *kind, bg_severity severity, const bg__finding_calls *about,
                              const void *address, const char *advice, const char *format, ...)
{
    char *others = join_other_names(about);
    bg_finding finding = {.kind = kind, .severity = severity, .address = address, .advice = advice};
    va_list arguments;

    finding.others = others != NULL ? others : "";
    va_start(arguments, format);
    add_formatted_finding(report, finding, about->count > 0 ? about->calls[0] : NULL, format, arguments);
    va_end(arguments);
    free(others);
}

bool bg__finding_has_call(const bg_finding *finding, const char *call)
{
    size_t bytes = strlen(call);
    if (bytes == 0 || strcmp(finding->call, call) == 0)
        return bytes > 0;
    for (const char *at = finding->others; (at = strstr(at, call)) != NULL; at += bytes)
        if ((at == finding->others || (at - finding->others >= 2 && at[-2] == ',')) &&
            (at[bytes] == ',' || at[bytes] == '\0'))
            return true;
    return false;
}

/* ---- parts ---- */

cJSON *bg__report_part(bg_report *report, const char *name)
{
    cJSON *part;
    if (report->parts == NULL)
        report->parts = cJSON_CreateObject();
    part = report->parts != NULL ? cJSON_GetObjectItemCaseSensitive(report->parts, name) : NULL;
    return part != NULL || report->parts == NULL ? part : cJSON_AddArrayToObject(report->parts, name);
}

bg_status bg__report_set_outline(bg_report *report, cJSON *outline)
{
    if (report->parts == NULL)
        report->parts = cJSON_CreateObject();
    if (outline != NULL && report->parts != NULL) {
        cJSON_DeleteItemFromObjectCaseSensitive(report->parts, "outline");
        if (cJSON_AddItemToObject(report->parts, "outline", outline))
            return BG_OK;
    }
    cJSON_Delete(outline);
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the outline of a graph");
}

int bg_report_count(const bg_report *report)
{
    return report != NULL ? report->count : 0;
}

const bg_finding *bg__report_finding_at(const bg_report *report, int index)
{
    size_t left = (size_t)index;
    for (int severity = BG_FAULT; index >= 0 && severity >= BG_NOTE; severity--) {
        if (left < report->of[severity].count)
            return report->of[severity].list[left];
        left -= report->of[severity].count;
    }
    return NULL;
}

bg_status bg_report_get(const bg_report *report, int index, bg_finding *finding)
{
    const bg_finding *found;
    bg_finding copy;

    BG__NEED(report);
    BG__NEED(finding);
    found = bg__report_finding_at(report, index);
    if (found == NULL)
        return bg__fail(BG_ERROR_NOT_FOUND, "bg_report_get: there is no finding %d; the report has %d", index,
                        report->count);
    copy = *found;
    copy.graph = found->graph != NULL ? found->graph : report->graph;
    return bg__struct_copy_out(finding, &copy, sizeof copy, "finding", "BG_FINDING_INIT");
}
