#include "cli_coverage.h"

#include <stdlib.h>
#include <string.h>

#include "debug/cli/output/exits.h"
#include "debug/cli/output/cli_json.h"

static const char checks_key[] = "checks", not_key[] = "not_checked";

static cJSON *get_or_add_member(cJSON *of, const char *name, bool list)
{
    cJSON *part = cJSON_GetObjectItemCaseSensitive(of, name);
    if (part == NULL)
        part = list ? cJSON_AddArrayToObject(of, name) : cJSON_AddObjectToObject(of, name);
    return part;
}

static void add_numbers(cJSON *to, const cJSON *from)
{
    const cJSON *number;
    cJSON_ArrayForEach(number, from)
    {
        cJSON *sum = number->string != NULL ? cJSON_GetObjectItemCaseSensitive(to, number->string) : NULL;
        if (sum != NULL)
            cJSON_SetNumberValue(sum, sum->valuedouble + number->valuedouble);
        else if (cJSON_IsNumber(number))
            cJSON_AddNumberToObject(to, number->string, number->valuedouble);
    }
}

void cli_coverage_add(cli_gathered *gathered, const cJSON *looked)
{
    const cJSON *checks = cJSON_GetObjectItemCaseSensitive(looked, checks_key), *check;
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(looked, not_key), *row;

    if (gathered->looked == NULL)
        gathered->looked = cJSON_CreateObject();
    cJSON_ArrayForEach(check, checks)
    {
        add_numbers(get_or_add_member(get_or_add_member(gathered->looked, checks_key, false), check->string, false),
                    check);
    }
    cJSON_ArrayForEach(row, rows)
    {
        cJSON_AddItemToArray(get_or_add_member(gathered->looked, not_key, true), cJSON_Duplicate(row, true));
    }
}

static const cJSON *find_check(const cli_gathered *gathered, const char *name)
{
    const cJSON *checks = cJSON_GetObjectItemCaseSensitive(gathered->looked, checks_key);
    return cJSON_GetObjectItemCaseSensitive(checks, name);
}

bool cli_coverage_any(const cli_gathered *gathered)
{
    return cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(gathered->looked, checks_key)) > 0;
}

bool cli_coverage_has(const cli_gathered *gathered, const char *check)
{
    return find_check(gathered, check) != NULL;
}

void cli_coverage_add_listed(cli_gathered *gathered)
{
    cJSON *sums = cJSON_CreateObject(), *looked = cJSON_CreateObject();
    double graphs = 0, nodes = 0, launches = 0;
    const cJSON *report, *row;

    cJSON_ArrayForEach(report, gathered->reports)
    {
        cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(report, "graphs"))
        {
            graphs += 1 + cli_json_number(row, "alike");
            nodes += cli_json_number(row, "nodes") * (1 + cli_json_number(row, "alike"));
            launches += cli_json_number(row, "launches");
        }
    }
    cJSON_AddNumberToObject(sums, "graphs", graphs);
    cJSON_AddNumberToObject(sums, "nodes", nodes);
    cJSON_AddNumberToObject(sums, "replays", launches);
    cJSON_AddItemToObject(get_or_add_member(looked, checks_key, false), "replay", sums);
    cli_coverage_add(gathered, looked);
    cJSON_Delete(looked);
}

/* ---- for a report ---- */

static cJSON *add_coverage_row(cJSON *rows, const char *check)
{
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "check", check);
    cJSON_AddItemToArray(rows, row);
    return row;
}

