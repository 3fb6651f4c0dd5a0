/* Makes an op call for each node of a program's graph. So the tools name nodes as they name op calls, by the kernel and
 * the line that launched it: "softmax_warp_forward#3 at model.py:17". */
#include "node_calls.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "debug/memory/hash_table.h"

#include "debug/attach/events/subscribers.h"
#include "debug/attach/memory/block_table.h"
#include "debug/graph/nodes.h"

/* The call that made a node. CUDA reuses the handles of destroyed graphs' nodes, which then get another maker. */
typedef struct maker {
    cudaGraphNode_t node;
    uint64_t capture;
    uint64_t time; /* bg__blocks_time when the node was made */
    const bg__stack *stack;
    UT_hash_handle hh;
} maker;

/* One op for each name. It lives as long as the process, since graphs point to it. */
typedef struct kernel_op {
    bg_op op;
    UT_hash_handle hh;
    char name[];
} kernel_op;

static struct {
    pthread_mutex_t lock;
    maker *makers;
    kernel_op *ops;
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static maker *find_maker(cudaGraphNode_t node)
{
    maker *m;
    HASH_FIND_PTR(known.makers, &node, m);
    return m;
}

/* NULL: no host memory. */
static maker *add_maker(cudaGraphNode_t node)
{
    maker *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->node = node;
    HASH_ADD_PTR(known.makers, node, m);
    return m;
}

/* An empty launch makes no node, so the first record of a node in the same capture stays. capture 0: no capture. */
static void record_maker(cudaGraphNode_t node, uint64_t capture, const bg__stack *stack)
{
    maker *m;
    pthread_mutex_lock(&known.lock);
    m = find_maker(node);
    if (m == NULL)
        m = add_maker(node);
    if (m != NULL && (m->stack == NULL || capture == 0 || m->capture != capture)) {
        m->stack = stack;
        m->time = bg__blocks_time();
    }
    if (m != NULL)
        m->capture = capture;
    pthread_mutex_unlock(&known.lock);
}

const bg__stack *bg__node_maker(cudaGraphNode_t node)
{
    const bg__stack *stack;
    maker *m;
    pthread_mutex_lock(&known.lock);
    m = find_maker(node);
    stack = m != NULL ? m->stack : NULL;
    pthread_mutex_unlock(&known.lock);
    return stack;
}

uint64_t bg__node_creation_time(cudaGraphNode_t node)
{
    const maker *m;
    uint64_t time;
    pthread_mutex_lock(&known.lock);
    m = find_maker(node);
    time = m != NULL ? m->time : 0;
    pthread_mutex_unlock(&known.lock);
    return time;
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* The name ends at the first "<" or "(" that opens arguments, and begins after the last "::" or blank before. */
size_t bg__kernel_short_name(const char *name, const char **begin)
{
    static const char unnamed[] = "(anonymous namespace)";
    const char *at = name, *from = name;

    for (;;) {
        size_t part = strcspn(at, "<(: ");
        if (strncmp(at + part, unnamed, sizeof unnamed - 1) == 0) {
            at += part + sizeof unnamed - 1;
            from = at;
            continue;
        }
        if (at[part] != ':' && at[part] != ' ') {
            *begin = from;
            return (size_t)(at + part - from);
        }
        at += part + strspn(at + part, ": ");
        from = at;
    }
}

static kernel_op *find_kernel_op(const char *name, size_t bytes)
{
    kernel_op *o;
    HASH_FIND(hh, known.ops, name, bytes, o);
    return o;
}

/* NULL: no host memory. */
static kernel_op *add_kernel_op(const char *name, size_t bytes)
{
    kernel_op *o = calloc(1, sizeof *o + bytes + 1);
    if (o == NULL)
        return NULL;
    memcpy(o->name, name, bytes);
    o->op = (bg_op){.struct_size = sizeof o->op, .name = o->name};
    HASH_ADD_KEYPTR(hh, known.ops, o->name, bytes, o);
    return o;
}

static const bg_op *find_or_add_op(const char *name, size_t bytes)
{
    kernel_op *o;
    pthread_mutex_lock(&known.lock);
    o = find_kernel_op(name, bytes);
    if (o == NULL)
        o = add_kernel_op(name, bytes);
    pthread_mutex_unlock(&known.lock);
    return o != NULL ? &o->op : NULL;
}

static const bg_op *node_op(const bg__node *node)
{
    const char *name = node->kernel != NULL ? node->kernel->name : NULL, *begin;
    size_t bytes = name != NULL ? bg__kernel_short_name(name, &begin) : 0;
    if (bytes > 0)
        return find_or_add_op(begin, bytes);
    return find_or_add_op(bg__node_kind(node), strlen(bg__node_kind(node)));
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

static bg_status add_call(bg_graph *graph, const bg__node *node, cudaGraphNode_t original)
{
    const bg__stack *stack = bg__node_maker(original);
    const bg_site site = stack != NULL ? bg__stack_site(stack) : (bg_site){NULL, 0};
    const bg_op *op = node_op(node);

    if (op == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the name of a node");
    return bg__wrapped_add_call(graph, op, &site, (long)node->place);
}

/* Nodes of a clone have the order of the original's nodes (docs/records/capture-rules.md). */
void bg__nodes_copy_makers(cudaGraph_t copy, cudaGraph_t original)
{
    cudaGraphNode_t *from = NULL, *to = NULL;
    size_t count = 0, same = 0;

    if (bg__graph_list_nodes(original, &from, &same) == BG_OK && bg__graph_list_nodes(copy, &to, &count) == BG_OK)
        for (size_t i = 0; i < count && i < same; i++)
            record_maker(to[i], 0, bg__node_maker(from[i]));
    free(from);
    free(to);
}

void bg__nodes_forget_makers(cudaGraph_t graph)
{
    cudaGraphNode_t *nodes = NULL;
    size_t count = 0;

    if (bg__graph_list_nodes(graph, &nodes, &count) != BG_OK)
        count = 0;
    pthread_mutex_lock(&known.lock);
    for (size_t i = 0; i < count; i++) {
        maker *m = find_maker(nodes[i]);
        if (m == NULL)
            continue;
        HASH_DEL(known.makers, m);
        free(m);
    }
    pthread_mutex_unlock(&known.lock);
    free(nodes);
}

static void record_added(const bg__event *event)
{
    if (event->result == CUDA_SUCCESS)
        record_maker(event->node, 0, bg__stack_here());
}

static void record_captured(const bg__event *event)
{
    record_maker(event->node, event->capture, event->stack);
}

static void record_clone(const bg__event *event)
{
    bg__nodes_copy_makers(event->source, event->original);
}

static void record_destroyed(const bg__event *event)
{
    if (!event->later)
        bg__nodes_forget_makers(event->source);
}

const bg__subscriber bg__fact_node_makers = {
    .name = "makers of nodes",
    .on = {[BG__NODE_ADDED] = record_added,
           [BG__NODE_CAPTURED] = record_captured,
           [BG__GRAPH_CLONED] = record_clone,
           [BG__GRAPH_DESTROYING] = record_destroyed},
};

bg_status bg__node_calls_add(bg_graph *graph, cudaGraph_t source)
{
    bg__nodes nodes = {.node = NULL};
    cudaGraphNode_t *originals = NULL;
    size_t count = 0;
    bg_status status;

    bg__wrapped_clear_calls(graph);
    BG__TRY(bg__graph_list_nodes(source, &originals, &count));
    BG__TRY(bg__nodes_read(graph, &nodes));
    for (size_t i = 0; i < nodes.count; i++)
        if (nodes.node[i].parent < 0 && nodes.node[i].place < count)
            BG__TRY(add_call(graph, &nodes.node[i], originals[nodes.node[i].place]));
done:
    bg__nodes_free(&nodes);
    free(originals);
    return status;
}

char *bg__node_name(cudaGraph_t graph, cudaGraphNode_t node)
{
    bg__nodes nodes = {.node = NULL};
    bg_graph *wrapped = NULL;
    char *name = NULL;
    bg_status status;

    BG__TRY(bg_graph_wrap(&wrapped, graph, NULL, "a capture"));
    BG__TRY(bg__node_calls_add(wrapped, graph));
    BG__TRY(bg__nodes_read(wrapped, &nodes));
    for (size_t i = 0; i < nodes.count && name == NULL; i++)
        if (nodes.node[i].handle == node && nodes.node[i].call != NULL)
            name = strdup(nodes.node[i].call->name);
done:
    bg__nodes_free(&nodes);
    bg_graph_destroy(wrapped);
    return status == BG_OK ? name : NULL;
}
