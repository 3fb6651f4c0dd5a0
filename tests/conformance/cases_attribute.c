/* Conformance: attributes of kernel nodes. */
#include "case_graph.h"

/* Two kernel nodes, and a value of nothing but 0. */
#define ATTRIBUTE_LOCALS                                                                                               \
    cudaKernelNodeAttrValue value = {0};                                                                               \
    cudaGraphNode_t node = NULL;                                                                                       \
    cudaGraphNode_t second = NULL;                                                                                     \
    GRAPH();                                                                                                           \
    ADDER(node, 1);                                                                                                    \
    ADDER_AFTER(second, 2, node)
#define GET(node, id)       ASK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttribute##id, &value))
#define SET_VALUE(node, id) ASK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttribute##id, &value))
#define PRIORITY_OF(node)                                                                                              \
    do {                                                                                                               \
        LET(value.priority = 77);                                                                                      \
        GET(node, Priority);                                                                                           \
        VALUE("value.priority", value.priority);                                                                       \
    } while (0)
#define COOPERATIVE_OF(node)                                                                                           \
    do {                                                                                                               \
        LET(value.cooperative = 77);                                                                                   \
        GET(node, Cooperative);                                                                                        \
        VALUE("value.cooperative", value.cooperative);                                                                 \
    } while (0)
#define WINDOW()                                                                                                       \
    do {                                                                                                               \
        VALUE("num_bytes", value.accessPolicyWindow.num_bytes);                                                        \
        VALUE("hitRatio, in percent", 100 * value.accessPolicyWindow.hitRatio);                                        \
        VALUE("hitProp", value.accessPolicyWindow.hitProp);                                                            \
        VALUE("missProp", value.accessPolicyWindow.missProp);                                                          \
    } while (0)

CASE(attribute_priority, {
    ATTRIBUTE_LOCALS;
    PRIORITY_OF(node);
    LET(value.priority = -1);
    SET_VALUE(node, Priority);
    PRIORITY_OF(node);
    PRIORITY_OF(second);
});

CASE(attribute_priority_beyond, {
    ATTRIBUTE_LOCALS;
    LET(value.priority = -1000);
    SET_VALUE(node, Priority);
    PRIORITY_OF(node);
    LET(value.priority = 1000);
    SET_VALUE(node, Priority);
    PRIORITY_OF(node);
});

CASE(attribute_priority_captured, {
    cudaKernelNodeAttrValue value = {0};
    cudaGraphNode_t node = NULL;
    size_t count = 1;
    STEP(cudaStreamCreateWithPriority(&s->stream, cudaStreamNonBlocking, -2));
    BEGIN(s->stream, ThreadLocal);
    LAUNCH(s->stream);
    END(s->stream);
    STEP(cudaGraphGetNodes(s->graph, &node, &count));
    PRIORITY_OF(node);
});

CASE(attribute_cooperative, {
    ATTRIBUTE_LOCALS;
    COOPERATIVE_OF(node);
    LET(value.cooperative = 1);
    SET_VALUE(node, Cooperative);
    COOPERATIVE_OF(node);
    VALUE("x after a launch of the graph", case_run_graph(s));
});

CASE(attribute_window, {
    ATTRIBUTE_LOCALS;
    GET(node, AccessPolicyWindow);
    ANSWERED("base_ptr NULL", value.accessPolicyWindow.base_ptr == NULL);
    WINDOW();
    LET(value.accessPolicyWindow.base_ptr = s->x);
    LET(value.accessPolicyWindow.num_bytes = 4);
    LET(value.accessPolicyWindow.hitRatio = 0.5f);
    LET(value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting);
    LET(value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming);
    SET_VALUE(node, AccessPolicyWindow);
    LET(value = (cudaKernelNodeAttrValue){0});
    GET(node, AccessPolicyWindow);
    ANSWERED("base_ptr x", value.accessPolicyWindow.base_ptr == s->x);
    WINDOW();
});

CASE(attribute_window_refused, {
    ATTRIBUTE_LOCALS;
    LET(value.accessPolicyWindow.base_ptr = s->x);
    LET(value.accessPolicyWindow.num_bytes = 4);
    LET(value.accessPolicyWindow.hitRatio = 1.5f);
    SET_VALUE(node, AccessPolicyWindow);
    LET(value.accessPolicyWindow.hitRatio = 1);
    LET(value.accessPolicyWindow.num_bytes = (size_t)1 << 40);
    SET_VALUE(node, AccessPolicyWindow);
    LET(value.accessPolicyWindow.num_bytes = 4);
    LET(value.accessPolicyWindow.missProp = cudaAccessPropertyPersisting);
    SET_VALUE(node, AccessPolicyWindow);
    GET(node, AccessPolicyWindow);
    WINDOW();
});

CASE(attribute_cluster, {
    ATTRIBUTE_LOCALS;
    GET(node, ClusterDimension);
    VALUE("clusterDim.x", value.clusterDim.x);
    LET(value.clusterDim.x = 1);
    LET(value.clusterDim.y = 1);
    LET(value.clusterDim.z = 1);
    SET_VALUE(node, ClusterDimension);
    GET(node, ClusterDimension);
    VALUE("clusterDim.x", value.clusterDim.x);
});

CASE(attribute_cluster_too_large, {
    ATTRIBUTE_LOCALS;
    LET(value.clusterDim.x = 3);
    LET(value.clusterDim.y = 1);
    LET(value.clusterDim.z = 1);
    SET_VALUE(node, ClusterDimension);
    GET(node, ClusterDimension);
    VALUE("clusterDim.x", value.clusterDim.x);
});

