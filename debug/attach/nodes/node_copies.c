#include "node_copies.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(added) ((added)->lost = true)
#include <uthash.h>

#include "debug/graph/nodes.h"
#include "debug/memory/allocate.h"
#include "debug/report/report.h"

enum { READS_KEPT = 256 }; /* number of parameter reads that are kept */

/* Launch attributes that are not node parameters, and without which a kernel computes something else. */
typedef struct attributes {
    dim3 cluster;
    bool cooperative;
} attributes;

typedef struct copy {
    cudaGraphNode_t node;
    attributes wanted;
    bool lost;
    UT_hash_handle hh;
} copy;

static struct {
    pthread_mutex_t lock;
    struct {
        void **parameters; /* CUDA's own pointer, which identifies the node */
        attributes of;
    } read[READS_KEPT];
    uint64_t count;
    copy *copies; /* nodes whose originals have attributes */
    atomic_bool used;
} nodes = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns false if CUDA reports an error. */
static bool read_attributes(cudaGraphNode_t node, attributes *of)
{
    cudaLaunchAttributeValue cluster = {0}, together = {0};
    cudaError_t error = cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeClusterDimension, &cluster);

    if (error == cudaSuccess)
        error = cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeCooperative, &together);
    bg__clear_cuda_error(error);
    of->cluster = (dim3){cluster.clusterDim.x, cluster.clusterDim.y, cluster.clusterDim.z};
    of->cooperative = together.cooperative != 0;
    return error == cudaSuccess;
}

static bool has_attributes(const attributes *a)
{
    return a->cluster.x > 1 || a->cluster.y > 1 || a->cluster.z > 1 || a->cooperative;
}

void bg__node_copies_record_read(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    attributes of;

    if (params->kernelParams == NULL || !read_attributes(node, &of))
        return;
    pthread_mutex_lock(&nodes.lock);
    nodes.read[nodes.count % READS_KEPT].parameters = params->kernelParams;
    nodes.read[nodes.count++ % READS_KEPT].of = of;
    pthread_mutex_unlock(&nodes.lock);
    atomic_store(&nodes.used, true);
}

/* Searches from the last read back: CUDA may reuse the pointer for another node when the first one is destroyed. */
static const attributes *find_original(void **parameters)
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

void bg__node_copies_record_added(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    const attributes *original;
    copy *added;

    if (!atomic_load(&nodes.used) || params->kernelParams == NULL)
        return;
    pthread_mutex_lock(&nodes.lock);
    forget_copy(node); /* a destroyed node may have had the handle */
    original = find_original(params->kernelParams);
    added = original != NULL && has_attributes(original) ? calloc(1, sizeof *added) : NULL;
    if (added != NULL) { /* without host memory the node is not checked */
        added->node = node;
        added->wanted = *original;
        HASH_ADD_PTR(nodes.copies, node, added);
        if (added->lost)
            free(added);
    }
    pthread_mutex_unlock(&nodes.lock);
}

/* ---- the check --------------------------------------------------------------------------------------------------- */

static void report_lost_attribute(const bg__node *node, const attributes *wanted, bg_report *report)
{
    char cluster[60] = "cooperative launch (its blocks run together)";

    if (!wanted->cooperative)
        snprintf(cluster, sizeof cluster, "a cluster of %u x %u x %u blocks", wanted->cluster.x, wanted->cluster.y,
                 wanted->cluster.z);
    bg__report_add(report, "attribute-lost", BG_WARNING, node != NULL ? node->call : NULL, NULL,
                   "copy the attributes, too (cudaGraphKernelNodeCopyAttributes)",
                   "%s was added with the parameters of another node, but lacks an attribute of that node: %s",
                   node != NULL && node->call != NULL ? node->call->name : "a kernel node", cluster);
}

static bool are_equal(const attributes *is, const attributes *wanted)
{
    return is->cluster.x == wanted->cluster.x && is->cluster.y == wanted->cluster.y &&
           is->cluster.z == wanted->cluster.z && is->cooperative == wanted->cooperative;
}

/* Finds by place, since the node of the clone has another handle than the program's node, but the same place. */
static const bg__node *find_node_at(const bg__nodes *all, size_t place)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->node[i].parent < 0 && all->node[i].place == place)
            return &all->node[i];
    return NULL;
}

static bool is_attribute_lost(cudaGraphNode_t node, attributes *wanted)
{
    attributes is;
    copy *c;

    pthread_mutex_lock(&nodes.lock);
    HASH_FIND_PTR(nodes.copies, &node, c);
    if (c != NULL)
        *wanted = c->wanted;
    pthread_mutex_unlock(&nodes.lock);
    return c != NULL && read_attributes(node, &is) && !are_equal(&is, wanted);
}

void bg__node_copies_check(const bg_graph *graph, cudaGraph_t source, bg_report *report)
{
    cudaGraphNode_t *list = NULL;
    bg__nodes all = {.node = NULL};
    attributes wanted;
    size_t count = 0;
    bg_status status = BG_OK;

    if (!atomic_load(&nodes.used))
        return;
    BG__TRY_CUDA(cudaGraphGetNodes(source, NULL, &count));
    BG__TRY(BG__ALLOCATE(list, count, "nodes"));
    if (count > 0)
        BG__TRY_CUDA(cudaGraphGetNodes(source, list, &count));
    for (size_t i = 0; i < count; i++) {
        if (!is_attribute_lost(list[i], &wanted))
            continue;
        if (all.node == NULL)
            BG__TRY(bg__nodes_read(graph, &all));
        report_lost_attribute(find_node_at(&all, i), &wanted, report);
    }
done:
    if (status != BG_OK)
        bg__warn("--attach: the attributes of copied nodes of %s are not checked: %s", bg__graph_name(graph),
                 bg_last_error());
    bg__nodes_free(&all);
    free(list);
}
