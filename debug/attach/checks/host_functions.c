#include "host_functions.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/events/tracked_graph.h"
#include "debug/attach/events/subscribers.h"
#include "debug/attach/report/process_findings.h"
#include "debug/report/running_file.h"
#include "debug/attach/stacks/function_names.h"
#include "debug/attach/stacks/stacks.h"
#include "debug/attach/stacks/symbols.h"
#include "debug/graph/nodes.h"
#include "debug/files/json.h"

/* A launch may still be running when its executable graph is destroyed. So wrappers live as long as the process, and
 * their number is limited. */
enum { WRAPPERS_MAX = 1 << 16 };
typedef struct host_function {
    cudaHostFn_t function;
    void *data;
    bg_site site; /* of the node */
    char graph[BG_ATTACH_NAME_BYTES], call[32];
    char *row; /* for bg__running_add_row; NULL: out of host memory */
    atomic_ulong runs;
} host_function;

static atomic_int wrapper_count;
static _Thread_local const host_function *running_function; /* NULL: this thread runs none */

static void CUDART_CB run_host_function(void *user)
{
    host_function *h = user;
    const host_function *around = running_function;
    unsigned long before = atomic_fetch_add(&h->runs, 1);
    int place = h->row != NULL ? bg__running_add_row(h->row, before) : -1;

    running_function = h;
    h->function(h->data);
    running_function = around;
    bg__running_remove_row(place);
}

/* The caller frees the name. NULL: the function has none, or out of host memory. */
static char *find_function_name(cudaHostFn_t function)
{
    Dl_info about;
    void *address;
    size_t offset;
    char *symbol, *name;

    memcpy(&address, &function, sizeof address);
    if (dladdr(address, &about) == 0 || about.dli_fname == NULL)
        return NULL;
    symbol = about.dli_sname != NULL && about.dli_saddr == address ? strdup(about.dli_sname)
                                                                   : bg__find_symbol(&about, address, &offset);
    name = symbol != NULL ? bg__demangle(symbol) : NULL;
    if (name == NULL)
        return symbol;
    free(symbol);
    return name;
}

static char *make_running_row(const host_function *h)
{
    cJSON *row = cJSON_CreateObject();
    char *function = find_function_name(h->function), *text = NULL, data[32];

    snprintf(data, sizeof data, "%p", h->data);
    if (row != NULL && cJSON_AddStringToObject(row, "graph", h->graph) &&
        cJSON_AddStringToObject(row, "call", h->call) &&
        cJSON_AddStringToObject(row, "file", h->site.file != NULL ? h->site.file : "") &&
        cJSON_AddNumberToObject(row, "line", h->site.line) && cJSON_AddStringToObject(row, "data", data) &&
        (function == NULL || strlen(function) > BG__RUNNING_BYTES / 4 ||
         cJSON_AddStringToObject(row, "function", function)))
        text = bg__json_text(row, false);
    if (text != NULL)
        text[strlen(text) - 1] = '\0'; /* the last brace */
    cJSON_Delete(row);
    free(function);
    return text;
}

static bg_status wrap_node(CUgraphExec exec, cudaGraphNode_t original, const bg__node *node, const bg_graph *graph)
{
    struct cudaHostNodeParams theirs, ours;
    host_function *h = NULL;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaGraphHostNodeGetParams(original, &theirs));
    h = calloc(1, sizeof *h);
    if (h == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a host function of %s", bg__graph_name(graph));
    h->function = theirs.fn;
    h->data = theirs.userData;
    h->site = node->call->site;
    snprintf(h->graph, sizeof h->graph, "%s", bg__graph_name(graph));
    snprintf(h->call, sizeof h->call, "%s", node->call->name);
    h->row = make_running_row(h);
    ours = (struct cudaHostNodeParams){.fn = run_host_function, .userData = h};
    BG__TRY_CUDA(cudaGraphExecHostNodeSetParams((cudaGraphExec_t)exec, original, &ours));
    h = NULL;
done:
    if (h != NULL)
        cJSON_free(h->row);
    free(h);
    return status;
}

bg_status bg__host_functions_wrap(CUgraphExec exec, cudaGraph_t source, const bg_graph *graph, const bg__nodes *nodes)
{
    cudaGraphNode_t *originals = NULL;
    size_t count = 0;
    bg_status status = BG_OK;

    bg__running_create_file();
    BG__TRY(bg__graph_list_nodes(source, &originals, &count));
    for (size_t i = 0; i < nodes->count; i++) {
        const bg__node *node = &nodes->node[i];
        if (node->type == cudaGraphNodeTypeHost && node->parent < 0 && node->place < count && node->call != NULL &&
            atomic_fetch_add(&wrapper_count, 1) < WRAPPERS_MAX)
            BG__TRY(wrap_node(exec, originals[node->place], node, graph));
    }
done:
    if (status != BG_OK)
        bg__warn("--attach: some host functions of %s are not checked: %s", bg__graph_name(graph), bg_last_error());
    free(originals);
    return status;
}

static void wrap_functions(const bg__event *event)
{
    (void)bg__host_functions_wrap(event->exec, event->source, event->graph->graph, event->nodes); /* it has warned */
}

/* ---- calls in a host function ----------------------------------------------------------------------------------- */

static void check_call(const bg__event *event)
{
    const host_function *h = running_function;
    char message[700], place[300] = "", text[80];
    const bg__stack *stack;
    const char *written;

    if (h == NULL)
        return;
    stack = bg__stack_here();
    written = bg__function_api_name(bg__call_name(event->call), stack, text, sizeof text);
    if (h->site.file != NULL)
        snprintf(place, sizeof place, ", launched at %s%s%.0d", h->site.file, h->site.line > 0 ? ":" : "",
                 h->site.line);
    snprintf(message, sizeof message,
             "%s is called inside of %s of %s%s: a host function may not call CUDA; the call fails "
             "(cudaErrorNotPermitted), or waits for the work that the host function is part of",
             written, h->call, h->graph, place);
    bg__attach_report_once("host-function", BG_FAULT, h->call, written, stack,
                           "let the host function only signal a thread of the program, and call CUDA in that thread",
                           message);
}

const bg__subscriber bg__check_host_functions = {
    .name = "host functions",
    .when = BG__CHECK_EXECS,
    .node_types = 1U << cudaGraphNodeTypeHost,
    .on = {[BG__EXEC_MADE] = wrap_functions, [BG__CALL_CHECKED] = check_call},
};
