#include "report_data.h"

#include "debug/files/json.h"
#include "runners_text.h"

#include <cjson/cJSON.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

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

/* Compares kind and call first: a finding without a message matches any finding of that kind and call. */
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

bool bg__report_has(const bg_report *report, const char *kind, const char *call)
{
    const bg_finding any = {.kind = kind, .call = call};
    return tfind(&any, &report->known, compare_findings) != NULL;
}

static const char *copy_behind(char **room, const char *text)
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
    copy->kind = copy_behind(&room, f->kind);
    copy->call = copy_behind(&room, f->call);
    copy->file = copy_behind(&room, f->file);
    copy->message = copy_behind(&room, f->message);
    copy->advice = copy_behind(&room, f->advice);
    copy->others = copy_behind(&room, f->others);
    copy->graph = f->graph != NULL ? copy_behind(&room, f->graph) : NULL;
    return copy;
}

/* Also with a greater severity, since what has done harm once need not do so in each replay. */
static bool is_known(const bg_report *report, bg_finding finding)
{
    for (; finding.severity <= BG_FAULT; finding.severity++)
        if (tfind(&finding, &report->known, compare_findings) != NULL)
            return true;
    return false;
}

void bg__report_put(bg_report *report, const bg_finding *finding)
{
    bg__report_findings *of = &report->of[finding->severity];
    bg_finding own = *finding, *copy;

    if (own.graph != NULL && strcmp(own.graph, report->graph) == 0)
        own.graph = NULL;
    if (is_known(report, own))
        return;
    copy = copy_finding(&own);
    if (copy == NULL || BG__GROW(of->list, of->count, of->capacity, "findings") != BG_OK ||
        tsearch(copy, &report->known, compare_findings) == NULL) {
        free(copy);
        report->lost++;
        return;
    }
    of->list[of->count++] = copy;
    report->count++;
}

static void (*edit_message)(char *message, size_t bytes);

void bg__report_set_editor(void (*edit)(char *message, size_t bytes))
{
    edit_message = edit;
}

/* A call that a rule has fused with its neighbours keeps its name, and the message says what computes it. */
static void name_run(const bg__call *call, char *message, size_t bytes)
{
    size_t length = strlen(message);
    if (call != NULL && call->run != NULL)
        snprintf(message + length, bytes - length, "; a rule has put %.300s in its place", call->run->name);
}

/* The rest of the finding is given. */
static void add_message(bg_report *report, bg_finding finding, const bg__call *call, const char *format,
                        va_list arguments)
{
    char message[1024];

    vsnprintf(message, sizeof message, format, arguments);
    name_run(call, message, sizeof message);
    if (edit_message != NULL)
        edit_message(message, sizeof message);
    finding.struct_size = sizeof finding;
    finding.call = call != NULL && call->name != NULL ? call->name : "";
    finding.file = call != NULL && call->site.file != NULL ? call->site.file : "";
    finding.line = call != NULL ? call->site.line : 0;
    finding.message = message;
    bg__report_put(report, &finding);
}

void bg__report_add(bg_report *report, const char *kind, bg_severity severity, const bg__call *call,
                    const void *address, const char *advice, const char *format, ...)
{
    bg_finding finding = {.kind = kind, .severity = severity, .address = address, .advice = advice, .others = ""};
    va_list arguments;

    va_start(arguments, format);
    add_message(report, finding, call, format, arguments);
    va_end(arguments);
}

/* ---- findings about several calls ---- */

bg_status bg__about_add(bg__about *about, const bg__call *call)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < about->count; i++)
        if (about->calls[i] == call)
            return BG_OK;
    BG__TRY(BG__GROW(about->calls, about->count, about->capacity, "calls of a finding"));
    about->calls[about->count++] = call;
done:
    return status;
}

void bg__about_free(bg__about *about)
{
    free(about->calls);
    *about = (bg__about){.calls = NULL};
}

