#include "bisect_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/cli/observe/gather.h"
#include "debug/cli/output/cli_json.h"

/* ---- the nodes of one graph ------------------------------------------------------------------------------------- */

/* The nodes of an outline, by their index. */
typedef struct graph_nodes {
    const char *graph;
    const cJSON **node, **call;
    size_t count;
    size_t *waits; /* how many nodes it waits for that are not listed yet */
} graph_nodes;

static const cJSON *get_member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static void free_nodes(graph_nodes *g)
{
    free(g->node);
    free(g->call);
    free(g->waits);
}

/* Reads the nodes and their calls, which are in the same order; a node whose call could not be made has none. */
static bool read_nodes(const cJSON *outline, graph_nodes *g)
{
    const cJSON *nodes = get_member(outline, "nodes"), *call = get_member(outline, "calls"), *node;
    size_t count = (size_t)cJSON_GetArraySize(nodes), i = 0;

    *g = (graph_nodes){.graph = cli_json_text(outline, "name"),
                       .node = calloc(count + 1, sizeof *g->node),
                       .call = calloc(count + 1, sizeof *g->call),
                       .waits = calloc(count + 1, sizeof *g->waits),
                       .count = count};
    if (g->node == NULL || g->call == NULL || g->waits == NULL)
        return false;
    call = call != NULL ? call->child : NULL;
    cJSON_ArrayForEach(node, nodes)
    {
        g->node[i] = node;
        g->waits[i] = (size_t)cJSON_GetArraySize(get_member(node, "after"));
        if (call != NULL && strcmp(cli_json_text(call, "name"), cli_json_text(node, "call")) == 0) {
            g->call[i] = call;
            call = call->next;
        }
        i++;
    }
    return true;
}

static bool add_node(cJSON *calls, const graph_nodes *g, size_t place)
{
    const cJSON *node = g->node[place], *call = g->call[place];
    const char *kernel = cli_json_text(node, "kernel");
    cJSON *item = cJSON_CreateObject();
    char *name = NULL;
    bool added =
        item != NULL && asprintf(&name, "%s/%s", g->graph, cli_json_text(node, "call")) >= 0 &&
        cJSON_AddStringToObject(item, "name", name) != NULL &&
        cJSON_AddStringToObject(item, "op", kernel[0] != '\0' ? kernel : cli_json_text(node, "kind")) != NULL &&
        cJSON_AddStringToObject(item, "file", cli_json_text(call, "file")) != NULL &&
        cJSON_AddNumberToObject(item, "line", cli_json_number(call, "line")) != NULL &&
        cJSON_AddStringToObject(item, "graph", g->graph) != NULL &&
        cJSON_AddNumberToObject(item, "node", (double)place) != NULL &&
        cJSON_AddItemToObject(item, "after", cJSON_Duplicate(get_member(node, "after"), true)) &&
        (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(node, "early")) ||
         cJSON_AddTrueToObject(item, "early") != NULL) &&
        cJSON_AddItemToArray(calls, item);
    if (!added)
        cJSON_Delete(item);
    free(name);
    return added;
}

static bool waits_for(const cJSON *node, size_t place)
{
    const cJSON *after;
    cJSON_ArrayForEach(after, get_member(node, "after"))
    {
        if (after->valuedouble == (double)place)
            return true;
    }
    return false;
}

/* Adds the nodes in the order in which they are launched outside of the graph (bg__layout_visit_in_order): always the
 * ready node with the lowest index. */
static bool add_nodes_in_order(cJSON *calls, graph_nodes *g)
{
    for (size_t i = 0, next; i < g->count; i = next) {
        next = i + 1;
        if (g->node[i] == NULL || g->waits[i] > 0)
            continue;
        if (!add_node(calls, g, i))
            return false;
        g->node[i] = NULL;
        for (size_t k = 0; k < g->count; k++) {
            if (g->node[k] == NULL || !waits_for(g->node[k], i))
                continue;
            g->waits[k]--;
            if (g->waits[k] == 0 && k < next)
                next = k;
        }
    }
    return true;
}

/* ---- all graphs ------------------------------------------------------------------------------------------------- */

/* Whether another graph has the same name, and is larger or earlier. Patterns choose graphs by name, and several
 * processes may have graphs of the same name: only one of these graphs is searched. */