cJSON *cli_coverage_report(const cli_gathered *gathered)
{
    const cJSON *checks = cJSON_GetObjectItemCaseSensitive(gathered->looked, checks_key), *check;
    cJSON *list, *report, *rows;

    if (!cli_coverage_any(gathered) && gathered->compared == 0)
        return NULL;
    list = cJSON_CreateArray();
    report = cJSON_CreateObject();
    cJSON_AddItemToArray(list, report);
    cJSON_AddNumberToObject(report, "report_version", CLI_REPORT_VERSION);
    cJSON_AddStringToObject(report, "tool", "");
    cJSON_AddStringToObject(report, "graph", "");
    cJSON_AddArrayToObject(report, "findings");
    rows = cJSON_AddArrayToObject(report, "looked");
    cJSON_ArrayForEach(check, checks)
    {
        add_numbers(add_coverage_row(rows, check->string), check);
    }
    if (gathered->compared > 0)
        cJSON_AddNumberToObject(add_coverage_row(rows, "shadow"), "replays", (double)gathered->compared);
    return list;
}

/* ---- text ---- */

/* Prints "12 replays", between `before` and `behind`. */
static void print_count(const char *before, double count, const char *what, const char *behind, FILE *out)
{
    fprintf(out, "%s%.0f %s%s%s", before, count, what, count == 1 ? "" : "s", behind);
}

static void print_step(const cJSON *step, const char *before, FILE *out)
{
    print_count(before, cli_json_number(step, "replays"), "replay", "", out);
    print_count(", ", cli_json_number(step, "nodes"), "node", " stepped", out);
    if (cli_json_number(step, "calls") > 0) { /* without libbreakgraph, nodes belong to no call */
        print_count(", ", cli_json_number(step, "elements"), "float", "", out);
        print_count(" of ", cli_json_number(step, "calls"), "call", " counted", out);
    }
    if (cli_json_number(step, "whole") > 0)
        print_count("; ", cli_json_number(step, "whole"), "segment", " ran as a whole", out);
    if (cli_json_number(step, "skipped") > 0)
        print_count("; ", cli_json_number(step, "skipped"), "node", " before them not looked at", out);
}

static void print_coverage(const cli_gathered *gathered, FILE *out)
{
    const cJSON *graph = find_check(gathered, "graph"), *replay = find_check(gathered, "replay");
    const cJSON *recapture = find_check(gathered, "recapture"), *poison = find_check(gathered, "poison");
    const cJSON *padding = find_check(gathered, "padding");
    const cJSON *step = find_check(gathered, "step");
    const char *before = "looked at: ";

    if (graph != NULL) {
        print_count(before, cli_json_number(graph, "graphs"), "graph", "", out);
        print_count(", ", cli_json_number(graph, "calls"), "call", "", out);
        print_count(", ", cli_json_number(graph, "nodes"), "node", "", out);
        before = "; ";
    }
    if (replay != NULL) {
        print_count(before, cli_json_number(replay, "replays"), "replay",
                    gathered->unended > 0 ? " or more compared" : " compared", out);
        before = "; ";
    }
    if (recapture != NULL) {
        print_count(before, cli_json_number(recapture, "graphs"), "graph", " captured again", out);
        before = "; ";
    }
    if (poison != NULL) {
        print_count(before, cli_json_number(poison, "graphs"), "graph", " replayed with poison", out);
        before = "; ";
    }
    if (padding != NULL) {
        print_count(before, cli_json_number(padding, "graphs"), "graph", " replayed with other padding", out);
        before = "; ";
    }
    if (step != NULL)
        print_step(step, before, out);
    fputs("\n", out);
}

static void print_replayed(const cJSON *check, FILE *out)
{
    print_count("looked at: ", cli_json_number(check, "graphs"), "graph", "", out);
    print_count(", ", cli_json_number(check, "nodes"), "node", "", out);
    print_count("; ", cli_json_number(check, "replays"), "replay", " compared\n", out);
}

/* The comparison of two runs, which the command itself makes. */
static void print_recaptured(const cJSON *check, FILE *out)
{
    print_count("looked at: ", cli_json_number(check, "graphs"), "graph", " of two runs", out);
    print_count(", ", cli_json_number(check, "nodes"), "node", "", out);
    print_count(", ", cli_json_number(check, "values"), "value", " compared\n", out);
    if (cli_json_number(check, "updated") > 0)
        print_count("not frozen: ", cli_json_number(check, "updated"), "node",
                    ", whose parameters the program sets after the instantiation\n", out);
}

