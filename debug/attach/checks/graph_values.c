/* The values of the program's graphs, written for the command, which compares two runs of the program (check
 * --what=recapture).
 *
 * DIR/values-PID.jsonl, where DIR is BG_REPORT, and values-PID-1.jsonl after a call of exec; each line is an object:
 *   {"process": PID, "program": "python3", "rank": 0}      the first line; rank only where there are ranks
 *   {"owner": 3, "id": "...", "thread": 1, "text": "...", "stack": "...", "pool": true}
 *       memory. id: the same in two runs for the same memory. thread: the one that made it; its number may differ from
 *       run to run. text: for messages. stack: of the allocation, or "". pool: it belongs to an allocator that gives
 *       out parts of it, such as PyTorch's
 *   {"graph": 0, "name": "graph#0", "thread": 1, "file": "main.c", "line": 12, "edges": "HASH",
 *    "edge_kinds": "HASH", "names": {"memset": ["the node's destination", ...]}, "nodes": [...]}
 *       thread: the one that instantiated the graph; hashes: of all
 *       edges, including those of child graphs. Without "nodes", the graph could not be read.
 *       a node: {"kind": "kernel", "call": "scale#0", "work": "scale(float*)", "file": "main.c", "line": 7,
 *       "values": ["HEX", "HEX@0:3+16"]}
 *       work: the kernel, or the host function's name or place ("add_one in program", "program+0x1234").
 *       values: those of debug/graph/node_values.h, of which `names` has the names; further ones are the kernel's
 *       parameters, or the values of a node whose kind is not in `names`. "": CUDA does not report the value.
 *       "@0:3+16": at offset 0, the value has the address of byte 16 of owner 3
 *   {"updated": 0, "node": 3}                              the program has set that node of graph 0; without node: all
 *   {"renamed": 0, "name": "decode"} */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "graph/debug_table.h"
#include "debug/attach/events/tracked_graph.h"
#include "debug/attach/events/subscribers.h"
#include "debug/attach/memory/memory_owners.h"
#include "debug/graph/node_values.h"
#include "debug/files/json.h"
#include "debug/report/launcher_rank.h"
#include "debug/report/process_report.h"
#include "memory_ids.h"

/* What was written of a graph. */
typedef struct graph_values {
    unsigned long number;
    size_t nodes;
    bool all; /* all nodes are updated */
    bool updated[];
} graph_values;

static struct {
    pthread_mutex_t lock;
    int file;  /* -1: nothing is written */
    int error; /* errno: why there is no file; 0: no file is wanted */
    unsigned long graphs;
    bool cut; /* a line could not be written, so no more lines are written */
} out = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = -1};

/* ---- lines ------------------------------------------------------------------------------------------------------ */

/* NULL: out of host memory. A process that is killed leaves whole lines. */
static void write_line_locked(const cJSON *line)
{
    char *text = line != NULL ? bg__json_text(line, false) : NULL;
    size_t bytes = text != NULL ? strlen(text) : 0, written = 0;
    ssize_t got = 1;

    if (text != NULL)
        text[bytes++] = '\n'; /* in place of the terminating zero */
    while (!out.cut && written < bytes && got > 0) {
        got = write(out.file, text + written, bytes - written);
        written += got > 0 ? (size_t)got : 0;
        if (got < 0 && errno == EINTR)
            got = 1;
    }
    if (!out.cut && (text == NULL || written < bytes))
        bg__warn("--attach: check --what=recapture leaves out some graphs: their values could not be written: %s",
                 text == NULL ? "out of host memory" : strerror(errno));
    out.cut |= text == NULL || written < bytes;
    cJSON_free(text);
}

static void write_owner_locked(size_t owner, const bg__memory_id *id)
{
    cJSON *line = cJSON_CreateObject();

    if (cJSON_AddNumberToObject(line, "owner", (double)owner) == NULL ||
        cJSON_AddStringToObject(line, "id", id->id) == NULL ||
        (id->thread >= 0 && cJSON_AddNumberToObject(line, "thread", (double)id->thread) == NULL) ||
        cJSON_AddStringToObject(line, "text", id->text) == NULL ||
        cJSON_AddStringToObject(line, "stack", id->stack) == NULL ||
        (id->pool && cJSON_AddTrueToObject(line, "pool") == NULL)) {
        cJSON_Delete(line);
        line = NULL;
    }
    write_line_locked(line);
    cJSON_Delete(line);
}

static void write_process(void)
{
    cJSON *line = cJSON_CreateObject();
    long rank, ranks;

    if (cJSON_AddNumberToObject(line, "process", (double)getpid()) == NULL ||
        cJSON_AddStringToObject(line, "program", program_invocation_short_name) == NULL ||
        (bg__launcher_rank(&rank, &ranks) && cJSON_AddNumberToObject(line, "rank", (double)rank) == NULL)) {
        cJSON_Delete(line);
        line = NULL;
    }
    write_line_locked(line);
    cJSON_Delete(line);
}