static bool is_superseded(const cJSON *captured, const cJSON *report)
{
    const cJSON *outline = get_member(report, "outline"), *other;
    int size = cJSON_GetArraySize(get_member(outline, "nodes"));
    bool behind = false;

    cJSON_ArrayForEach(other, captured)
    {
        const cJSON *theirs = get_member(other, "outline");
        int more = cJSON_GetArraySize(get_member(theirs, "nodes")) - size;
        behind = behind || other == report;
        if (other != report && strcmp(cli_json_text(theirs, "name"), cli_json_text(outline, "name")) == 0 &&
            (more > 0 || (more == 0 && !behind)))
            return true;
    }
    return false;
}

cli_status cli_nodes_collect(const cli_gathered *gathered, cJSON *calls)
{
    const cJSON *report;

    cJSON_ArrayForEach(report, gathered->captured)
    {
        graph_nodes g;
        bool added;
        if (is_superseded(gathered->captured, report))
            continue;
        added = read_nodes(get_member(report, "outline"), &g) && add_nodes_in_order(calls, &g);
        free_nodes(&g);
        if (!added)
            return cli_print_message(CLI_FAILED, "out of host memory");
    }
    return cJSON_GetArraySize(calls) > 0 ? CLI_OK
                                         : cli_print_message(CLI_NO_MATCH, "the program's graphs have no nodes");
}

/* ---- what ran outside ------------------------------------------------------------------------------------------- */

static cJSON *find_call(const cli_bisection *b, const char *graph, double node)
{
    cJSON *call;
    cJSON_ArrayForEach(call, b->calls)
    {
        if (cli_json_number(call, "node") == node && strcmp(cli_json_text(call, "graph"), graph) == 0)
            return call;
    }
    return NULL;
}

static void record_stacks(cli_bisection *b, const cJSON *report)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, get_member(report, "outside"))
    {
        cJSON *call = find_call(b, cli_json_text(report, "graph"), cli_json_number(item, "node"));
        if (call != NULL && get_member(call, "stack") == NULL)
            cJSON_AddItemToObject(call, "stack", cJSON_Duplicate(get_member(item, "stack"), true));
    }
}

void cli_nodes_record_outside(cli_bisection *b, const cli_gathered *gathered, bool of_all)
{
    const cJSON *report;
    int outside = 0;

    cJSON_ArrayForEach(report, gathered->reports)
    {
        record_stacks(b, report);
        outside += get_member(report, "outside") != NULL;
    }
    if (!of_all)
        return;
    cJSON_DeleteItemFromObjectCaseSensitive(b->root, "outside");
    cJSON_DeleteItemFromObjectCaseSensitive(b->root, "not_split");
    cJSON_AddNumberToObject(b->root, "outside", outside);
    cJSON_AddNumberToObject(b->root, "not_split", cli_gathered_count(gathered, "not-split", 0));
}

/* Whether a marked call (marks NULL: any call) is in that graph of a report. */
static bool has_node_of(const cli_bisection *b, const char *graph, const bool *marks)
{
    size_t i = 0;
    const cJSON *call;
    cJSON_ArrayForEach(call, b->calls)
    {
        if ((marks == NULL || marks[i]) && strcmp(cli_json_text(call, "graph"), graph) == 0)
            return true;
        i++;
    }
    return false;
}

bool cli_nodes_are_renamed(const cli_bisection *b, const cli_gathered *gathered, const bool *marks)
{
    const cJSON *report;
    bool others = false;

    cJSON_ArrayForEach(report, gathered->captured)
    {
        const cJSON *outline = get_member(report, "outline");
        const char *graph = cli_json_text(outline, "name");
        if (has_node_of(b, graph, marks))
            return false;
        others = others || (cJSON_GetArraySize(get_member(outline, "nodes")) > 0 && !has_node_of(b, graph, NULL));
    }
    return others;
}

/* ---- patterns --------------------------------------------------------------------------------------------------- */

static const char special_characters[] = ",!^*@[]\n\t\r";

/* Prints the name as a pattern: characters that a pattern cannot have become '*', and so does a blank at the beginning,
 * which would be ignored. */
static void print_graph_pattern(FILE *out, const char *name)
{
    for (const char *c = name; *c != '\0'; c++)
        fputc(strchr(special_characters, *c) != NULL || (c == name && *c == ' ') ? '*' : *c, out);
}

