#include "compare_runs.h"

#include <breakgraph/breakgraph.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "debug/memory/value_text.h"
#include "debug/cli/observe/gathered.h"
#include "debug/cli/output/cli_json.h"
#include "closest.h"
#include "compare_values.h"

#define FLOW_ADVICE                                                                                                    \
    "decide on the device, or capture one graph for each case and choose before each launch; if the program does "     \
    "that, "                                                                                                           \
    "all is well"
#define VALUE_ADVICE                                                                                                   \
    "keep the value in device memory that the kernel reads (in PyTorch: a tensor, not a Python number), or set "       \
    "the node's parameters before each launch; if the program has a graph for each value, nothing is wrong"
#define POINTER_ADVICE                                                                                                 \
    "copy the input into memory that stays, and capture with that; or set the node's parameters before each launch"
#define EVENT_ADVICE                                                                                                   \
    "record and wait for one event in all captures; or capture one graph for each case, and choose before each launch"
/* Says that the pair is a guess: one graph may be another thread's. */
#define GUESSED "; several threads make such graphs, and the two with the most values in common were compared"
#define CHANCE_ADVICE                                                                                                  \
    "if it is meant to change from launch to launch, keep it in device memory that the kernel reads, or set the "      \
    "node's parameters before each launch"

/* ---- keys ------------------------------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void cli_difference_keys_sort(cli_difference_keys *keys)
{
    if (keys->count > 0)
        qsort(keys->list, keys->count, sizeof *keys->list, compare_keys);
}

static bool has_key(const cli_difference_keys *keys, const char *key)
{
    return keys->count > 0 && bsearch(&key, keys->list, keys->count, sizeof *keys->list, compare_keys) != NULL;
}

void cli_difference_keys_clear(cli_difference_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        free(keys->list[i]);
    free(keys->list);
    *keys = (cli_difference_keys){.list = NULL};
}

/* ---- findings --------------------------------------------------------------------------------------------------- */

/* The comparison of one pair of graphs. */
typedef struct pair_comparison {
    cli_run_comparison *all;
    cJSON *findings; /* their member "group" is removed at the end */
    cli_node_pair pair;
    size_t node;
    bool lost; /* out of host memory */
} pair_comparison;

/* false: out of host memory, and finding is deleted. */
static bool add_finding(cJSON *list, const char *kind, const char *severity, const cJSON *node, const char *advice,
                        const char *message)
{
    cJSON *finding = cJSON_CreateObject();
    if (cJSON_AddStringToObject(finding, "kind", kind) != NULL &&
        cJSON_AddStringToObject(finding, "severity", severity) != NULL &&
        cJSON_AddStringToObject(finding, "call", cli_json_text(node, "call")) != NULL &&
        cJSON_AddStringToObject(finding, "file", cli_json_text(node, "file")) != NULL &&
        cJSON_AddNumberToObject(finding, "line", cli_json_number(node, "line")) != NULL &&
        cJSON_AddNullToObject(finding, "address") != NULL &&
        cJSON_AddStringToObject(finding, "message", message) != NULL &&
        cJSON_AddStringToObject(finding, "advice", advice) != NULL && cJSON_AddItemToArray(list, finding))
        return true;
    cJSON_Delete(finding);
    return false;
}

/* Counts a difference, and adds its key. true: equal runs differ in it, too. */
static bool record_key(pair_comparison *c, const char *what)
{
    cli_run_comparison *all = c->all;
    char *key = NULL;
    bool chance;

    all->differences++;
    if (asprintf(&key, "%zu %zu %s", (size_t)(c->pair.graphs[0] - all->runs[0]->graphs), c->node, what) < 0) {
        c->lost = true;
        return false;
    }
    chance = all->unvaried_keys != NULL && has_key(all->unvaried_keys, key);
    if (all->keys == NULL ||
        BG__ARRAY_GROW(all->keys->list, all->keys->count, all->keys->capacity, "differences") != BG_OK) {
        c->lost |= all->keys != NULL;
        free(key);
        return chance;
    }
    all->keys->list[all->keys->count++] = key;
    return chance;
}

