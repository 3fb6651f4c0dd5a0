/* Kernel nodes that the program adds with the parameters of another node. Attributes are not parameters, and the
 * program must copy them, too: a node that lacks the cluster or cooperative attribute is a finding ("attribute-lost").
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "debug/memory/hash_table.h"

#include "debug/attach/events/tracked_graph.h"
#include "debug/attach/events/subscribers.h"
#include "debug/graph/node_values.h"
#include "debug/report/report.h"

enum { READS_KEPT = 256 }; /* number of parameter reads that are kept */

typedef struct copy {
    cudaGraphNode_t node;
    bg__launch_attributes wanted;
    UT_hash_handle hh;
} copy;

static struct {
    pthread_mutex_t lock;
    struct {
        void **parameters; /* CUDA's own pointer, which identifies the node */
        bg__launch_attributes of;
    } read[READS_KEPT];
    uint64_t count;
    copy *copies; /* nodes whose originals have attributes */
    atomic_bool used;
} nodes = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Without these attributes a kernel computes something else. */
static bool has_attributes(const bg__launch_attributes *a)
{
    return a->cluster[0] > 1 || a->cluster[1] > 1 || a->cluster[2] > 1 || a->cooperative;
}

static void record_read(const bg__event *event)
{
    bg__launch_attributes of;
    bool known;

    if (event->params->kernelParams == NULL || bg__launch_attributes_read(event->node, &of, &known) != BG_OK || !known)
        return;
    pthread_mutex_lock(&nodes.lock);
    nodes.read[nodes.count % READS_KEPT].parameters = event->params->kernelParams;
    nodes.read[nodes.count++ % READS_KEPT].of = of;
    pthread_mutex_unlock(&nodes.lock);
    atomic_store(&nodes.used, true);
}

/* Searches from the last read back: CUDA may reuse the pointer for another node when the first one is destroyed. */
static const bg__launch_attributes *find_original(void **parameters)
{
    for (uint64_t i = nodes.count; i > 0 && i + READS_KEPT > nodes.count; i--)
        if (nodes.read[(i - 1) % READS_KEPT].parameters == parameters)
            return &nodes.read[(i - 1) % READS_KEPT].of;
    return NULL;
}

static void forget_copy(cudaGraphNode_t node)
{
    copy *old;
    HASH_FIND_PTR(nodes.copies, &node, old);
    if (old != NULL)
        HASH_DEL(nodes.copies, old);
    free(old);
}

static void record_added(const bg__event *event)
{
    const bg__launch_attributes *original;
    copy *added;

    if (event->result != CUDA_SUCCESS || event->params == NULL || !atomic_load(&nodes.used) ||
        event->params->kernelParams == NULL)
        return;
    pthread_mutex_lock(&nodes.lock);
    forget_copy(event->node); /* a destroyed node may have had the handle */
    original = find_original(event->params->kernelParams);
    added = original != NULL && has_attributes(original) ? calloc(1, sizeof *added) : NULL;
    if (added != NULL) { /* without host memory the node is not checked */
        added->node = event->node;
        added->wanted = *original;
        HASH_ADD_PTR(nodes.copies, node, added);
    }
    pthread_mutex_unlock(&nodes.lock);
}

/* ---- the check --------------------------------------------------------------------------------------------------- */

static void report_lost_attribute(const bg__node *node, const bg__launch_attributes *wanted, bg_report *report)
{
    char cluster[60] = "cooperative launch (its blocks run together)";

    if (!wanted->cooperative)
        snprintf(cluster, sizeof cluster, "a cluster of %u x %u x %u blocks", wanted->cluster[0], wanted->cluster[1],
                 wanted->cluster[2]);
    bg__report_add(report, "attribute-lost", BG_WARNING, node != NULL ? node->call : NULL, NULL,
                   "copy the attributes, too (cudaGraphKernelNodeCopyAttributes)",
                   "%s was added with the parameters of another node, but lacks an attribute of that node: %s",
                   node != NULL && node->call != NULL ? node->call->name : "a kernel node", cluster);
}

static bool are_equal(const bg__launch_attributes *is, const bg__launch_attributes *wanted)
{
    return memcmp(is->cluster, wanted->cluster, sizeof is->cluster) == 0 && is->cooperative == wanted->cooperative;
}

/* Finds by place, since the node of the tools' copy has another handle than the program's node, but the same place. */
static const bg__node *find_node_at(const bg__nodes *all, size_t place)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->node[i].parent < 0 && all->node[i].place == place)
            return &all->node[i];
    return NULL;
}

static bool is_attribute_lost(cudaGraphNode_t node, bg__launch_attributes *wanted)
{
    bg__launch_attributes is;
    bool known;
    copy *c;

    pthread_mutex_lock(&nodes.lock);
    HASH_FIND_PTR(nodes.copies, &node, c);
    if (c != NULL)
        *wanted = c->wanted;
    pthread_mutex_unlock(&nodes.lock);
    return c != NULL && bg__launch_attributes_read(node, &is, &known) == BG_OK && known && !are_equal(&is, wanted);
}

static void check_copies(const bg__event *event)
{
    const bg__tracked_graph *graph = event->graph;
    cudaGraphNode_t *list = NULL;
    bg__launch_attributes wanted;
    size_t count = 0;
    bg_status status = BG_OK;

    if (!atomic_load(&nodes.used))
        return;
    BG__TRY(bg__graph_list_nodes(event->source, &list, &count));
    for (size_t i = 0; i < count; i++)
        if (is_attribute_lost(list[i], &wanted))
            report_lost_attribute(find_node_at(event->nodes, i), &wanted, graph->report);
done:
    if (status != BG_OK)
        bg__warn("--attach: the attributes of copied nodes of %s are not checked: %s", bg__graph_name(graph->graph),
                 bg_last_error());
    free(list);
}

const bg__subscriber bg__check_node_copies = {
    .name = "node copies",
    .node_types = 1U << cudaGraphNodeTypeKernel,
    .when = BG__CHECK_EXECS,
    .on = {[BG__NODE_READ] = record_read, [BG__NODE_ADDED] = record_added, [BG__EXEC_MADE] = check_copies},
};