static void print_node_pattern(FILE *out, const cJSON *call, bool names)
{
    const char *name = cli_json_text(call, "name");
    if (names && name[0] != ' ' && strpbrk(name, special_characters) == NULL && strchr(name, ':') == NULL) {
        fputs(name, out);
        return;
    }
    print_graph_pattern(out, cli_json_text(call, "graph"));
    fprintf(out, "/[%.0f]", cli_json_number(call, "node"));
}

/* Prints the nodes from *call on whose indices follow one another. Returns how many. */
static size_t print_node_range(FILE *out, const cJSON **call, const bool *outside, size_t left)
{
    const cJSON *first = *call;
    size_t length = 1;

    for (*call = first->next; length < left && outside[length] &&
                              strcmp(cli_json_text(*call, "graph"), cli_json_text(first, "graph")) == 0 &&
                              cli_json_number(*call, "node") == cli_json_number(first, "node") + (double)length;
         *call = (*call)->next)
        length++;
    print_graph_pattern(out, cli_json_text(first, "graph"));
    fprintf(out, "/[%.0f-%.0f]", cli_json_number(first, "node"), cli_json_number(first, "node") + (double)length - 1);
    return length;
}

static bool are_all_set(const bool *outside, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!outside[i])
            return false;
    return true;
}

/* before: text that is printed before each pattern. */
static void print_patterns(FILE *out, const cli_bisection *b, const bool *marks, const char *before, bool names)
{
    const cJSON *call = b->calls->child;

    for (size_t i = 0; i < b->name_count && call != NULL;) {
        if (!marks[i]) {
            call = call->next;
            i++;
            continue;
        }
        if (ftell(out) > 0)
            fputc(',', out);
        fputs(before, out);
        if (names) {
            print_node_pattern(out, call, names);
            call = call->next;
            i++;
        } else {
            i += print_node_range(out, &call, marks + i, b->name_count - i);
        }
    }
}

static const char all[] = "*"; /* those in child graphs, too */

static char *close_list(FILE *out, char **list)
{
    if (fclose(out) == 0)
        return *list;
    free(*list);
    return NULL;
}

char *cli_nodes_patterns(const cli_bisection *b, const bool *outside, bool names)
{
    char *list = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&list, &bytes);

    if (out == NULL)
        return NULL;
    if (outside != NULL && b->name_count > 0 && are_all_set(outside, b->name_count))
        fputs(all, out);
    else if (outside != NULL)
        print_patterns(out, b, outside, "", names);
    return close_list(out, &list);
}

char *cli_nodes_patterns_first(const cli_bisection *b, const bool *first, bool names)
{
    char *list = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&list, &bytes);

    if (out == NULL)
        return NULL;
    fputs(all, out);
    print_patterns(out, b, first, "^", names);
    return close_list(out, &list);
}

/* ---- order ------------------------------------------------------------------------------------------------------ */

bool cli_nodes_may_be_early(const cli_bisection *b, size_t from, size_t to)
{
    const cJSON *first = cJSON_GetArrayItem(b->calls, (int)from), *call = first;
    bool may = false;

    for (size_t i = from; i < to && !may; i++) {
        call = call->next;
        may = strcmp(cli_json_text(call, "graph"), cli_json_text(first, "graph")) == 0 &&
              cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(call, "early"));
    }
    return may;
}

bool cli_nodes_are_ordered(const cli_bisection *b, size_t from, size_t to)
{
    const cJSON *first = cJSON_GetArrayItem(b->calls, (int)from), *call = first;
    double target = cli_json_number(first, "node");
    size_t places = 0, count = to - from + 1;
    bool *reached = NULL, is = false;

    for (size_t i = 0; i < count; i++, call = call->next)
        if ((size_t)cli_json_number(call, "node") >= places)
            places = (size_t)cli_json_number(call, "node") + 1;
    reached = calloc(places + 1, sizeof *reached);
    call = first;
    for (size_t i = 0; reached != NULL && i < count; i++, call = call->next) {
        const cJSON *after;
        bool behind = cli_json_number(call, "node") == target;
        cJSON_ArrayForEach(after, get_member(call, "after"))
        {
            behind = behind || (after->valuedouble < (double)places && reached[(size_t)after->valuedouble]);
        }
        reached[(size_t)cli_json_number(call, "node")] = is = behind;
    }
    free(reached);
    return is;
}
