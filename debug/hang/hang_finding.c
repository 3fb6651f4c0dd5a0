/* The text of the finding about a launch that hangs. */
#include <stdlib.h>
#include <string.h>

#include "debug/files/json.h"
#include "hang.h"
#include "hang_copies.h"

enum { OTHERS = 4, NAME_SHOWN = 64, FILE_SHOWN = 300 };

/* A node that has not ended, although all nodes that it waits for have ended. */
typedef struct stuck_node {
    const bg__marked_node *node; /* NULL: none */
    /* More such nodes: a kernel that fills the device keeps others from running. */
    const bg__marked_node *other[OTHERS];
    size_t others;
    size_t ended;
    size_t behind; /* number of nodes that wait for it */
} stuck_node;

static bool has_node_ended(const bg__hang_copy *w, size_t node)
{
    return w->marked.marks.words[BG__MARK_NODES + node] != 0;
}

size_t bg__hang_copy_count_ended(const bg__hang_copy *w)
{
    size_t ended = 0;
    for (size_t i = 0; i < w->marked.count; i++)
        ended += has_node_ended(w, i);
    return ended;
}

static size_t count_waiting_nodes(const bg__marked_graph *m, size_t first, bool *behind)
{
    size_t count = 0;
    bool more = true;

    memset(behind, 0, m->count * sizeof *behind);
    while (more) {
        more = false;
        for (size_t i = 0; i < m->edges; i++)
            if ((m->edge[i].from == first || behind[m->edge[i].from]) && !behind[m->edge[i].to])
                behind[m->edge[i].to] = more = true;
    }
    for (size_t i = 0; i < m->count; i++)
        count += behind[i];
    return count;
}

/* Ranks a node by how likely it hangs. Most of the nodes that could run do not hang. */
static int wait_likelihood(const bg__marked_node *node)
{
    if (node->others != NULL)
        return 3;
    if (node->type == cudaGraphNodeTypeHost || node->type == cudaGraphNodeTypeWaitEvent)
        return 2;
    return node->grid.fit > 0 && node->grid.blocks > node->grid.fit;
}

static void add_other_node(stuck_node *s, const bg__marked_node *node)
{
    if (s->others < OTHERS)
        s->other[s->others] = node;
    s->others++;
}

static void find_stuck_node(const bg__hang_copy *w, stuck_node *s)
{
    const bg__marked_graph *m = &w->marked;
    bool *flags = calloc(m->count + 1, sizeof *flags);
    size_t first = m->count;

    *s = (stuck_node){.ended = bg__hang_copy_count_ended(w)};
    if (flags == NULL)
        return;
    for (size_t i = 0; i < m->edges; i++)
        flags[m->edge[i].to] |= !has_node_ended(w, m->edge[i].from);
    for (size_t i = 0; i < m->count; i++) {
        if (flags[i] || has_node_ended(w, i))
            continue;
        if (first < m->count && wait_likelihood(&m->node[i]) <= wait_likelihood(&m->node[first])) {
            add_other_node(s, &m->node[i]);
            continue;
        }
        if (first < m->count)
            add_other_node(s, &m->node[first]);
        first = i;
    }
    if (first < m->count) {
        s->node = &m->node[first];
        s->behind = count_waiting_nodes(m, first, flags);
    }
    free(flags);
}

/* ---- texts ------------------------------------------------------------------------------------------------------ */

static const char *node_kind_text(const bg__marked_node *node)
{
    switch (node->type) {
    case cudaGraphNodeTypeKernel: return "kernel";
    case cudaGraphNodeTypeHost: return "host function";
    case cudaGraphNodeTypeWaitEvent: return "wait for an event";
    case cudaGraphNodeTypeGraph: return "child graph";
    default: return "node";
    }
}

static const char *advice_for(const bg__marked_node *node)
{
    if (node->others != NULL)
        return "find the rank that has not launched it, or has launched others before: all ranks launch the same "
               "collectives of a communicator in the same order";
    if (node->type == cudaGraphNodeTypeHost)
        return "if it waits for a lock that a thread holds which waits for the graph, that is a deadlock: let go of "
               "the lock before calls that launch or wait, such as cudaStreamSynchronize";
    if (node->type == cudaGraphNodeTypeWaitEvent)
        return "record the event after the work that this node must wait for, and launch that work before this graph";
    if (node->grid.fit > 0 && node->grid.blocks > node->grid.fit)
        return "launch no more blocks than fit at once where blocks wait for each other, or launch it as a "
               "cooperative kernel, which CUDA refuses where they do not fit";
    if (node->type == cudaGraphNodeTypeKernel)
        return "check what its loops wait for: a flag that a kernel behind it in the graph sets, or one that was "
               "not reset after the last launch, is never as they want it";
    return "check what it waits for";
}

static size_t describe_waiting(const bg__marked_node *node, char *text, size_t bytes)
{
    size_t used = 0;

    if (node->others != NULL)
        used += (size_t)snprintf(text, bytes, "; by its name it waits for %s", node->others);
    if (node->grid.fit > 0 && node->grid.blocks > node->grid.fit && used < bytes)
        used += (size_t)snprintf(text + used, bytes - used,
                                 "; of its %llu blocks %llu fit on the device at once: if they wait for each other, "
                                 "they wait for ever",
                                 node->grid.blocks, node->grid.fit);
    return used;
}