/* All but the first. The caller frees them. NULL: out of host memory. */
static char *name_others(const bg__about *about)
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

void bg__report_add_about(bg_report *report, const char *kind, bg_severity severity, const bg__about *about,
                          const void *address, const char *advice, const char *format, ...)
{
    char *others = name_others(about);
    bg_finding finding = {.kind = kind, .severity = severity, .address = address, .advice = advice};
    va_list arguments;

    finding.others = others != NULL ? others : "";
    va_start(arguments, format);
    add_message(report, finding, about->count > 0 ? about->calls[0] : NULL, format, arguments);
    va_end(arguments);
    free(others);
}

bool bg__finding_is_about(const bg_finding *finding, const char *call)
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

const bg_finding *bg__report_find(const bg_report *report, int index)
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
    found = bg__report_find(report, index);
    if (found == NULL)
        return bg__fail(BG_ERROR_NOT_FOUND, "bg_report_get: there is no finding %d; the report has %d", index,
                        report->count);
    copy = *found;
    copy.graph = found->graph != NULL ? found->graph : report->graph;
    return bg__sized_give(finding, &copy, sizeof copy, "finding", "BG_FINDING_INIT");
}

/* ---- text ---- */

static void print_head(const bg_report *report, int count, FILE *out)
{
    bg__print_text(out, report->tool);
    if (report->graph[0] != '\0')
        fputs(" of ", out);
    bg__print_text(out, report->graph);
    fprintf(out, ": %d %sfinding%s\n", count, count < report->count ? "more " : "", count == 1 ? "" : "s");
}