/* A program that has called exec keeps its process id; the file of the program before it stays. -1: no file. */
static int open_values_file(const char *directory)
{
    enum { MOST = 100 };
    int file = -1;

    errno = EEXIST;
    for (int i = 0; i < MOST && file < 0 && errno == EEXIST; i++) {
        char *path = NULL, again[16] = "";
        if (i > 0)
            snprintf(again, sizeof again, "-%d", i);
        if (asprintf(&path, "%s/values-%ld%s.jsonl", directory, (long)getpid(), again) < 0)
            return -1;
        file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        free(path); /* keeps errno */
    }
    return file;
}

static bg_status begin_file(void)
{
    const char *directory = bg__env_value("BG_REPORT");

    if (directory == NULL)
        return BG_OK;
    out.file = open_values_file(directory);
    if (out.file >= 0) {
        bg__owners_enable();
        write_process();
        return BG_OK;
    }
    out.error = errno;
    bg__warn("--attach: check recapture does not compare this process: no file for its values in %s: %s", directory,
             strerror(out.error));
    return BG_OK;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

typedef struct value_writer {
    cJSON *names; /* of values, by kind of node */
    bg__memory_ids ids;
} value_writer;

/* "00000000000000ff@0:3+16": bytes in hexadecimal, and the addresses among them. bytes 0: "". */
static bool print_value(value_writer *w, FILE *text, const void *value, size_t bytes)
{
    const unsigned char *at = value;
    char before = '@';

    for (size_t i = 0; i < bytes; i++)
        fprintf(text, "%02x", at[i]);
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        size_t owner, offset;
        uint64_t word;
        memcpy(&word, at + i, sizeof word);
        if (!bg__memory_ids_find(&w->ids, word, &owner, &offset))
            continue;
        fprintf(text, "%c%zu:%zu+%zu", before, i, owner, offset);
        before = ',';
    }
    return ferror(text) == 0;
}

static bool add_value(value_writer *w, cJSON *list, const void *value, size_t bytes)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    cJSON *item = NULL;
    bool printed = stream != NULL && print_value(w, stream, value, bytes);

    printed = (stream == NULL || fclose(stream) == 0) && printed;
    if (printed)
        item = cJSON_CreateString(text);
    free(text);
    if (item != NULL && cJSON_AddItemToArray(list, item))
        return true;
    cJSON_Delete(item);
    return false;
}

/* Adds the names of the values that nodes of this kind have, except kernels' parameters. false: out of host memory. */
static bool add_value_names(cJSON *names, const char *kind, const bg__node_values *values)
{
    cJSON *list;

    if (values->count == 0 || cJSON_GetObjectItemCaseSensitive(names, kind) != NULL)
        return true;
    list = cJSON_AddArrayToObject(names, kind);
    for (int i = 0; i < values->count; i++) {
        cJSON *name = cJSON_CreateString(values->list[i].name);
        if (name == NULL || !cJSON_AddItemToArray(list, name)) {
            cJSON_Delete(name);
            return false;
        }
    }
    return true;
}

