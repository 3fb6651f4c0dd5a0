/* Merges two reports into one. If a row or finding is about a graph other than the report's own graph, it gets a member
 * "graph" with the name of that graph. */
#include "report.h"
#include "report_data.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/files/json.h"

/* The names of the graphs of one report, and their names in the report that it is merged into. */
typedef struct renamed_graph {
    char *from, *to;
} renamed_graph;

typedef struct graph_names {
    renamed_graph *list;
    size_t count, capacity;
} graph_names;

static bg_status merge_out_of_memory(void)
{
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_report_merge: out of host memory for a copy");
}

static bg_status add_graph_name(graph_names *n, const char *from, const char *to)
{
    renamed_graph *one;
    bg_status status;

    BG__TRY(BG__ARRAY_GROW(n->list, n->count, n->capacity, "names of graphs"));
    one = &n->list[n->count++];
    *one = (renamed_graph){strdup(from), strdup(to)};
    if (one->from == NULL || one->to == NULL)
        status = merge_out_of_memory();
done:
    return status;
}

static void free_graph_names(graph_names *n)
{
    for (size_t i = 0; i < n->count; i++) {
        free(n->list[i].from);
        free(n->list[i].to);
    }
    free(n->list);
}

static const char *find_new_name(const graph_names *n, const char *from)
{
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->list[i].from, from) == 0)
            return n->list[i].to;
    return from;
}

/* ---- outlines ---- */

/* Whether two outlines describe the same pass. The times of the captures may differ. */
static bool outlines_agree(const cJSON *one, const cJSON *other)
{
    static const char *const members[] = {"steps", "calls", "segments", "nodes"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const cJSON *a = cJSON_GetObjectItemCaseSensitive(one, members[i]);
        const cJSON *b = cJSON_GetObjectItemCaseSensitive(other, members[i]);
        if ((a == NULL) != (b == NULL) || (a != NULL && !cJSON_Compare(a, b, true)))
            return false;
    }
    return true;
}

static bool set_outline_name(cJSON *outline, const char *name)
{
    cJSON_DeleteItemFromObjectCaseSensitive(outline, "name");
    return cJSON_AddStringToObject(outline, "name", name) != NULL;
}

/* Adds an outline, and takes ownership of it. */
static bg_status add_outline(bg_report *report, cJSON *outline, const char *name)
{
    cJSON *list;

    if (strcmp(name, report->graph) == 0)
        return bg__report_set_outline(report, outline);
    list = bg__report_part(report, "outlines");
    if (list != NULL && set_outline_name(outline, name) && cJSON_AddItemToArray(list, outline))
        return BG_OK;
    cJSON_Delete(outline);
    return merge_out_of_memory();
}

/* The length of the name of a graph without the number that a merge has added. *number: that number, or 1 if there is
 * none. */
static size_t unnumbered_length(const char *name, int *number)
{
    const char *open = strrchr(name, '(');
    int end = 0;

    *number = 1;
    if (open == NULL || open - name < 1 || open[-1] != ' ' || open[1] < '1' || open[1] > '9')
        return strlen(name);
    if (sscanf(open, "(%6d)%n", number, &end) != 1 || end == 0 || open[end] != '\0') {
        *number = 1;
        return strlen(name);
    }
    return (size_t)(open - 1 - name);
}

/* The graphs in the report whose names, without added numbers, equal the name of a graph to be merged. */
typedef struct namesakes {
    const char *agreeing; /* name of a graph in the report with the same outline; a graph with exactly the merged
                           * graph's name is preferred */
    bool taken;           /* a graph in the report has exactly this name */
    int largest;          /* the largest number that was added to one of the names */
} namesakes;

static void compare_namesake(namesakes *same, const char *name, const cJSON *own, const char *graph,
                             const cJSON *outline)
{
    int number, of_graph;
    size_t length = unnumbered_length(name, &number);
    bool equal = strcmp(name, graph) == 0;

    if (own == NULL || length != unnumbered_length(graph, &of_graph) || strncmp(name, graph, length) != 0)
        return;
    if (number > same->largest)
        same->largest = number;
    same->taken = same->taken || equal;
    if ((same->agreeing == NULL || equal) && outlines_agree(own, outline))
        same->agreeing = name;
}

