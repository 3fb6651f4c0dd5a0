#include "run_values.h"

#include <breakgraph/breakgraph.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "debug/cli/observe/gather.h"
#include "debug/cli/output/cli_json.h"
#include "debug/cli/output/cli_files.h"

/* ---- one line --------------------------------------------------------------------------------------------------- */

static const cJSON *get_member(const cJSON *row, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(row, name);
}

static bool has_number(const cJSON *row, const char *name)
{
    return cJSON_IsNumber(get_member(row, name));
}

/* How many processes of the run have that group. */
static size_t count_group(const cli_run_values *run, const char *group)
{
    size_t count = 0;
    for (size_t i = 0; i < run->process_count; i++)
        count += strcmp(run->processes[i].group, group) == 0;
    return count;
}

static bool add_process(cli_run_values *run, const cJSON *row)
{
    cli_run_process added = {.rank = has_number(row, "rank") ? (int)cli_json_number(row, "rank") : -1};

    if (added.rank >= 0)
        snprintf(added.group, sizeof added.group, "rank %d ", added.rank);
    else
        snprintf(added.group, sizeof added.group, "%.60s ", cli_json_text(row, "program"));
    snprintf(added.key, sizeof added.key, "%s%zu", added.group, count_group(run, added.group));
    if (BG__ARRAY_GROW(run->processes, run->process_count, run->process_capacity, "processes") != BG_OK)
        return false;
    run->processes[run->process_count++] = added;
    return true;
}

static bool add_owner(cli_run_process *process, const cJSON *row)
{
    const size_t number = (size_t)cli_json_number(row, "owner");

    if (number != process->owner_count)
        return false;
    if (BG__ARRAY_GROW(process->owners, process->owner_count, process->owner_capacity, "owners") != BG_OK)
        return false;
    process->owners[process->owner_count++] = row;
    return true;
}

static bool fill_nodes(cli_run_graph *graph, const cJSON *list)
{
    const cJSON *node;

    graph->nodes = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(cJSON *));
    graph->updated = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(bool));
    if (graph->nodes == NULL || graph->updated == NULL)
        return false;
    cJSON_ArrayForEach(node, list)
    {
        graph->nodes[graph->count++] = node;
    }
    return true;
}

static bool add_graph(cli_run_values *run, const cJSON *row)
{
    cli_run_graph *added;

    if (BG__ARRAY_GROW(run->graphs, run->count, run->capacity, "graphs") != BG_OK)
        return false;
    added = &run->graphs[run->count++];
    *added =
        (cli_run_graph){.process = run->process_count - 1, .name = cli_json_text(row, "name"), .row = row, .pair = -1};
    return get_member(row, "nodes") == NULL || fill_nodes(added, get_member(row, "nodes"));
}

/* The graph of that number in the process that is being read. */
static cli_run_graph *find_graph(const cli_run_values *run, double number)
{
    for (size_t i = run->count; i > 0; i--)
        if (run->graphs[i - 1].process == run->process_count - 1 &&
            cli_json_number(run->graphs[i - 1].row, "graph") == number)
            return &run->graphs[i - 1];
    return NULL;
}

/* place: the index among the graph's own nodes, without those of child graphs. */
static void set_updated(const cli_run_graph *graph, double place)
{
    double at = 0;
    for (size_t i = 0; i < graph->count; i++) {
        if (has_number(graph->nodes[i], "parent"))
            continue;
        if (at++ == place)
            graph->updated[i] = true;
    }
}

static bool add_line(cli_run_values *run, const cJSON *row)
{
    cli_run_graph *graph;

    if (has_number(row, "process"))
        return add_process(run, row);
    if (run->process_count == 0)
        return false;
    if (has_number(row, "owner"))
        return add_owner(&run->processes[run->process_count - 1], row);
    if (has_number(row, "graph"))
        return add_graph(run, row);
    if (has_number(row, "updated")) {
        graph = find_graph(run, cli_json_number(row, "updated"));
        if (graph != NULL && has_number(row, "node"))
            set_updated(graph, cli_json_number(row, "node"));
        else if (graph != NULL)
            graph->all = true;
        return graph != NULL;
    }
    graph = find_graph(run, cli_json_number(row, "renamed"));
    if (graph != NULL)
        graph->name = cli_json_text(row, "name");
    return graph != NULL;
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static bool is_jsonl(const struct dirent *entry, const char *start)
{
    const char *end = strrchr(entry->d_name, '.');
    return strncmp(entry->d_name, start, strlen(start)) == 0 && end != NULL && strcmp(end, ".jsonl") == 0;
}

static int is_values_file(const struct dirent *entry)
{
    return is_jsonl(entry, "values-");
}

static int is_varied_file(const struct dirent *entry)
{
    return is_jsonl(entry, "varied-");
}

/* Passes each line to take. A process that was killed may have left a part of a line. */
static cli_status read_lines(cli_run_values *run, const char *path, bool (*take)(cli_run_values *run, const cJSON *row))
{
    size_t bytes = 0;
    char *text = cli_file_read(path, false, &bytes), *end;

    if (text == NULL)
        return cli_print_message(CLI_UNREADABLE, "%s", bg_last_error());
    for (char *at = text; *at != '\0'; at = end + (*end == '\n')) {
        cJSON *row;
        end = strchrnul(at, '\n');
        row = cJSON_ParseWithLength(at, (size_t)(end - at));
        if (row != NULL && cJSON_AddItemToArray(run->lines, row))
            run->cut |= !take(run, row);
        else
            run->cut = true;
    }
    free(text);
    return CLI_OK;
}

static cli_status read_values(void *user, const char *path)
{
    return read_lines(user, path, add_line);
}

/* Adds an input once, also if several processes vary it alike. */
static bool add_varied(cli_run_values *run, const cJSON *row)
{
    const cJSON *known;
    char text[160];
    cJSON *item;

    snprintf(text, sizeof text, "%.60s=%.80s", cli_json_text(row, "name"), cli_json_text(row, "value"));
    cJSON_ArrayForEach(known, run->varied)
    {
        if (strcmp(cJSON_GetStringValue(known), text) == 0)
            return true;
    }
    item = cJSON_CreateString(text);
    return item != NULL && cJSON_AddItemToArray(run->varied, item);
}

static cli_status read_varied(void *user, const char *path)
{
    return read_lines(user, path, add_varied);
}

cli_status cli_run_read(cli_run_values *run, const char *directory)
{
    cli_status status;

    run->lines = cJSON_CreateArray();
    run->varied = cJSON_CreateArray();
    if (run->lines == NULL || run->varied == NULL)
        return cli_print_message(CLI_FAILED, "out of host memory");
    status = cli_for_each_file(directory, is_values_file, read_values, run);
    return status == CLI_OK ? cli_for_each_file(directory, is_varied_file, read_varied, run) : status;
}

void cli_run_clear(cli_run_values *run)
{
    for (size_t i = 0; i < run->process_count; i++)
        free(run->processes[i].owners);
    for (size_t i = 0; i < run->count; i++) {
        free(run->graphs[i].nodes);
        free(run->graphs[i].updated);
    }
    free(run->processes);
    free(run->graphs);
    cJSON_Delete(run->lines);
    cJSON_Delete(run->varied);
    *run = (cli_run_values){.lines = NULL};
}
