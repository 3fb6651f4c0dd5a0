/* Conformance: allocation and free nodes. */
#include "case_graph.h"

/* alloc: 64 bytes of device 0. */
#define ALLOC_LOCALS                                                                                                   \
    cudaGraphNode_t node = NULL;                                                                                       \
    cudaGraphNode_t freeing = NULL;                                                                                    \
    struct cudaMemAllocNodeParams alloc = {0};                                                                         \
    struct cudaMemAccessDesc access[2] = {{.flags = cudaMemAccessFlagsProtNone}};                                      \
    GRAPH();                                                                                                           \
    (void)node, (void)freeing, (void)access;                                                                           \
    STEP_AS("/* alloc: 64 bytes, pinned, on device 0 */", plain_alloc(&alloc))
#define ADD_ALLOC()                                                                                                    \
    do {                                                                                                               \
        ASK(cudaGraphAddMemAllocNode(&node, s->graph, NULL, 0, &alloc));                                               \
        ANSWERED("alloc.dptr", alloc.dptr != NULL);                                                                    \
    } while (0)
/* In newer headers the number is in a union. */
#pragma GCC diagnostic ignored "-Wmissing-braces"
#define ACCESS(i, place, number, kind)                                                                                 \
    LET(access[i] = (struct cudaMemAccessDesc){{cudaMemLocationType##place, number}, cudaMemAccessFlagsProt##kind})
#define ADD_FREE(pointer) ASK(cudaGraphAddMemFreeNode(&freeing, s->graph, &node, 1, pointer))
#define COUNT_NODES()                                                                                                  \
    do {                                                                                                               \
        size_t count = 0;                                                                                              \
        ASK(cudaGraphGetNodes(s->graph, NULL, &count));                                                                \
        VALUE("count", count);                                                                                         \
    } while (0)

static cudaError_t plain_alloc(struct cudaMemAllocNodeParams *alloc)
{
    alloc->poolProps.allocType = cudaMemAllocationTypePinned;
    alloc->poolProps.location.type = cudaMemLocationTypeDevice;
    alloc->bytesize = 64;
    return cudaSuccess;
}

CASE(alloc_plain, {
    ALLOC_LOCALS;
    ADD_ALLOC();
    ADD_FREE(alloc.dptr);
    COUNT_NODES();
    INSTANTIATE();
    RUN_EXEC();
    RUN_EXEC();
});

CASE(alloc_access, {
    ALLOC_LOCALS;
    ACCESS(0, Device, 0, ReadWrite);
    LET(alloc.accessDescs = access);
    LET(alloc.accessDescCount = 1);
    ADD_ALLOC();
});

CASE(alloc_access_twice, {
    ALLOC_LOCALS;
    ACCESS(0, Device, 0, ReadWrite);
    ACCESS(1, Device, 0, ReadWrite);
    LET(alloc.accessDescs = access);
    LET(alloc.accessDescCount = 2);
    ADD_ALLOC();
});

CASE(alloc_access_uncounted, {
    ALLOC_LOCALS;
    LET(alloc.accessDescs = access);
    ADD_ALLOC();
});

CASE(alloc_access_other_device, {
    ALLOC_LOCALS;
    ACCESS(0, Device, 99, ReadWrite);
    LET(alloc.accessDescs = access);
    LET(alloc.accessDescCount = 1);
    ADD_ALLOC();
    ACCESS(0, Device, -1, ReadWrite);
    ADD_ALLOC();
});

CASE(alloc_access_of_host, {
    ALLOC_LOCALS;
    ACCESS(0, Host, 0, ReadWrite);
    LET(alloc.accessDescs = access);
    LET(alloc.accessDescCount = 1);
    ADD_ALLOC();
    ACCESS(0, Invalid, 0, ReadWrite);
    ADD_ALLOC();
});

CASE(alloc_access_flags, {
    ALLOC_LOCALS;
    LET(alloc.accessDescs = access);
    LET(alloc.accessDescCount = 1);
    ACCESS(0, Device, 0, None);
    ADD_ALLOC();
    ACCESS(0, Device, 0, Read);
    ADD_ALLOC();
    LET(access[0].flags = (enum cudaMemAccessFlags)9);
    ADD_ALLOC();
});

CASE(alloc_nothing, {
    ALLOC_LOCALS;
    LET(alloc.bytesize = 0);
    ADD_ALLOC();
    ANSWERED("a node", node != NULL);
    COUNT_NODES();
});

CASE(alloc_too_much, {
    ALLOC_LOCALS;
    LET(alloc.bytesize = (size_t)1 << 50);
    ADD_ALLOC();
    COUNT_NODES();
});

CASE(alloc_other_types, {
    ALLOC_LOCALS;
    LET(alloc.poolProps.allocType = cudaMemAllocationTypeInvalid);
    ADD_ALLOC();
    LET(alloc.poolProps.allocType = (enum cudaMemAllocationType)9);
    ADD_ALLOC();
});

CASE(alloc_other_places, {
    ALLOC_LOCALS;
    LET(alloc.poolProps.location.type = cudaMemLocationTypeInvalid);
    ADD_ALLOC();
    LET(alloc.poolProps.location.type = cudaMemLocationTypeHost);
    ADD_ALLOC();
    LET(alloc.poolProps.location.type = cudaMemLocationTypeDevice);
    LET(alloc.poolProps.location.id = 99);
    ADD_ALLOC();
    LET(alloc.poolProps.location.id = -1);
    ADD_ALLOC();
});

CASE(alloc_handles, {
    ALLOC_LOCALS;
    LET(alloc.poolProps.handleTypes = cudaMemHandleTypePosixFileDescriptor);
    ADD_ALLOC();
});

CASE(alloc_maximum, {
    ALLOC_LOCALS;
    LET(alloc.poolProps.maxSize = 32);
    ADD_ALLOC();
});

CASE(alloc_missing_arguments, {
    ALLOC_LOCALS;
    ASK(cudaGraphAddMemAllocNode(NULL, s->graph, NULL, 0, &alloc));
    ASK(cudaGraphAddMemAllocNode(&node, NULL, NULL, 0, &alloc));
    ASK(cudaGraphAddMemAllocNode(&node, s->graph, NULL, 0, NULL));
    ASK(cudaGraphAddMemAllocNode(&node, s->graph, NULL, 1, &alloc));
    COUNT_NODES();
});

CASE(alloc_params_read, {
    struct cudaMemAllocNodeParams back = {0};
    ALLOC_LOCALS;
    ACCESS(0, Device, 0, ReadWrite);
    LET(alloc.accessDescs = access);
    LET(alloc.accessDescCount = 1);
    ADD_ALLOC();
    ASK(cudaGraphMemAllocNodeGetParams(node, &back));
    VALUE("back.bytesize", back.bytesize);
    VALUE("back.accessDescCount", back.accessDescCount);
    ANSWERED("back.dptr is alloc.dptr", back.dptr == alloc.dptr);
    VALUE("back.poolProps.allocType", back.poolProps.allocType);
    VALUE("back.poolProps.location.type", back.poolProps.location.type);
    VALUE("back.poolProps.location.id", back.poolProps.location.id);
    STEP(cudaGraphAddEmptyNode(&freeing, s->graph, NULL, 0));
    ASK(cudaGraphMemAllocNodeGetParams(freeing, &back));
});

CASE(alloc_addresses_differ, {
    void *first = NULL;
    ALLOC_LOCALS;
    ADD_ALLOC();
    LET(first = alloc.dptr);
    ADD_ALLOC();
    ANSWERED("another address", first != alloc.dptr);
});

CASE(alloc_without_free, {
    ALLOC_LOCALS;
    ADD_ALLOC();
    ASK_INSTANTIATE();
    RUN_EXEC();
    ASK(cudaGraphLaunch(s->exec, s->b));
    ASK(cudaFree(alloc.dptr));
    ASK(cudaGraphLaunch(s->exec, s->b));
    ASK(cudaFreeAsync(alloc.dptr, s->b));
    ASK(cudaStreamSynchronize(s->b));
});

CASE(alloc_freed_before_launch, {
    ALLOC_LOCALS;
    ADD_ALLOC();
    INSTANTIATE();
    ASK(cudaFreeAsync(alloc.dptr, s->b));
    ASK(cudaStreamSynchronize(s->b));
});

CASE(alloc_free_order, {
    ALLOC_LOCALS;
    ADD_ALLOC();
    ASK(cudaGraphAddMemFreeNode(&freeing, s->graph, NULL, 0, alloc.dptr));
    ASK_INSTANTIATE();
});

CASE(free_foreign_pointers, {
    static char host[64];
    ALLOC_LOCALS;
    MEMORY();
    ASK(cudaGraphAddMemFreeNode(&freeing, s->graph, NULL, 0, s->memory));
    ASK(cudaGraphAddMemFreeNode(&freeing, s->graph, NULL, 0, s->y));
    ASK(cudaGraphAddMemFreeNode(&freeing, s->graph, NULL, 0, host));
    ASK(cudaGraphAddMemFreeNode(&freeing, s->graph, NULL, 0, NULL));
    COUNT_NODES();
});

CASE(free_inside, {
    ALLOC_LOCALS;
    ADD_ALLOC();
    ADD_FREE((char *)alloc.dptr + 16);
});

CASE(free_twice, {
    void *pointer = NULL;
    ALLOC_LOCALS;
    ADD_ALLOC();
    ADD_FREE(alloc.dptr);
    ASK(cudaGraphMemFreeNodeGetParams(freeing, &pointer));
    ANSWERED("its pointer", pointer == alloc.dptr);
    ADD_FREE(alloc.dptr);
    COUNT_NODES();
});

CASE(free_in_other_graph, {
    ALLOC_LOCALS;
    ADD_ALLOC();
    STEP(cudaGraphCreate(&s->other, 0));
    ASK(cudaGraphAddMemFreeNode(&freeing, s->other, NULL, 0, alloc.dptr));
    ASK(cudaGraphAddMemFreeNode(&freeing, s->other, NULL, 0, alloc.dptr));
    ADD_FREE(alloc.dptr);
});

CASE(alloc_graph_edited, {
    cudaGraphNode_t later = NULL;
    ALLOC_LOCALS;
    ADD_ALLOC();
    ADDER_AFTER(later, 1, node);
    ASK(cudaGraphRemoveDependencies(s->graph, &node, &later, NULL, 1));
    ASK(cudaGraphDestroyNode(later));
    ASK(cudaGraphDestroyNode(node));
    COUNT_NODES();
});

CASE(alloc_graph_as_child, {
    ALLOC_LOCALS;
    ADD_ALLOC();
    STEP(cudaGraphCreate(&s->other, 0));
    ASK(cudaGraphAddChildGraphNode(&freeing, s->other, NULL, 0, s->graph));
});

CASE(alloc_node_disabled, {
    unsigned enabled = 7;
    ALLOC_LOCALS;
    ADD_ALLOC();
    ADD_FREE(alloc.dptr);
    INSTANTIATE();
    ASK(cudaGraphNodeSetEnabled(s->exec, node, 0));
    ASK(cudaGraphNodeGetEnabled(s->exec, node, &enabled));
    VALUE("enabled", enabled);
});

#define MEMORY_OF_GRAPHS(attribute)                                                                                    \
    do {                                                                                                               \
        unsigned long long bytes = 77;                                                                                 \
        ASK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttr##attribute, &bytes));                                   \
        ANSWERED("bytes > 0", bytes > 0);                                                                              \
    } while (0)

CASE(alloc_memory_of_device, {
    ALLOC_LOCALS;
    ADD_ALLOC();
    INSTANTIATE();
    ASK(cudaDeviceGraphMemTrim(0));
    MEMORY_OF_GRAPHS(UsedMemCurrent);
    MEMORY_OF_GRAPHS(ReservedMemCurrent);
    RUN_EXEC();
    MEMORY_OF_GRAPHS(UsedMemCurrent);
    MEMORY_OF_GRAPHS(UsedMemHigh);
    MEMORY_OF_GRAPHS(ReservedMemCurrent);
    ASK(cudaDeviceGraphMemTrim(0));
    MEMORY_OF_GRAPHS(ReservedMemCurrent);
    ASK(cudaFree(alloc.dptr));
    MEMORY_OF_GRAPHS(UsedMemCurrent);
    MEMORY_OF_GRAPHS(ReservedMemCurrent);
    ASK(cudaDeviceGraphMemTrim(0));
    MEMORY_OF_GRAPHS(ReservedMemCurrent);
});

static const struct case_rule rules[] = {
    {&alloc_plain, "A graph that frees what it allocates can be launched again."},
    {&alloc_access, "Access may be given to the allocation's own device."},
    {&alloc_access_twice, "More descriptors than there are devices are refused."},
    {&alloc_access_uncounted,
     "Descriptors that are not counted are not looked at; where they are counted, but NULL, the call crashes."},
    {&alloc_access_other_device, "So is access for a device that does not exist."},
    {&alloc_access_of_host, "Access for the host is allowed; access for no place is refused."},
    {&alloc_access_flags, "No access, access to read alone, and flags that do not exist, are refused."},
    {&alloc_nothing, "An allocation of nothing:"},
    {&alloc_too_much, "An allocation larger than the device:"},
    {&alloc_other_types, "Types of allocations that do not exist:"},
    {&alloc_other_places, "Other places than a device that exists are refused."},
    {&alloc_handles, "So is memory that is shared by handle."},
    {&alloc_maximum, "A largest size of the pool below that of the allocation:"},
    {&alloc_missing_arguments, "Arguments that are NULL:"},
    {&alloc_params_read, "A node gives its parameters back."},
    {&alloc_addresses_differ, "Two allocations of one graph have addresses of their own."},
    {&alloc_without_free,
     "A graph may leave its allocation to the program, which frees it before the graph is launched again."},
    {&alloc_freed_before_launch, "Before a launch there is nothing to free."},
    {&alloc_free_order, "A free node that does not come after the allocation:"},
    {&free_foreign_pointers, "Free nodes of memory that no allocation node made:"},
    {&free_inside, "Of an address inside of one:"},
    {&free_twice, "Twice of the same:"},
    {&free_in_other_graph, "Another graph may free it; then its own may not."},
    {&alloc_graph_edited, "A graph with allocations keeps its nodes and edges."},
    {&alloc_graph_as_child, "As a child:"},
    {&alloc_memory_of_device, "What a device holds for graphs: nothing used before the launch and after the free."},
    {&alloc_node_disabled, "Allocations cannot be disabled."},
};

const struct case_topic topic_alloc_node =
    CASE_TOPIC("Allocation and free nodes", "Memory of a graph has its address as soon as its node is added.", rules);