/* Chooses the name of the graph in the report. Returns NULL if out of host memory. The caller frees it. */
static char *choose_graph_name(const bg_report *report, const char *graph, const cJSON *outline, bool *is_new)
{
    const cJSON *other;
    namesakes same = {.largest = 1};
    char *name = NULL;
    int number;

    compare_namesake(&same, report->graph, cJSON_GetObjectItemCaseSensitive(report->parts, "outline"), graph, outline);
    cJSON_ArrayForEach(other, cJSON_GetObjectItemCaseSensitive(report->parts, "outlines"))
    {
        compare_namesake(&same, bg__json_string(other, "name"), other, graph, outline);
    }
    *is_new = same.agreeing == NULL;
    if (same.agreeing != NULL || !same.taken)
        return strdup(same.agreeing != NULL ? same.agreeing : graph);
    return asprintf(&name, "%.*s (%d)", (int)unnumbered_length(graph, &number), graph, same.largest + 1) < 0 ? NULL
                                                                                                             : name;
}

/* Merges the outline of `graph` and records the name that the graph gets. Takes ownership of `outline`. */
static bg_status merge_outline(bg_report *report, cJSON *outline, const char *graph, graph_names *n)
{
    bool is_new;
    char *name = choose_graph_name(report, graph, outline, &is_new);
    bg_status status = name != NULL ? add_graph_name(n, graph, name) : merge_out_of_memory();

    if (status != BG_OK || !is_new)
        cJSON_Delete(outline);
    else
        status = add_outline(report, outline, name);
    free(name);
    return status;
}

static bg_status merge_outlines(bg_report *report, const bg_report *from, cJSON *parts, graph_names *n)
{
    cJSON *own = cJSON_DetachItemFromObjectCaseSensitive(parts, "outline"), *outline;
    cJSON *others = cJSON_DetachItemFromObjectCaseSensitive(parts, "outlines");
    bg_status status = BG_OK;

    if (own != NULL)
        BG__TRY(merge_outline(report, own, from->graph, n));
    while ((outline = cJSON_DetachItemFromArray(others, 0)) != NULL) {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(outline, "name"));
        char *graph = strdup(name != NULL ? name : "");
        status = graph != NULL ? merge_outline(report, outline, graph, n) : merge_out_of_memory();
        if (graph == NULL)
            cJSON_Delete(outline);
        free(graph);
        if (status != BG_OK)
            break;
    }
done:
    cJSON_Delete(others);
    return status;
}

/* ---- rows and findings ---- */

/* Renames the graph of a row. A row without a member "graph" is about the own graph of the report that it comes
 * from. */
static bool rename_row_graph(const bg_report *report, const bg_report *from, cJSON *row, const graph_names *n)
{
    cJSON *named = cJSON_DetachItemFromObjectCaseSensitive(row, "graph");
    const char *graph = cJSON_IsString(named) ? named->valuestring : from->graph;
    const char *name = find_new_name(n, graph);
    bool good = strcmp(name, report->graph) == 0 || cJSON_AddStringToObject(row, "graph", name) != NULL;
    cJSON_Delete(named);
    return good;
}

/* Whether each row of the part is about one graph. */
static bool has_graph_rows(const char *part)
{
    return strcmp(part, "comparisons") == 0 || strcmp(part, "trials") == 0 || strcmp(part, "timings") == 0;
}

/* Moves the rows of a list into the report. */
static bg_status move_rows(bg_report *report, const bg_report *from, cJSON *part, const graph_names *n)
{
    cJSON *list = bg__report_part(report, part->string), *row;
    bool of_graph = has_graph_rows(part->string), good = list != NULL;

    while (good && (row = cJSON_DetachItemFromArray(part, 0)) != NULL) {
        good = !of_graph || rename_row_graph(report, from, row, n);
        cJSON_AddItemToArray(list, row);
    }
    cJSON_Delete(part);
    return good ? BG_OK : merge_out_of_memory();
}

static void copy_findings(bg_report *report, const bg_report *from, const graph_names *n)
{
    for (int i = 0; i < from->count; i++) {
        bg_finding finding = *bg__report_finding_at(from, i);
        finding.graph = find_new_name(n, finding.graph != NULL ? finding.graph : from->graph);
        bg__report_add_finding(report, &finding);
    }
}

bg_status bg_report_merge(bg_report *report, const bg_report *from)
{
    cJSON *parts = NULL;
    graph_names n = {.count = 0};
    bg_status status = BG_OK;

    BG__NEED(report);
    BG__NEED(from);
    if (report == from)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_report_merge: report and from are the same");
    if (from->parts != NULL) {
        parts = cJSON_Duplicate(from->parts, true);
        if (parts == NULL)
            return merge_out_of_memory();
    }
    BG__TRY(merge_outlines(report, from, parts, &n));
    while (parts != NULL && parts->child != NULL)
        BG__TRY(move_rows(report, from, cJSON_DetachItemViaPointer(parts, parts->child), &n));
    copy_findings(report, from, &n);
    report->lost = from->lost > INT_MAX - report->lost ? INT_MAX : report->lost + from->lost;
done:
    cJSON_Delete(parts);
    free_graph_names(&n);
    return status;
}
