#include "graph_values.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "graph/debug_table.h"
#include "debug/attach/memory/memory_owners.h"
#include "debug/check/node_pointers.h"
#include "debug/memory/allocate.h"
#include "debug/files/json.h"
#include "debug/report/launcher_rank.h"
#include "debug/report/process_report.h"
#include "memory_ids.h"

struct bg__graph_values {
    unsigned long number;
    size_t nodes;
    bool all; /* all nodes are updated */
    bool updated[];
};

static struct {
    pthread_mutex_t lock;
    int file;  /* -1: nothing is written */
    int error; /* errno: why there is no file; 0: no file is wanted */
    unsigned long graphs;
    bool cut; /* a line could not be written; no more lines are */
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
        bg__warn("--attach: check recapture misses graphs: their values could not be written: %s",
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

bg_status bg__graph_values_begin(void)
{
    const char *directory = bg__env_value("BG_REPORT");
    unsigned check;
    bg_status status;

    BG__TRY(bg__env_choices("BG_CHECK", &check));
    if ((check & BG__CHECK_RECAPTURE) == 0 || directory == NULL)
        goto done;
    out.file = open_values_file(directory);
    if (out.file < 0) {
        out.error = errno;
        bg__warn("--attach: check recapture does not compare this process: no file for its values in %s: %s", directory,
                 strerror(out.error));
        goto done;
    }
    bg__owners_enable();
    write_process();
done:
    return status;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

typedef struct value_writer {
    const bg__nodes *nodes;
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

static bool add_number_value(value_writer *w, cJSON *list, size_t number)
{
    const uint64_t value = number;
    return add_value(w, list, &value, sizeof value);
}

static bool add_address_value(value_writer *w, cJSON *list, bool there, const bg__node_range *end)
{
    return add_value(w, list, &end->address, there ? sizeof end->address : 0);
}

/* With one row, the pitch means nothing and CUDA may choose any; the same holds for the slices. */
static bool add_copy_values(value_writer *w, cJSON *list, const bg__node *node)
{
    const struct cudaMemcpy3DParms *copy = &node->of.copy;
    const bool slices = copy->extent.depth > 1, rows = slices || copy->extent.height > 1;
    bg__node_range source = {0}, destination = {0};
    const bool from = bg__memcpy_node_range(node, BG__SOURCE, &source),
               to = bg__memcpy_node_range(node, BG__DESTINATION, &destination);

    return add_address_value(w, list, from, &source) && add_number_value(w, list, copy->extent.width) &&
           add_address_value(w, list, to, &destination) && add_number_value(w, list, copy->extent.height) &&
           add_number_value(w, list, copy->extent.depth) &&
           add_number_value(w, list, rows && from ? copy->srcPtr.pitch : 0) &&
           add_number_value(w, list, rows && to ? copy->dstPtr.pitch : 0) &&
           add_number_value(w, list, slices && from ? copy->srcPtr.ysize : 0) &&
           add_number_value(w, list, slices && to ? copy->dstPtr.ysize : 0) &&
           add_value(w, list, &copy->srcPos, from ? 0 : sizeof copy->srcPos) &&
           add_value(w, list, &copy->dstPos, to ? 0 : sizeof copy->dstPos);
}

static bool add_memset_values(value_writer *w, cJSON *list, const bg__node *node)
{
    const struct cudaMemsetParams *fill = &node->of.fill;
    bg__node_range destination = {0};
    const bool to = bg__memset_node_range(node, &destination);

    return add_address_value(w, list, to, &destination) && add_number_value(w, list, fill->width * fill->elementSize) &&
           add_value(w, list, &fill->value, sizeof fill->value) && add_number_value(w, list, fill->height) &&
           add_number_value(w, list, fill->height > 1 ? fill->pitch : 0) &&
           add_number_value(w, list, fill->elementSize);
}

/* In the order of value_names in debug/cli/recapture. */
static bool add_node_values(value_writer *w, cJSON *list, const bg__node *node)
{
    bg__parameter parameter;
    bool good = true;

    switch (node->type) {
    case cudaGraphNodeTypeKernel:
        for (int i = 0; good && bg__node_parameter(node, i, &parameter); i++)
            good = add_value(w, list, parameter.value, parameter.bytes);
        return good;
    case cudaGraphNodeTypeMemcpy: return add_copy_values(w, list, node);
    case cudaGraphNodeTypeMemset: return add_memset_values(w, list, node);
    case cudaGraphNodeTypeMemAlloc:
        return add_value(w, list, &node->of.memory.bytes, node->known ? sizeof node->of.memory.bytes : 0);
    case cudaGraphNodeTypeEventRecord:
    case cudaGraphNodeTypeWaitEvent: return add_value(w, list, &node->of.event, sizeof node->of.event);
    case cudaGraphNodeTypeHost: return add_value(w, list, &node->of.host.userData, sizeof node->of.host.userData);
    default: return true;
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

/* CUDA reports 0 where no clusters were asked for. */
static unsigned cluster_size(unsigned blocks)
{
    return blocks > 0 ? blocks : 1;
}

/* " 1 1 1 0": cluster dimensions, and whether the launch is cooperative; "": CUDA does not report them. */
static void print_launch_attributes(const bg__node *node, char *text, size_t bytes)
{
    cudaLaunchAttributeValue cluster = {0}, together = {0};
    cudaError_t error = cudaGraphKernelNodeGetAttribute(node->handle, cudaLaunchAttributeClusterDimension, &cluster);

    text[0] = '\0';
    if (error == cudaSuccess)
        error = cudaGraphKernelNodeGetAttribute(node->handle, cudaLaunchAttributeCooperative, &together);
    bg__clear_cuda_error(error);
    if (error == cudaSuccess)
        snprintf(text, bytes, " %u %u %u %d", cluster_size(cluster.clusterDim.x), cluster_size(cluster.clusterDim.y),
                 cluster_size(cluster.clusterDim.z), together.cooperative != 0);
}

static bool add_launch_config(cJSON *row, const bg__node *node)
{
    const CUDA_KERNEL_NODE_PARAMS *launch = &node->of.launch;
    char text[180], attributes[60];

    if (node->type != cudaGraphNodeTypeKernel || !node->known)
        return true;
    print_launch_attributes(node, attributes, sizeof attributes);
    snprintf(text, sizeof text, "%u %u %u %u %u %u %u%s", launch->gridDimX, launch->gridDimY, launch->gridDimZ,
             launch->blockDimX, launch->blockDimY, launch->blockDimZ, launch->sharedMemBytes, attributes);
    return cJSON_AddStringToObject(row, "launch", text) != NULL;
}

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
    cJSON *values;

    if (row == NULL || cJSON_AddStringToObject(row, "kind", bg__node_kind(node)) == NULL ||
        !add_function_name(row, node) ||
        (node->parent >= 0 && cJSON_AddNumberToObject(row, "parent", (double)node->parent) == NULL) ||
        (node->call != NULL &&
         (cJSON_AddStringToObject(row, "call", node->call->name) == NULL || !add_site(row, node->call->site))))
        return false;
    values = cJSON_AddArrayToObject(row, "values");
    return values != NULL && add_launch_config(row, node) && (!node->known || add_node_values(w, values, node));
}

/* Sums over all edges, so that their order does not matter: of the nodes, and of the nodes and the edge data. */
typedef struct edge_hashes {
    uint64_t ends, kinds;
} edge_hashes;

static void hash_edge(const bg__nodes *nodes, const bg__edges *edges, size_t i, edge_hashes *hashes)
{
    const bg__node *from = bg__nodes_find(nodes, edges->from[i]), *to = bg__nodes_find(nodes, edges->to[i]);
    const cudaGraphEdgeData *data = &edges->data[i];
    char edge[80];
    int length;

    if (from == NULL || to == NULL)
        return;
    length = snprintf(edge, sizeof edge, "%td %td", from - nodes->node, to - nodes->node);
    hashes->ends += bg__text_hash(edge);
    snprintf(edge + length, sizeof edge - (size_t)length, " %d %d %d", data->type, data->from_port, data->to_port);
    hashes->kinds += bg__text_hash(edge);
}

/* parent: the node that contains this child graph; -1: none. */
static bg_status hash_edges(const bg__nodes *nodes, cudaGraph_t graph, long parent, edge_hashes *hashes)
{
    cudaGraphNode_t *list = NULL;
    bg__edges edges = {.count = 0};
    size_t count = 0;
    bg_status status;

    BG__TRY(BG__ALLOCATE(list, nodes->count, "nodes"));
    for (size_t i = (size_t)(parent + 1); i < nodes->count && nodes->node[i].parent >= parent; i++)
        if (nodes->node[i].parent == parent)
            list[count++] = nodes->node[i].handle;
    BG__TRY(bg__edges_list(&edges, graph, list, count));
    for (size_t i = 0; i < edges.count; i++)
        hash_edge(nodes, &edges, i, hashes);
done:
    bg__edges_free(&edges);
    free(list);
    return status;
}

static bg_status add_edge_hashes(const bg__nodes *nodes, cudaGraph_t graph, cJSON *line)
{
    edge_hashes hashes = {0, 0};
    char ends[24], kinds[24];
    bg_status status;

    BG__TRY(hash_edges(nodes, graph, -1, &hashes));
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->node[i].type == cudaGraphNodeTypeGraph && nodes->node[i].known)
            BG__TRY(hash_edges(nodes, nodes->node[i].of.child, (long)i, &hashes));
    snprintf(ends, sizeof ends, "%016llx", (unsigned long long)hashes.ends);
    snprintf(kinds, sizeof kinds, "%016llx", (unsigned long long)hashes.kinds);
    if (cJSON_AddStringToObject(line, "edges", ends) == NULL ||
        cJSON_AddStringToObject(line, "edge_kinds", kinds) == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for what a graph holds");
done:
    return status;
}

static bg_status add_node_rows(bg_graph *graph, cudaGraph_t source, cJSON *line, size_t *count)
{
    bg__nodes nodes = {.node = NULL};
    value_writer w = {.nodes = &nodes};
    cJSON *list;
    bg_status status;

    BG__TRY(bg__nodes_read(graph, &nodes));
    BG__TRY(bg__memory_ids_begin(&w.ids, graph, &nodes, write_owner_locked));
    BG__TRY(add_edge_hashes(&nodes, source, line));
    list = cJSON_AddArrayToObject(line, "nodes");
    if (list == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for what a graph holds");
    for (size_t i = 0; i < nodes.count; i++)
        if (!fill_node_row(&w, bg__json_add_object(list), &nodes.node[i]))
            BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for what a graph holds");
    *count = nodes.count;
done:
    if (status != BG_OK)
        cJSON_DeleteItemFromObjectCaseSensitive(line, "nodes");
    bg__memory_ids_end(&w.ids);
    bg__nodes_free(&nodes);
    return status;
}

/* ---- graphs ----------------------------------------------------------------------------------------------------- */

static bg__graph_values *create_values(size_t nodes)
{
    bg__graph_values *values = calloc(1, sizeof *values + nodes * sizeof *values->updated);
    if (values != NULL)
        values->nodes = nodes;
    return values;
}

/* The finding in the report reaches the command; nobody may read the warning. */
static void report_unwritten_graph(const bg_graph *graph)
{
    char why[120];
    snprintf(why, sizeof why, "its values could not be written: %s",
             out.cut ? "an earlier write to the file of values failed" : strerror(out.error));
    bg__process_report_add_unchecked("recapture", bg__graph_name(graph), why);
}

bg__graph_values *bg__graph_values_write(bg_graph *graph, cudaGraph_t source, const bg__stack *made)
{
    bg__graph_values *values = NULL;
    cJSON *line = NULL;
    size_t nodes = 0;

    if (out.error != 0)
        report_unwritten_graph(graph);
    if (out.file < 0)
        return NULL;
    pthread_mutex_lock(&out.lock);
    if (out.cut)
        report_unwritten_graph(graph);
    line = cJSON_CreateObject();
    if (cJSON_AddNumberToObject(line, "graph", (double)out.graphs) == NULL ||
        cJSON_AddStringToObject(line, "name", bg__graph_name(graph)) == NULL ||
        cJSON_AddNumberToObject(line, "thread", (double)bg__owners_thread_number()) == NULL ||
        (made != NULL && !add_site(line, bg__stack_site(made)))) {
        cJSON_Delete(line);
        line = NULL;
    } else if (add_node_rows(graph, source, line, &nodes) != BG_OK) {
        bg__warn("--attach: the values of %s are not compared: %s", bg__graph_name(graph), bg_last_error());
    }
    write_line_locked(line);
    values = create_values(nodes);
    if (values != NULL)
        values->number = out.graphs;
    out.graphs++;
    pthread_mutex_unlock(&out.lock);
    cJSON_Delete(line);
    return values;
}

void bg__graph_values_write_update(bg__graph_values *values, long node)
{
    cJSON *line;
    bool known;

    if (values == NULL)
        return;
    known = node >= 0 && (size_t)node < values->nodes;
    if (values->all || (known && values->updated[node]))
        return;
    if (known)
        values->updated[node] = true;
    else
        values->all = true;
    line = cJSON_CreateObject();
    if (cJSON_AddNumberToObject(line, "updated", (double)values->number) == NULL ||
        (known && cJSON_AddNumberToObject(line, "node", (double)node) == NULL)) {
        cJSON_Delete(line);
        line = NULL;
    }
    pthread_mutex_lock(&out.lock);
    write_line_locked(line);
    pthread_mutex_unlock(&out.lock);
    cJSON_Delete(line);
}

void bg__graph_values_write_name(const bg__graph_values *values, const char *name)
{
    cJSON *line;

    if (values == NULL)
        return;
    line = cJSON_CreateObject();
    if (cJSON_AddNumberToObject(line, "renamed", (double)values->number) == NULL ||
        cJSON_AddStringToObject(line, "name", name) == NULL) {
        cJSON_Delete(line);
        line = NULL;
    }
    pthread_mutex_lock(&out.lock);
    write_line_locked(line);
    pthread_mutex_unlock(&out.lock);
    cJSON_Delete(line);
}

void bg__graph_values_free(bg__graph_values *values)
{
    free(values);
}