/* The width of a terminal; 120 for other files. */
static int text_width(FILE *out)
{
    enum { WIDTH = 120, NARROWEST = 40 };
    int descriptor = fileno(out);
    struct winsize size;

    if (descriptor < 0 || ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return WIDTH;
    return size.ws_col < NARROWEST ? NARROWEST : size.ws_col;
}

static int count_columns(const char *text, size_t bytes)
{
    int columns = 0;
    for (size_t i = 0; i < bytes; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80; /* all but the first byte of a UTF-8 character */
    return columns;
}

/* Breaks lines at spaces, and indents continued lines. A word that is wider than a line is not broken. */
static void print_wrapped(const char *text, int width, FILE *out)
{
    enum { INDENT = 8 };
    int column = 0;

    while (*text != '\0') {
        size_t spaces = strspn(text, " "), bytes = spaces + strcspn(text + spaces, " \n");
        int columns = count_columns(text, bytes);
        if (column > INDENT && column + columns > width) {
            fprintf(out, "\n%*s", INDENT, "");
            column = INDENT + columns - (int)spaces;
            fwrite(text + spaces, 1, bytes - spaces, out);
        } else {
            column += columns;
            fwrite(text, 1, bytes, out);
        }
        text += bytes;
        if (*text == '\n') {
            fputc(*text++, out);
            column = 0;
        }
    }
}

/* The first ones, and how many more there are: the JSON has all. */
static void print_others(const char *others, FILE *out)
{
    enum { OTHERS_SHOWN = 3 };
    size_t count = others[0] != '\0', bytes = 0;

    for (const char *at = others; (at = strstr(at, ", ")) != NULL; at += 2)
        if (++count == OTHERS_SHOWN + 1)
            bytes = (size_t)(at - others);
    if (count == 0)
        return;
    if (count > OTHERS_SHOWN)
        fprintf(out, ", %.*s and %zu more", (int)bytes, others, count - OTHERS_SHOWN);
    else
        fprintf(out, ", %s", others);
}

static void print_unwrapped(const bg_finding *f, FILE *out)
{
    fprintf(out, "%s [", bg__severity_names[f->severity]);
    bg__print_text(out, f->kind);
    fputs("]", out);
    if (f->call[0] != '\0') {
        fputs(" ", out);
        bg__print_text(out, f->call);
        print_others(f->others, out);
    }
    if (f->file[0] != '\0') {
        fputs(" at ", out);
        bg__print_text(out, f->file);
        if (f->line > 0) /* of a stack of C, only the function is known */
            fprintf(out, ":%d", f->line);
    }
    if (f->graph != NULL && f->graph[0] != '\0') {
        fputs(", graph ", out);
        bg__print_text(out, f->graph);
    }
    fputs(": ", out);
    bg__print_text(out, f->message);
    if (f->advice[0] != '\0') {
        fputs("\n    ", out);
        bg__print_text(out, f->advice);
    }
    fputs("\n", out);
}

/* Wraps the finding's text; without memory for that, prints it unwrapped. */
static void print_finding(const bg_finding *f, int width, FILE *out)
{
    size_t bytes;
    char *text = NULL;
    FILE *memory = open_memstream(&text, &bytes);
    bool good = memory != NULL;

    if (good)
        print_unwrapped(f, memory);
    good = good && ferror(memory) == 0;
    good = memory != NULL && fclose(memory) == 0 && good;
    if (good)
        print_wrapped(text, width, out);
    else
        print_unwrapped(f, out);
    free(text);
}

/* Rows come from files, too, and may lack anything. */
static void print_row(const cJSON *row, FILE *out)
{
    enum { OPS_SHOWN = 4 };
    const cJSON *op, *ops = cJSON_GetObjectItemCaseSensitive(row, "ops");
    const cJSON *line = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(row, "stack"), 0);
    double memory = bg__json_number(row, "memory_bytes"), nodes = bg__json_number(row, "nodes");
    int shown = 0;

    bg__print_text(out, bg__json_string(row, "name"));
    if (bg__json_number(row, "alike") > 0)
        fprintf(out, " and %.0f like it, which are gone", bg__json_number(row, "alike"));
    fprintf(out, ": %.0f node%s, launched %.0f times, updated %.0f times", nodes, nodes == 1 ? "" : "s",
            bg__json_number(row, "launches"), bg__json_number(row, "updates"));
    if (memory > 0)
        fprintf(out, ", %.1f MiB", memory / (1 << 20));
    fputs("\n    ", out);
    cJSON_ArrayForEach(op, ops)
    {
        if (shown++ == OPS_SHOWN)
            break;
        fprintf(out, "%s%.0f ", shown > 1 ? ", " : "", bg__json_number(op, "count"));
        bg__print_text(out, bg__json_string(op, "name"));
    }
    if (shown > OPS_SHOWN)
        fprintf(out, ", and %d other kinds", cJSON_GetArraySize(ops) - OPS_SHOWN);
    if (cJSON_IsString(line)) {
        fputs("; instantiated at ", out);
        bg__print_text(out, line->valuestring);
    }
    fputc('\n', out);
}

static void print_graphs(const bg_report *report, FILE *out)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(report->parts, "graphs"))
    {
        print_row(row, out);
    }
}

static void print_rest(const bg_report *report, FILE *out)
{
    if (report->lost > 0)
        fprintf(out, "%d more findings were lost: out of host memory\n", report->lost);
    print_graphs(report, out);
    bg__runners_print(cJSON_GetObjectItemCaseSensitive(report->parts, "runners"), out);
}

bool bg__report_print_new(bg_report *report, FILE *out)
{
    const int width = text_width(out);
    size_t fresh = (size_t)report->count;

    for (int severity = BG_NOTE; severity <= BG_FAULT; severity++)
        fresh -= report->of[severity].printed;
    if (fresh == 0)
        return false;
    flockfile(out); /* threads may report at the same time */
    print_head(report, (int)fresh, out);
    for (int severity = BG_FAULT; severity >= BG_NOTE; severity--) {
        bg__report_findings *of = &report->of[severity];
        while (of->printed < of->count)
            print_finding(of->list[of->printed++], width, out);
    }
    print_rest(report, out);
    funlockfile(out);
    return true;
}