static void print_attached(const cli_gathered *gathered, const char *kind, FILE *out)
{
    const cJSON *check = find_check(gathered, kind);

    if (strcmp(kind, "replay") == 0) {
        print_replayed(check, out);
    } else if (strcmp(kind, "recapture") == 0) {
        if (check != NULL)
            print_recaptured(check, out);
    } else if (check != NULL && strcmp(kind, "inputs") == 0 && gathered->unended > 0) {
        fputs("not looked at: inputs: they are reported when a process ends by exit(), and one did not\n", out);
    } else if (check != NULL) {
        print_count("looked at: ", cli_json_number(check, "graphs"), "graph", "", out);
        print_count(", ", cli_json_number(check, "nodes"), "node", "", out);
        fprintf(out, " (%s)\n", kind);
    } else if (cli_coverage_why_not(gathered, kind) == NULL) {
        fprintf(out, "not looked at: %s: the program launched no graph that this check covers\n", kind);
    }
}

static bool is_same_row(const cJSON *row, const cJSON *other, bool graph)
{
    return strcmp(cli_json_text(row, "check"), cli_json_text(other, "check")) == 0 &&
           strcmp(cli_json_text(row, "why"), cli_json_text(other, "why")) == 0 &&
           (!graph || strcmp(cli_json_text(row, "graph"), cli_json_text(other, "graph")) == 0);
}

static bool is_repeated(const cJSON *row, bool graph)
{
    for (const cJSON *before = row; before->prev->next != NULL;) {
        before = before->prev;
        if (is_same_row(row, before, graph))
            return true;
    }
    return false;
}

/* One line for each check and reason, with the names of the graphs. */
static void print_left_out(const cJSON *rows, FILE *out)
{
    enum { NAMES = 5 };
    const cJSON *row, *other;
    cJSON_ArrayForEach(row, rows)
    {
        int names = 0;
        if (is_repeated(row, false))
            continue;
        cli_print(out, "not looked at: %s of ", cli_json_text(row, "check"));
        for (other = row; other != NULL; other = other->next)
            if (is_same_row(row, other, false) && !is_repeated(other, true) && names++ < NAMES)
                cli_print(out, "%s%s", names > 1 ? ", " : "", cli_json_text(other, "graph"));
        if (names > NAMES)
            fprintf(out, " and %d more", names - NAMES);
        cli_print(out, ": %s", cli_json_text(row, "why"));
        fputc('\n', out);
    }
}

const char *cli_coverage_why_not(const cli_gathered *gathered, const char *check)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(gathered->looked, not_key))
    {
        if (strcmp(cli_json_text(row, "check"), check) == 0)
            return cli_json_text(row, "why");
    }
    return NULL;
}

void cli_coverage_print(const cli_gathered *gathered, const char *const *kinds, int count, bool attached, FILE *out)
{
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(gathered->looked, not_key);

    if (attached) {
        for (int i = 0; i < count; i++)
            print_attached(gathered, kinds[i], out);
        print_left_out(rows, out);
        return;
    }
    if (cli_coverage_any(gathered))
        print_coverage(gathered, out);
    print_left_out(rows, out);
    for (int i = 0; i < count; i++) {
        bool replay = strcmp(kinds[i], "replay") == 0, step = strcmp(kinds[i], "step") == 0;
        if (find_check(gathered, kinds[i]) != NULL || cli_coverage_why_not(gathered, kinds[i]) != NULL)
            continue;
        if (strcmp(kinds[i], "padding") == 0) {
            if (gathered->runner || count == 1) /* most programs have no runner */
                fputs("not looked at: padding: no runner ran a batch with padding rows\n", out);
        } else if (replay && gathered->unended > 0) /* replays are counted at the end */
            fputs("not known: how many replays were compared: the program did not end by exit\n", out);
        else
            fprintf(out, "not looked at: %s: the program made no %s that this check covers\n", kinds[i],
                    replay || step ? "replay" : "capture");
    }
}
