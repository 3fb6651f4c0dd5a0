/* Prints reports as text, in lines as wide as the terminal. */
#include "report.h"
#include "report_data.h"

#include "debug/files/json.h"
#include "debug/report/runners/runners_text.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

static void print_header(const bg_report *report, int count, FILE *out)
{
    bg__print_escaped(out, report->tool);
    if (report->graph[0] != '\0')
        fputs(" of ", out);
    bg__print_escaped(out, report->graph);
    fprintf(out, ": %d %sfinding%s\n", count, count < report->count ? "more " : "", count == 1 ? "" : "s");
}

/* The width of the terminal, or 120 if out is not a terminal. */
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
        columns += ((unsigned char)text[i] & 0xc0) != 0x80; /* continuation bytes of UTF-8 have no column */
    return columns;
}

/* Breaks lines at spaces, and indents continued lines. Does not break a word that is wider than a line. */
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

/* Prints the first names, and the number of the other names. The JSON has all names. */
static void print_other_calls(const char *others, FILE *out)
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
    bg__print_escaped(out, f->kind);
    fputs("]", out);
    if (f->call[0] != '\0') {
        fputs(" ", out);
        bg__print_escaped(out, f->call);
        print_other_calls(f->others, out);
    }
    if (f->file[0] != '\0') {
        fputs(" at ", out);
        bg__print_escaped(out, f->file);
        if (f->line > 0) /* for a frame of C, only the function is known */
            fprintf(out, ":%d", f->line);
    }
    if (f->graph != NULL && f->graph[0] != '\0') {
        fputs(", graph ", out);
        bg__print_escaped(out, f->graph);
    }
    fputs(": ", out);
    bg__print_escaped(out, f->message);
    if (f->advice[0] != '\0') {
        fputs("\n    ", out);
        bg__print_escaped(out, f->advice);
    }
    fputs("\n", out);
}

/* Prints the finding wrapped, or unwrapped if out of host memory. */
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

/* Prints a row. Rows may come from files, so any member may be missing. */
static void print_graph_row(const cJSON *row, FILE *out)
{
    enum { OPS_SHOWN = 4 };
    const cJSON *op, *ops = cJSON_GetObjectItemCaseSensitive(row, "ops");
    const cJSON *line = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(row, "stack"), 0);
    double memory = bg__json_number(row, "memory_bytes"), nodes = bg__json_number(row, "nodes");
    int shown = 0;

    bg__print_escaped(out, bg__json_string(row, "name"));
    if (bg__json_number(row, "alike") > 0)
        fprintf(out, " and %.0f like it, already destroyed", bg__json_number(row, "alike"));
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
        bg__print_escaped(out, bg__json_string(op, "name"));
    }
    if (shown > OPS_SHOWN)
        fprintf(out, ", and %d other kinds", cJSON_GetArraySize(ops) - OPS_SHOWN);
    if (cJSON_IsString(line)) {
        fputs("; instantiated at ", out);
        bg__print_escaped(out, line->valuestring);
    }
    fputc('\n', out);
}

static void print_graphs(const bg_report *report, FILE *out)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(report->parts, "graphs"))
    {
        print_graph_row(row, out);
    }
}

static void print_other_parts(const bg_report *report, FILE *out)
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
    flockfile(out); /* other threads may print reports at the same time */
    print_header(report, (int)fresh, out);
    for (int severity = BG_FAULT; severity >= BG_NOTE; severity--) {
        bg__report_findings *of = &report->of[severity];
        while (of->printed < of->count)
            print_finding(of->list[of->printed++], width, out);
    }
    print_other_parts(report, out);
    funlockfile(out);
    return true;
}

void bg__report_print_first(const bg_report *report, int most, FILE *out)
{
    const int width = text_width(out), end = report->count < most ? report->count : most;

    flockfile(out);
    print_header(report, report->count, out);
    for (int i = 0; i < end; i++)
        print_finding(bg__report_finding_at(report, i), width, out);
    if (end < report->count)
        fprintf(out, "%d more findings are not shown here\n", report->count - end);
    print_other_parts(report, out);
    funlockfile(out);
}

void bg__report_print(const bg_report *report, FILE *out)
{
    bg__report_print_first(report, report->count, out);
}
