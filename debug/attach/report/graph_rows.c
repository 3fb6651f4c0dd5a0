#include "graph_rows.h"

#include <stdlib.h>
#include <string.h>

#include "debug/graph/nodes.h"
#include "debug/files/json.h"

/* Adds {"name": NAME, "count": 1}, or increments the count of that name. */
static bool count_op(cJSON *list, const char *name)
{
    cJSON *item, *count;
    cJSON_ArrayForEach(item, list)
    {
        count = cJSON_GetObjectItemCaseSensitive(item, "count");
        if (count != NULL && strcmp(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "name")), name) == 0) {
            cJSON_SetNumberValue(count, count->valuedouble + 1);
            return true;
        }
    }
    item = bg__json_add_object(list);
    return item != NULL && cJSON_AddStringToObject(item, "name", name) != NULL &&
           cJSON_AddNumberToObject(item, "count", 1) != NULL;
}

static bool add_line_items(cJSON *list, const char *text)
{
    while (list != NULL && *text != '\0') {
        size_t bytes = strcspn(text, "\n");
        char *line = strndup(text, bytes);
        cJSON *item = line != NULL ? cJSON_CreateString(line) : NULL;
        free(line);
        if (item == NULL || !cJSON_AddItemToArray(list, item)) {
            cJSON_Delete(item);
            return false;
        }
        text += bytes + (text[bytes] == '\n');
    }
    return list != NULL;
}

bool bg__graph_row_add_lines(cJSON *object, const char *name, const char *text)
{
    return add_line_items(cJSON_AddArrayToObject(object, name), text);
}

static bool fill_graph_row(cJSON *row, const bg_graph *graph, const bg__nodes *nodes, const bg__stack *made,
                           size_t memory)
{
    cJSON *ops;
    if (cJSON_AddStringToObject(row, "name", bg__graph_name(graph)) == NULL ||
        cJSON_AddNumberToObject(row, "nodes", (double)nodes->count) == NULL ||
        cJSON_AddNumberToObject(row, "launches", 0) == NULL || cJSON_AddNumberToObject(row, "updates", 0) == NULL ||
        (memory > 0 && cJSON_AddNumberToObject(row, "memory_bytes", (double)memory) == NULL))
        return false;
    ops = cJSON_AddArrayToObject(row, "ops");
    for (size_t i = 0; ops != NULL && i < nodes->count; i++)
        if (nodes->node[i].call != NULL && !count_op(ops, nodes->node[i].call->op->name))
            return false;
    return ops != NULL && (made == NULL || bg__graph_row_add_lines(row, "stack", bg__stack_text(made)));
}

bg_status bg__graph_row_create(cJSON **row, const bg_graph *graph, const bg__stack *made, size_t memory)
{
    bg__nodes nodes = {.node = NULL};
    cJSON *made_row = NULL;
    bg_status status;

    BG__TRY(bg__nodes_read(graph, &nodes));
    made_row = cJSON_CreateObject();
    if (made_row == NULL || !fill_graph_row(made_row, graph, &nodes, made, memory))
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the list of graphs");
    *row = made_row;
    made_row = NULL;
done:
    cJSON_Delete(made_row);
    bg__nodes_free(&nodes);
    return status;
}

void bg__graph_row_set_counts(cJSON *row, uint64_t launches, uint64_t updates)
{
    if (row == NULL)
        return;
    cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(row, "launches"), (double)launches);
    cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(row, "updates"), (double)updates);
}

/* Sets the row's number of that name, and adds it if it is missing. */
static void set_number(cJSON *row, const char *name, double number)
{
    cJSON *item = cJSON_GetObjectItemCaseSensitive(row, name);
    if (item != NULL)
        cJSON_SetNumberValue(item, number);
    else
        cJSON_AddNumberToObject(row, name, number);
}

void bg__graph_row_set_outside_counts(cJSON *row, size_t nodes, uint64_t split, uint64_t outside)
{
    if (row == NULL || nodes == 0)
        return;
    set_number(row, "outside_nodes", (double)nodes);
    set_number(row, "split_launches", (double)split);
    set_number(row, "outside_launches", (double)outside);
}

void bg__graph_row_set_name(cJSON *row, const char *name)
{
    cJSON *text = row != NULL ? cJSON_CreateString(name) : NULL;
    if (text != NULL && !cJSON_ReplaceItemInObjectCaseSensitive(row, "name", text))
        cJSON_Delete(text);
}

/* ---- graphs that are gone -------------------------------------------------------------------------------------- */

static void add_counts(cJSON *to, const cJSON *from)
{
    static const char *const names[] = {"launches", "updates", "split_launches", "outside_launches"};
    cJSON *alike = cJSON_GetObjectItemCaseSensitive(to, "alike");

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const cJSON *sum = cJSON_GetObjectItemCaseSensitive(to, names[i]);
        const cJSON *more = cJSON_GetObjectItemCaseSensitive(from, names[i]);
        if (more != NULL)
            set_number(to, names[i], (sum != NULL ? sum->valuedouble : 0) + more->valuedouble);
    }
    if (alike != NULL)
        cJSON_SetNumberValue(alike, alike->valuedouble + 1);
    else
        cJSON_AddNumberToObject(to, "alike", 1);
}

static bg__ended_graph *find_ended_graph(bg__ended_graph *list, const struct bg__ended_graph_key *key)
{
    bg__ended_graph *e;
    HASH_FIND(hh, list, key, sizeof *key, e);
    return e;
}

/* NULL: out of host memory. */
static bg__ended_graph *add_ended_graph(bg__ended_graph **list, const struct bg__ended_graph_key *key)
{
    bg__ended_graph *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->key = *key;
    HASH_ADD(hh, *list, key, sizeof e->key, e);
    return e;
}

void bg__ended_graphs_add(bg__ended_graph **list, cJSON *row, const bg__stack *made)
{
    struct bg__ended_graph_key key;
    const char *name;
    bg__ended_graph *e;

    if (row == NULL)
        return;
    memset(&key, 0, sizeof key); /* keys are compared by bytes, with padding */
    key.made = made;
    key.nodes = (size_t)cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(row, "nodes"));
    name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "name"));
    snprintf(key.name, sizeof key.name, "%.*s", (int)strcspn(name, "#"), name);
    e = find_ended_graph(*list, &key);
    if (e == NULL)
        e = add_ended_graph(list, &key);
    if (e != NULL && e->row == NULL) {
        e->row = row;
        return;
    }
    if (e != NULL)
        add_counts(e->row, row);
    cJSON_Delete(row);
}