static bool add_node_values(value_writer *w, cJSON *row, const bg__node *node)
{
    cJSON *list = cJSON_AddArrayToObject(row, "values");
    bg__node_values values;
    bg__node_value value;
    bool good = list != NULL && bg__node_values_read(node, &values) == BG_OK;

    good = good && add_value_names(w->names, bg__node_kind(node), &values);
    for (int i = 0; good && bg__node_values_get(&values, i, &value); i++)
        good = add_value(w, list, value.value, value.bytes);
    return good;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

static bool add_site(cJSON *row, bg_site site)
{
    return site.file == NULL || (cJSON_AddStringToObject(row, "file", site.file) != NULL &&
                                 cJSON_AddNumberToObject(row, "line", site.line) != NULL);
}

/* false: out of host memory. */
static bool add_function_name(cJSON *row, const bg__node *node)
{
    char function[BG__CODE_ADDRESS_TEXT];
    const char *work = node->kernel != NULL ? node->kernel->name : NULL;

    if (node->type == cudaGraphNodeTypeHost && node->known &&
        bg__code_address_text((uintptr_t)node->of.host.fn, function, sizeof function))
        work = function;
    return work == NULL || cJSON_AddStringToObject(row, "work", work) != NULL;
}

static bool fill_node_row(value_writer *w, cJSON *row, const bg__node *node)
{
    if (row == NULL || cJSON_AddStringToObject(row, "kind", bg__node_kind(node)) == NULL ||
        !add_function_name(row, node) ||
        (node->parent >= 0 && cJSON_AddNumberToObject(row, "parent", (double)node->parent) == NULL) ||
        (node->call != NULL &&
         (cJSON_AddStringToObject(row, "call", node->call->name) == NULL || !add_site(row, node->call->site))))
        return false;
    return add_node_values(w, row, node);
}

static bg_status add_edge_hashes(const bg__nodes *nodes, cudaGraph_t graph, cJSON *line)
{
    bg__edge_hashes hashes = {0, 0};
    char ends[24], kinds[24];
    bg_status status;

    BG__TRY(bg__edge_hashes_add(&hashes, nodes, graph, 0));
    snprintf(ends, sizeof ends, "%016llx", (unsigned long long)hashes.ends);
    snprintf(kinds, sizeof kinds, "%016llx", (unsigned long long)hashes.kinds);
    if (cJSON_AddStringToObject(line, "edges", ends) == NULL ||
        cJSON_AddStringToObject(line, "edge_kinds", kinds) == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the list of a graph's values");
done:
    return status;
}

static bg_status add_node_rows(bg_graph *graph, const bg__nodes *nodes, cudaGraph_t source, cJSON *line)
{
    value_writer w = {.names = cJSON_AddObjectToObject(line, "names")};
    cJSON *list;
    bg_status status;

    BG__TRY(bg__memory_ids_begin(&w.ids, graph, nodes, write_owner_locked));
    BG__TRY(add_edge_hashes(nodes, source, line));
    list = cJSON_AddArrayToObject(line, "nodes");
    if (list == NULL || w.names == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the list of a graph's values");
    for (size_t i = 0; i < nodes->count; i++)
        if (!fill_node_row(&w, bg__json_add_object(list), &nodes->node[i]))
            BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the list of a graph's values");
done:
    if (status != BG_OK)
        cJSON_DeleteItemFromObjectCaseSensitive(line, "nodes");
    bg__memory_ids_end(&w.ids);
    return status;
}

/* ---- graphs ----------------------------------------------------------------------------------------------------- */

static graph_values *create_values(size_t nodes)
{
    graph_values *values = calloc(1, sizeof *values + nodes * sizeof *values->updated);
    if (values != NULL)
        values->nodes = nodes;
    return values;
}

/* Reports the graph as unchecked to the command, since perhaps nobody reads the printed warning. */
static void report_unwritten_graph(const bg_graph *graph)
{
    char why[120];
    snprintf(why, sizeof why, "its values could not be written: %s",
             out.cut ? "an earlier write to the file of values failed" : strerror(out.error));
    bg__process_report_add_unchecked("recapture", bg__graph_name(graph), why);
}

/* A failure is written as a graph without nodes. */
static void write_graph(const bg__event *event)
{
    bg_graph *graph = event->graph->graph;
    graph_values **values = event->state;
    cJSON *line = NULL;

    if (out.error != 0)
        report_unwritten_graph(graph);
    if (out.file < 0)
        return;
    pthread_mutex_lock(&out.lock);
    if (out.cut)
        report_unwritten_graph(graph);
    line = cJSON_CreateObject();
    if (cJSON_AddNumberToObject(line, "graph", (double)out.graphs) == NULL ||
        cJSON_AddStringToObject(line, "name", bg__graph_name(graph)) == NULL ||
        cJSON_AddNumberToObject(line, "thread", (double)bg__owners_thread_number()) == NULL ||
        (event->stack != NULL && !add_site(line, bg__stack_site(event->stack)))) {
        cJSON_Delete(line);
        line = NULL;
    } else if (event->nodes == NULL || add_node_rows(graph, event->nodes, event->graph->source, line) != BG_OK) {
        bg__warn("--attach: the values of %s are not compared: %s", bg__graph_name(graph), bg_last_error());
    }
    write_line_locked(line);
    *values = create_values(event->nodes != NULL ? event->nodes->count : 0);
    if (*values != NULL)
        (*values)->number = out.graphs;
    out.graphs++;
    pthread_mutex_unlock(&out.lock);
    cJSON_Delete(line);
}

/* Deletes line. */
static void write_line(cJSON *line, bool complete)
{
    pthread_mutex_lock(&out.lock);
    write_line_locked(complete ? line : NULL);
    pthread_mutex_unlock(&out.lock);
    cJSON_Delete(line);
}

static void write_change(const bg__event *event)
{
    graph_values *values = *(graph_values **)event->state;
    cJSON *line;
    bool known;

    if (values == NULL)
        return;
    known = event->place >= 0 && (size_t)event->place < values->nodes;
    if (values->all || (known && values->updated[event->place]))
        return;
    if (known)
        values->updated[event->place] = true;
    else
        values->all = true;
    line = cJSON_CreateObject();
    write_line(line, cJSON_AddNumberToObject(line, "updated", (double)values->number) != NULL &&
                         (!known || cJSON_AddNumberToObject(line, "node", (double)event->place) != NULL));
}

static void write_name(const bg__event *event)
{
    const graph_values *values = *(graph_values **)event->state;
    cJSON *line;

    if (values == NULL)
        return;
    line = cJSON_CreateObject();
    write_line(line, cJSON_AddNumberToObject(line, "renamed", (double)values->number) != NULL &&
                         cJSON_AddStringToObject(line, "name", event->name) != NULL);
}

static void free_values(const bg__event *event)
{
    free(*(graph_values **)event->state);
}

const bg__subscriber bg__check_values = {
    .name = "values",
    .when = BG__CHECK_RECAPTURE,
    .begin = begin_file,
    .state_bytes = sizeof(graph_values *),
    .on = {[BG__EXEC_MADE] = write_graph,
           [BG__EXEC_CHANGED] = write_change,
           [BG__EXEC_NAMED] = write_name,
           [BG__EXEC_GONE] = free_values},
};