/* Adds the node to the finding of the same group. false: there is none. */
static bool add_to_group(pair_comparison *c, const char *group)
{
    cJSON *finding, *others, *name;
    cJSON_ArrayForEach(finding, c->findings)
    {
        if (strcmp(cli_json_text(finding, "group"), group) != 0)
            continue;
        if (strcmp(cli_json_text(finding, "call"), cli_json_text(c->pair.nodes[0], "call")) == 0)
            return true;
        others = cJSON_GetObjectItemCaseSensitive(finding, "others");
        others = others != NULL ? others : cJSON_AddArrayToObject(finding, "others");
        name = cJSON_CreateString(cli_json_text(c->pair.nodes[0], "call"));
        if (name == NULL || !cJSON_AddItemToArray(others, name)) {
            cJSON_Delete(name);
            c->lost = true;
        }
        return true;
    }
    return false;
}

/* Whether the difference is no more than a note. Padding differs in each run, and threads may make events in another
 * order, so equal runs may differ in these. A difference that comes only with another input is a changed value. chance:
 * equal runs differ in it, too. */
static bool is_note(const cli_value_difference *d, bool chance)
{
    return d->sure == 0 || ((d->sure == 1 || d->event) && chance);
}

/* The part of the message that says what the difference means. */
static const char *describe_consequence(const pair_comparison *c, const cli_value_difference *d, bool chance)
{
    if (d->threads)
        return "; several threads make such memory there, and it is not certain which is which";
    if (d->sure == 0 && d->pointer)
        return "; the memory is an allocator's, which may have placed the same block elsewhere, or the value is no "
               "address";
    if (d->event)
        return chance ? "; threads may have made them in another order" : "; each replay uses the event of the capture";
    if (is_note(d, chance))
        return BG__MAYBE_PADDING;
    if (chance && c->all->varied)
        return ", and differs between two runs that are alike, too: a seed, a time or a counter, of which each "
               "replay uses the value of the capture";
    if (chance)
        return ", though nothing was varied: a seed, a time or a counter, of which each replay uses the value of "
               "the capture";
    if (d->pointer)
        return "; each replay uses the memory of the capture";
    return d->sure == 1 ? "; each replay uses the value of the capture, unless that is padding"
                        : "; each replay uses the value of the capture";
}

/* The second side without the words that both begin with: "is 0.5 ... and 0.25". */
static const char *second_side(const cli_value_difference *d)
{
    static const char *const verbs[] = {"is ", "points to "};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strncmp(d->sides[0], verbs[i], strlen(verbs[i])) == 0 &&
            strncmp(d->sides[1], verbs[i], strlen(verbs[i])) == 0)
            return d->sides[1] + (i == 0 ? strlen(verbs[i]) : strlen("points "));
    return d->sides[1];
}

static void report_value(void *user, const cli_value_difference *d)
{
    pair_comparison *c = user;
    const bool chance = record_key(c, d->what) || !c->all->varied, note = is_note(d, chance);
    const char *advice = note         ? ""
                         : chance     ? CHANCE_ADVICE
                         : d->event   ? EVENT_ADVICE
                         : d->pointer ? POINTER_ADVICE
                                      : VALUE_ADVICE;
    char message[1600], group[260];

    snprintf(group, sizeof group, "%d %s", chance, d->group);
    if (note) /* one note for all nodes: it says that something may be overlooked */
        snprintf(group, sizeof group, "note %d %d %d", d->pointer, d->event, d->threads);
    if (add_to_group(c, group))
        return;
    snprintf(message, sizeof message, "%s %s %s, and %s %s%s%s", d->what, d->sides[0], c->all->labels[0],
             second_side(d), c->all->labels[1], describe_consequence(c, d, chance),
             c->pair.graphs[0]->guessed && !d->threads ? GUESSED : "");
    c->lost |= !add_finding(c->findings, d->pointer ? "unstable-pointer" : "frozen-value", note ? "note" : "warning",
                            c->pair.nodes[0], advice, message) ||
               cJSON_AddStringToObject(c->findings->child->prev, "group", group) == NULL;
}

/* ---- control flow ----------------------------------------------------------------------------------------------- */