CASE(attribute_of_streams, {
    ATTRIBUTE_LOCALS;
    GET(node, SynchronizationPolicy);
    SET_VALUE(node, SynchronizationPolicy);
});

CASE(attribute_memory_domain, {
    ATTRIBUTE_LOCALS;
    GET(node, MemSyncDomain);
    VALUE("value.memSyncDomain", value.memSyncDomain);
    LET(value.memSyncDomain = cudaLaunchMemSyncDomainRemote);
    SET_VALUE(node, MemSyncDomain);
    LET(value.memSyncDomain = cudaLaunchMemSyncDomainDefault);
    GET(node, MemSyncDomain);
    VALUE("value.memSyncDomain", value.memSyncDomain);
});

CASE(attribute_unknown, {
    ATTRIBUTE_LOCALS;
    ASK(cudaGraphKernelNodeGetAttribute(node, (cudaKernelNodeAttrID)999, &value));
    ASK(cudaGraphKernelNodeSetAttribute(node, (cudaKernelNodeAttrID)999, &value));
    GET(node, Ignore);
    SET_VALUE(node, Ignore);
});

CASE(attribute_of_empty_node, {
    cudaGraphNode_t empty = NULL;
    ATTRIBUTE_LOCALS;
    STEP(cudaGraphAddEmptyNode(&empty, s->graph, NULL, 0));
    GET(empty, Priority);
    SET_VALUE(empty, Priority);
    ASK(cudaGraphKernelNodeCopyAttributes(empty, node));
    ASK(cudaGraphKernelNodeCopyAttributes(node, empty));
});

CASE(attribute_copied, {
    ATTRIBUTE_LOCALS;
    LET(value.priority = -1);
    SET_VALUE(node, Priority);
    LET(value.cooperative = 1);
    SET_VALUE(node, Cooperative);
    ASK(cudaGraphKernelNodeCopyAttributes(second, node));
    PRIORITY_OF(second);
    COOPERATIVE_OF(second);
    ASK(cudaGraphKernelNodeCopyAttributes(node, node));
    PRIORITY_OF(node);
});

CASE(attribute_in_clone, {
    cudaGraphNode_t cloned = NULL;
    ATTRIBUTE_LOCALS;
    LET(value.priority = -1);
    SET_VALUE(node, Priority);
    STEP(cudaGraphClone(&s->other, s->graph));
    STEP(cudaGraphNodeFindInClone(&cloned, node, s->other));
    PRIORITY_OF(cloned);
});

CASE(attribute_kept_by_set_params, {
    struct case_arguments arguments;
    struct cudaKernelNodeParams params;
    ATTRIBUTE_LOCALS;
    LET(value.priority = -1);
    SET_VALUE(node, Priority);
    ADD_PARAMS(9);
    ASK(cudaGraphKernelNodeSetParams(node, &params));
    PRIORITY_OF(node);
});

CASE(attribute_update_priority, {
    ATTRIBUTE_LOCALS;
    INSTANTIATE();
    LET(value.priority = -1);
    SET_VALUE(node, Priority);
    EXEC_UPDATE(graph);
    RUN_EXEC_X();
});

CASE(attribute_update_cooperative, {
    ATTRIBUTE_LOCALS;
    INSTANTIATE();
    LET(value.cooperative = 1);
    SET_VALUE(node, Cooperative);
    EXEC_UPDATE(graph);
    RUN_EXEC_X();
});

CASE(attribute_update_window, {
    ATTRIBUTE_LOCALS;
    INSTANTIATE();
    LET(value.accessPolicyWindow.base_ptr = s->x);
    LET(value.accessPolicyWindow.num_bytes = 4);
    LET(value.accessPolicyWindow.hitRatio = 1);
    LET(value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting);
    SET_VALUE(node, AccessPolicyWindow);
    EXEC_UPDATE(graph);
    RUN_EXEC_X();
});

static const struct case_rule rules[] = {
    {&attribute_priority, "A node's priority is 0 until it is set."},
    {&attribute_priority_beyond, "A priority beyond the device's range becomes the nearest in it."},
    {&attribute_priority_captured, "A captured launch has its stream's priority."},
    {&attribute_cooperative, "A node may be made cooperative."},
    {&attribute_window, "The window of an access policy is given back as it was set."},
    {&attribute_window_refused, "Windows with a hit ratio above 1, too many bytes, and misses that persist:"},
    {&attribute_cluster, "The dimensions of clusters are 0 until they are set."},
    {&attribute_cluster_too_large, "A cluster larger than the grid is refused."},
    {&attribute_of_streams, "An attribute that only streams have:"},
    {&attribute_memory_domain, "The domain of memory synchronisation is the default one until it is set."},
    {&attribute_unknown, "An attribute that does not exist, and the one that means none:"},
    {&attribute_of_empty_node, "Other nodes have none of these attributes."},
    {&attribute_copied, "All attributes can be copied from one node to another."},
    {&attribute_in_clone, "A clone's nodes have the attributes of those they were cloned from."},
    {&attribute_kept_by_set_params, "Other parameters leave the attributes alone."},
    {&attribute_update_priority, "An executable graph updated from a graph with another priority:"},
    {&attribute_update_cooperative, "One where a node became cooperative is refused."},
    {&attribute_update_window, "One where a node got a window:"},
};

const struct case_topic topic_attribute =
    CASE_TOPIC("Attributes of kernel nodes", "What launches have as attributes, kernel nodes keep.", rules);