void bg__report_print_first(const bg_report *report, int most, FILE *out)
{
    const int width = text_width(out), end = report->count < most ? report->count : most;

    flockfile(out);
    print_head(report, report->count, out);
    for (int i = 0; i < end; i++)
        print_finding(bg__report_find(report, i), width, out);
    if (end < report->count)
        fprintf(out, "%d more findings are not shown here\n", report->count - end);
    print_rest(report, out);
    funlockfile(out);
}

void bg__report_print(const bg_report *report, FILE *out)
{
    bg__report_print_first(report, report->count, out);
}

/* ---- JSON ---- */

/* A member that only findings about several calls have. */
static bool add_others(cJSON *item, const bg_finding *f)
{
    const char *at = f->others;
    cJSON *list = at[0] != '\0' ? cJSON_AddArrayToObject(item, "others") : NULL;
    bool good = at[0] == '\0' || list != NULL;

    while (good && *at != '\0') {
        const char *end = strstr(at, ", ");
        char *name = end != NULL ? strndup(at, (size_t)(end - at)) : strdup(at);
        cJSON *one = name != NULL ? cJSON_CreateString(name) : NULL;
        good = one != NULL && cJSON_AddItemToArray(list, one);
        free(name);
        at = end != NULL ? end + 2 : "";
    }
    return good;
}

static bool add_finding(cJSON *list, const bg_finding *f)
{
    char address[32];
    cJSON *item = bg__json_add_object(list);

    snprintf(address, sizeof address, "%p", f->address);
    return item != NULL && cJSON_AddStringToObject(item, "kind", f->kind) &&
           cJSON_AddStringToObject(item, "severity", bg__severity_names[f->severity]) &&
           cJSON_AddStringToObject(item, "call", f->call) && cJSON_AddStringToObject(item, "file", f->file) &&
           cJSON_AddNumberToObject(item, "line", f->line) &&
           (f->address != NULL ? cJSON_AddStringToObject(item, "address", address)
                               : cJSON_AddNullToObject(item, "address")) &&
           cJSON_AddStringToObject(item, "message", f->message) && cJSON_AddStringToObject(item, "advice", f->advice) &&
           (f->graph == NULL || cJSON_AddStringToObject(item, "graph", f->graph)) && add_others(item, f);
}

/* Adds references: the report still owns the parts. */
static bool add_parts(const bg_report *report, cJSON *root)
{
    cJSON *part;
    cJSON_ArrayForEach(part, report->parts)
    {
        if (!cJSON_AddItemReferenceToObject(root, part->string, part))
            return false;
    }
    return true;
}

static bool add_all(const bg_report *report, cJSON *root)
{
    cJSON *list;
    if (!cJSON_AddStringToObject(root, "breakgraph", bg_version()) ||
        !cJSON_AddNumberToObject(root, "report_version", BG__REPORT_VERSION) ||
        !cJSON_AddStringToObject(root, "tool", report->tool) ||
        !cJSON_AddStringToObject(root, "graph", report->graph) || !cJSON_AddNumberToObject(root, "lost", report->lost))
        return false;
    list = cJSON_AddArrayToObject(root, "findings");
    for (int i = 0; list != NULL && i < report->count; i++)
        if (!add_finding(list, bg__report_find(report, i)))
            return false;
    return list != NULL && add_parts(report, root);
}

bg_status bg__report_root(const bg_report *report, cJSON **root)
{
    *root = cJSON_CreateObject();
    if (*root != NULL && add_all(report, *root))
        return BG_OK;
    cJSON_Delete(*root);
    *root = NULL;
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_report_write: out of host memory for the report's JSON");
}

bg_status bg__report_json(const bg_report *report, bool indented, char **text)
{
    cJSON *root = NULL;
    bg_status status;

    *text = NULL;
    BG__TRY(bg__report_root(report, &root));
    *text = bg__json_text(root, indented);
    if (*text == NULL)
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_report_write: out of host memory for the JSON text");
done:
    cJSON_Delete(root);
    return status;
}