/* Writes "node 1 is scale#0 at model.py:7", for a host function with its name; or that there is no such node. */
static void describe_node(const cli_run_graph *g, size_t index, char text[300])
{
    const cJSON *node = index < g->count ? g->nodes[index] : NULL;
    const bool host =
        strcmp(cli_json_text(node, "kind"), "host function") == 0 && cli_json_text(node, "work")[0] != '\0';
    char line[24] = "";

    if (node == NULL) {
        snprintf(text, 300, "there is no node %zu", index);
        return;
    }
    if (cli_json_number(node, "line") > 0)
        snprintf(line, sizeof line, ":%d", (int)cli_json_number(node, "line"));
    snprintf(text, 300, "node %zu is %.60s%s%.60s%s%s%.100s%s", index,
             cli_json_text(node, "call")[0] != '\0' ? cli_json_text(node, "call") : cli_json_text(node, "kind"),
             host ? " (" : "", host ? cli_json_text(node, "work") : "", host ? ")" : "",
             cli_json_text(node, "file")[0] != '\0' ? " at " : "", cli_json_text(node, "file"), line);
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* The end of the message of a finding on control flow. */
static const char *flow_consequence(bool chance)
{
    return chance ? "; two runs that are alike differ in that: a replay repeats the nodes of its capture"
                  : "; a replay repeats the nodes of its capture";
}

static void report_flow(pair_comparison *c, size_t first)
{
    const cli_run_graph *g = c->pair.graphs[0], *h = c->pair.graphs[1];
    char sides[2][300], counts[720], message[2200];
    bool chance;

    c->node = first;
    chance = record_key(c, "flow") || !c->all->varied;
    describe_node(g, first, sides[0]);
    describe_node(h, first, sides[1]);
    if (g->count == h->count)
        snprintf(counts, sizeof counts, "other nodes %s than %s", c->all->labels[0], c->all->labels[1]);
    else
        snprintf(counts, sizeof counts, "%zu node%s %s, and %zu %s", g->count, plural(g->count), c->all->labels[0],
                 h->count, c->all->labels[1]);
    snprintf(message, sizeof message, "the graph has %s; first difference: %s %s, and %s %s%s", counts, sides[0],
             c->all->labels[0], sides[1], c->all->labels[1], flow_consequence(chance));
    c->lost |= !add_finding(c->findings, "frozen-control-flow", "warning",
                            first < g->count ? g->nodes[first] : h->nodes[first], FLOW_ADVICE, message);
}

/* what: the member that differs; how: what the nodes wait for. */
static void report_edges(pair_comparison *c, const char *what, const char *how)
{
    char message[500];
    c->node = 0;
    snprintf(message, sizeof message, "the nodes of the graph are the same %s and %s, but wait for %s%s",
             c->all->labels[0], c->all->labels[1], how, flow_consequence(record_key(c, what) || !c->all->varied));
    c->lost |= !add_finding(c->findings, "frozen-control-flow", "warning", NULL, FLOW_ADVICE, message);
}

/* Returns the index of the first node with another operation. If there is none, returns the number of nodes of the
 * graph that has fewer. */
static size_t find_first_difference(const cli_run_graph *g, const cli_run_graph *h)
{
    size_t i = 0;
    while (i < g->count && i < h->count && cli_node_operation_hash(g->nodes[i]) == cli_node_operation_hash(h->nodes[i]))
        i++;
    return i;
}

/* ---- graphs ----------------------------------------------------------------------------------------------------- */

/* Whether NCCL keeps numbers and memory of its own in the node, which differ in every capture. */
static bool is_collective(const cJSON *node)
{
    const char *work = cli_json_text(node, "work");
    return strstr(work, "ncclDevKernel") != NULL || strcmp(work, "hostcuda_nccl") == 0;
}

static void compare_nodes(pair_comparison *c)
{
    const cli_run_graph *g = c->pair.graphs[0], *h = c->pair.graphs[1];

    for (size_t i = 0; i < g->count; i++) {
        c->node = i;
        c->pair.nodes[0] = g->nodes[i];
        c->pair.nodes[1] = h->nodes[i];
        if (g->all || h->all || g->updated[i] || h->updated[i]) {
            c->all->updated++;
            continue;
        }
        c->all->nodes++;
        if (!is_collective(g->nodes[i]))
            c->all->values += cli_node_compare(&c->pair, report_value, c);
    }
}

static void compare_graphs(pair_comparison *c)
{
    const cli_run_graph *g = c->pair.graphs[0], *h = c->pair.graphs[1];
    const size_t first = find_first_difference(g, h);

    c->all->graphs++;
    if (first < g->count || first < h->count) {
        report_flow(c, first);
        return;
    }
    if (strcmp(cli_json_text(g->row, "edges"), cli_json_text(h->row, "edges")) != 0)
        report_edges(c, "edges", "others");
    else if (strcmp(cli_json_text(g->row, "edge_kinds"), cli_json_text(h->row, "edge_kinds")) != 0)
        report_edges(c, "edge_kinds", "one another in another way, such as a programmatic launch");
    compare_nodes(c);
}

/* Adds a report, which owns the findings. g: the graph of the first run. */
static bool add_report(cli_run_comparison *all, const cli_run_graph *g, cJSON *findings)
{
    cJSON *report = cJSON_CreateObject();
    cJSON *finding;

    cJSON_ArrayForEach(finding, findings)
    {
        cJSON_DeleteItemFromObjectCaseSensitive(finding, "group");
    }
    if (cJSON_AddStringToObject(report, "breakgraph", bg_version()) != NULL &&
        cJSON_AddNumberToObject(report, "report_version", CLI_REPORT_VERSION) != NULL &&
        cJSON_AddStringToObject(report, "tool", "recapture") != NULL &&
        cJSON_AddStringToObject(report, "graph", g->name) != NULL &&
        cJSON_AddNumberToObject(report, "lost", 0) != NULL &&
        cJSON_AddNumberToObject(report, "rank", all->runs[0]->processes[g->process].rank) != NULL &&
        cJSON_AddItemToObject(report, "findings", findings)) {
        if (cJSON_AddItemToArray(all->reports, report))
            return true;
        findings = NULL; /* owned by report */
    }
    cJSON_Delete(findings);
    cJSON_Delete(report);
    return false;
}

static bool compare_pair(cli_run_comparison *all, const cli_run_graph *g, const cli_run_graph *h)
{
    pair_comparison c = {
        .all = all,
        .findings = cJSON_CreateArray(),
        .pair = {.processes = {&all->runs[0]->processes[g->process], &all->runs[1]->processes[h->process]},
                 .graphs = {g, h}}};

    if (c.findings == NULL)
        return false;
    compare_graphs(&c);
    if (c.findings->child != NULL)
        return add_report(all, g, c.findings) && !c.lost;
    cJSON_Delete(c.findings);
    return !c.lost;
}

/* ---- graphs that are not compared ------------------------------------------------------------------------------- */

static bool add_not_compared(cli_run_comparison *all, const cli_run_graph *g, const char *why)
{
    cJSON *row = cJSON_CreateObject();
    if (cJSON_AddStringToObject(row, "check", "recapture") != NULL &&
        cJSON_AddStringToObject(row, "graph", g->name) != NULL && cJSON_AddStringToObject(row, "why", why) != NULL &&
        cJSON_AddItemToArray(all->not_compared, row))
        return true;
    cJSON_Delete(row);
    return false;
}

static size_t count_unpaired(const cli_run_values *run, uint64_t place)
{
    size_t count = 0;
    for (size_t i = 0; i < run->count; i++)
        count += run->graphs[i].pair < 0 && run->graphs[i].place == place;
    return count;
}

/* Adds a graph without a pair to those that are not compared. It is no finding: a program may capture a graph when it
 * needs it. */
static bool add_unpaired(cli_run_comparison *all, const cli_run_graph *g)
{
    const size_t counts[] = {count_unpaired(all->runs[0], g->place), count_unpaired(all->runs[1], g->place)};
    char why[900], line[24] = "";

    if (cli_json_number(g->row, "line") > 0)
        snprintf(line, sizeof line, ":%d", (int)cli_json_number(g->row, "line"));
    snprintf(why, sizeof why, "%.300s%s instantiates %zu %s, and %zu %s%s",
             cli_json_text(g->row, "file")[0] != '\0' ? cli_json_text(g->row, "file") : "the program", line, counts[0],
             all->labels[0], counts[1], all->labels[1],
             counts[0] > 0 && counts[1] > 0
                 ? ": which is which is not known; name the graphs, each with a name of its own (docs/attach/names.md)"
                 : "");
    return add_not_compared(all, g, why);
}

static bool add_all_unpaired(cli_run_comparison *all)
{
    bool good = true;
    for (int which = 0; which < 2; which++)
        for (size_t i = 0; i < all->runs[which]->count && good; i++)
            if (all->runs[which]->graphs[i].pair < 0)
                good = add_unpaired(all, &all->runs[which]->graphs[i]);
    return good;
}

bool cli_runs_compare(cli_run_comparison *all)
{
    bool good = true;

    for (size_t i = 0; i < all->runs[0]->count && good; i++) {
        const cli_run_graph *g = &all->runs[0]->graphs[i], *h;
        if (g->pair < 0)
            continue;
        h = &all->runs[1]->graphs[g->pair];
        if (g->nodes == NULL || h->nodes == NULL)
            good = add_not_compared(all, g, "its nodes could not be read");
        else
            good = compare_pair(all, g, h);
    }
    return good && add_all_unpaired(all);
}