static void describe_stuck(const bg__hang_copy *w, const stuck_node *s, char *text, size_t bytes)
{
    const bg__marked_node *node = s->node;
    char wait[40] = "none waits";
    size_t used;

    if (s->behind > 0)
        snprintf(wait, sizeof wait, "%zu wait%s", s->behind, s->behind == 1 ? "s" : "");
    used = (size_t)snprintf(
        text, bytes, "launch %llu of %.60s does not get beyond %s %s: %zu of its %zu nodes ended, %s for it",
        (unsigned long long)w->earlier + w->marked.marks.words[BG__MARK_BEGUN], w->name,
        s->others > 0 ? "one of these, such as this" : "this", node_kind_text(node), s->ended, w->marked.count, wait);

    if (s->others > 0 && used < bytes)
        used += (size_t)snprintf(text + used, bytes - used,
                                 "; %zu other%s wait%s for no node either: one that does not end may keep the "
                                 "others from running",
                                 s->others, s->others == 1 ? "" : "s", s->others == 1 ? "s" : "");
    if (used < bytes)
        (void)describe_waiting(node, text + used, bytes - used);
}

static void describe_launch(const bg__hang_copy *w, bool began, char *text, size_t bytes)
{
    const unsigned long long number = (unsigned long long)w->earlier + w->marked.marks.words[BG__MARK_ENDED] + 1;

    if (w->key == NULL)
        snprintf(text, bytes, "run %llu of %.60s does not end, or what it launched does not", number, w->name);
    else if (!began)
        snprintf(
            text, bytes,
            "launch %llu of %.60s does not begin: what was launched before it in its stream, and is in none of the "
            "graphs that are watched, has not ended",
            number, w->name);
    else if (w->why[0] != '\0')
        snprintf(text, bytes, "launch %llu of %.60s does not end; which node is not known (%s)", number, w->name,
                 w->why);
    else
        snprintf(text, bytes, "launch %llu of %.60s does not end, though all of its %zu nodes have", number, w->name,
                 w->marked.count);
}

static bool add_other_names(cJSON *row, const stuck_node *s)
{
    cJSON *list = cJSON_AddArrayToObject(row, "others");
    bool added = list != NULL;

    for (size_t i = 0; i < s->others && i < OTHERS && added; i++) {
        char name[NAME_SHOWN];
        snprintf(name, sizeof name, "%s", s->other[i]->name);
        added = cJSON_AddItemToArray(list, cJSON_CreateString(name));
    }
    return added;
}

/* A row has little room, so a long path loses its beginning. */
static const char *file_tail(bg_site site)
{
    const size_t bytes = site.file != NULL ? strlen(site.file) : 0;
    return site.file == NULL ? "" : bytes > FILE_SHOWN ? site.file + bytes - FILE_SHOWN : site.file;
}

/* Returns the row without its last brace, as bg__running_add_row takes it. NULL: out of host memory. */
static char *print_hang_row(const char *graph, const char *message, const char *waits, const char *advice,
                            const stuck_node *s, double since_ms)
{
    const bg_site site = s->node != NULL ? s->node->site : (bg_site){NULL, 0};
    cJSON *row = cJSON_CreateObject();
    char name[NAME_SHOWN] = "", *text = NULL;

    if (s->node != NULL)
        snprintf(name, sizeof name, "%s", s->node->name);
    if (row != NULL && cJSON_AddStringToObject(row, "hang", message) && cJSON_AddStringToObject(row, "waits", waits) &&
        cJSON_AddStringToObject(row, "graph", graph) && cJSON_AddStringToObject(row, "call", name) &&
        add_other_names(row, s) && cJSON_AddStringToObject(row, "file", file_tail(site)) &&
        cJSON_AddNumberToObject(row, "line", site.line) && cJSON_AddNumberToObject(row, "since", since_ms / 1000) &&
        cJSON_AddStringToObject(row, "advice", advice))
        text = bg__json_text(row, false);
    cJSON_Delete(row);
    if (text != NULL)
        text[strlen(text) - 1] = '\0';
    return text;
}

char *bg__hang_format_row(const bg__hang_copy *w, bool began, double since_ms)
{
    const char *advice = w->key == NULL ? "check what it waits for, or launches"
                         : began ? "move nodes that CUDA cannot copy, such as memory nodes, out of the graph; then "
                                   "the node that hangs is named"
                                 : "check what the program launches before it, and what that work waits for";
    char message[700], waits[400];
    stuck_node s = {.node = NULL};

    bg__hang_format_waits(waits, sizeof waits);
    if (began)
        find_stuck_node(w, &s);
    if (s.node == NULL && w->self.name != NULL)
        s.node = &w->self;
    if (s.node != NULL && s.node != &w->self) {
        describe_stuck(w, &s, message, sizeof message);
        advice = advice_for(s.node);
    } else {
        describe_launch(w, began, message, sizeof message);
    }
    return print_hang_row(w->graph, message, waits, advice, &s, since_ms);
}

char *bg__hang_format_node_row(const char *graph, const bg__marked_node *node, double since_ms)
{
    const char *advice =
        "if it waits for what the program does after the launch, step waits for ever: leave this graph out "
        "(--graphs), or run check --timeout, which launches graphs as a whole";
    const stuck_node s = {.node = node};
    char message[700];
    size_t used = (size_t)snprintf(message, sizeof message,
                                   "%.60s runs node by node, and does not get beyond this %s, which runs alone", graph,
                                   node_kind_text(node));

    if (used < sizeof message)
        (void)describe_waiting(node, message + used, sizeof message - used);
    if (node->others != NULL)
        advice = "all ranks must step the same launches of the same graphs, so that each finds the others: choose "
                 "them with --graphs and --replays on all ranks";
    return print_hang_row(graph, message, "", advice, &s, since_ms);
}
