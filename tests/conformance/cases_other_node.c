/* Conformance: host and event nodes, user objects, and the text of a graph. */
#include "case_graph.h"

static void CUDART_CB count_call(void *user)
{
    ++*(int *)user;
}

static void CUDART_CB count_ten(void *user)
{
    *(int *)user += 10;
}

#define HOST_LOCALS                                                                                                    \
    cudaGraphNode_t node = NULL;                                                                                       \
    struct cudaHostNodeParams params = {count_call, s->y};                                                             \
    GRAPH()
#define CALLS() VALUE("*y", *s->y)

CASE(host_without_function, {
    HOST_LOCALS;
    LET(params.fn = NULL);
    ASK(cudaGraphAddHostNode(&node, s->graph, NULL, 0, &params));
    ASK(cudaGraphAddHostNode(&node, s->graph, NULL, 0, NULL));
    ANSWERED("a node", node != NULL);
});

CASE(host_without_data, {
    HOST_LOCALS;
    LET(params.userData = NULL);
    ASK(cudaGraphAddHostNode(&node, s->graph, NULL, 0, &params));
});

CASE(host_set, {
    struct cudaHostNodeParams back = {0};
    HOST_LOCALS;
    STEP(cudaGraphAddHostNode(&node, s->graph, NULL, 0, &params));
    INSTANTIATE();
    LET(params.fn = count_ten);
    ASK(cudaGraphHostNodeSetParams(node, &params));
    ASK(cudaGraphHostNodeGetParams(node, &back));
    ANSWERED("back.fn is count_ten", back.fn == count_ten);
    RUN_EXEC();
    CALLS();
    ASK(cudaGraphExecHostNodeSetParams(s->exec, node, &params));
    RUN_EXEC();
    CALLS();
});

CASE(host_set_refused, {
    struct cudaHostNodeParams back = {0};
    HOST_LOCALS;
    STEP(cudaGraphAddHostNode(&node, s->graph, NULL, 0, &params));
    INSTANTIATE();
    LET(params.fn = NULL);
    ASK(cudaGraphHostNodeSetParams(node, &params));
    ASK(cudaGraphHostNodeSetParams(node, NULL));
    ASK(cudaGraphHostNodeSetParams(NULL, &params));
    ASK(cudaGraphExecHostNodeSetParams(s->exec, node, &params));
    ASK(cudaGraphExecHostNodeSetParams(s->exec, node, NULL));
    ASK(cudaGraphHostNodeGetParams(node, NULL));
    ASK(cudaGraphHostNodeGetParams(node, &back));
    ANSWERED("back.fn is count_call", back.fn == count_call);
    RUN_EXEC();
    CALLS();
});

CASE(record_without_event, {
    cudaGraphNode_t node = NULL;
    cudaEvent_t back = NULL;
    GRAPH();
    ASK(cudaGraphAddEventRecordNode(&node, s->graph, NULL, 0, NULL));
    ASK(cudaGraphAddEventWaitNode(&node, s->graph, NULL, 0, NULL));
    STEP(cudaGraphAddEventRecordNode(&node, s->graph, NULL, 0, s->e));
    ASK(cudaGraphEventRecordNodeSetEvent(node, NULL));
    ASK(cudaGraphEventRecordNodeGetEvent(node, NULL));
    ASK(cudaGraphEventWaitNodeGetEvent(node, &back));
    ASK(cudaGraphEventWaitNodeSetEvent(node, s->f));
    ASK(cudaGraphEventRecordNodeGetEvent(node, &back));
    ANSWERED("back is e", back == s->e);
});

CASE(record_then_query, {
    cudaGraphNode_t n[2] = {NULL, NULL};
    GRAPH();
    ADDER(n[0], 1);
    ASK(cudaGraphAddEventRecordNode(&n[1], s->graph, &n[0], 1, s->e));
    INSTANTIATE();
    ASK(cudaEventQuery(s->e));
    RUN_EXEC();
    ASK(cudaEventQuery(s->e));
    ASK(cudaEventSynchronize(s->e));
});

CASE(record_set, {
    cudaGraphNode_t node = NULL;
    cudaEvent_t back = NULL;
    GRAPH();
    STEP(cudaGraphAddEventRecordNode(&node, s->graph, NULL, 0, s->e));
    INSTANTIATE();
    ASK(cudaGraphEventRecordNodeSetEvent(node, s->f));
    ASK(cudaGraphEventRecordNodeGetEvent(node, &back));
    ANSWERED("back is f", back == s->f);
    ASK(cudaGraphExecEventRecordNodeSetEvent(s->exec, node, s->f));
    ASK(cudaGraphExecEventRecordNodeSetEvent(s->exec, node, NULL));
    ASK(cudaGraphExecEventRecordNodeSetEvent(s->exec, NULL, s->f));
    ASK(cudaGraphExecEventWaitNodeSetEvent(s->exec, node, s->f));
    RUN_EXEC();
});

CASE(wait_for_unrecorded_event, {
    cudaGraphNode_t n[2] = {NULL, NULL};
    GRAPH();
    ASK(cudaGraphAddEventWaitNode(&n[0], s->graph, NULL, 0, s->f));
    ADDER_AFTER(n[1], 4, n[0]);
    INSTANTIATE();
    RUN_EXEC_X();
});

CASE(record_timed, {
    cudaGraphNode_t n[3] = {NULL, NULL, NULL};
    cudaEvent_t second = NULL;
    float milliseconds = -1;
    STEP(cudaEventCreate(&s->event));
    STEP(cudaEventCreate(&second));
    GRAPH();
    STEP(cudaGraphAddEventRecordNode(&n[0], s->graph, NULL, 0, s->event));
    ADDER_AFTER(n[1], 4, n[0]);
    STEP(cudaGraphAddEventRecordNode(&n[2], s->graph, &n[1], 1, second));
    INSTANTIATE();
    RUN_EXEC();
    ASK(cudaEventElapsedTime(&milliseconds, s->event, second));
    ANSWERED("a time", milliseconds >= 0);
    STEP(cudaEventDestroy(second));
});

/* ---- user objects ------------------------------------------------------------------------------------------------ */

static void CUDART_CB forget(void *user)
{
    (void)user;
}

CASE(object_arguments, {
    cudaUserObject_t object = NULL;
    GRAPH();
    ASK(cudaUserObjectCreate(NULL, s->y, forget, 1, cudaUserObjectNoDestructorSync));
    ASK(cudaUserObjectCreate(&object, s->y, NULL, 1, cudaUserObjectNoDestructorSync));
    ASK(cudaUserObjectCreate(&object, s->y, forget, 0, cudaUserObjectNoDestructorSync));
    ASK(cudaUserObjectCreate(&object, s->y, forget, 1, 0));
    ASK(cudaUserObjectCreate(&object, s->y, forget, 1, 9));
    ASK(cudaUserObjectCreate(&object, NULL, forget, 1, cudaUserObjectNoDestructorSync));
    ANSWERED("an object", object != NULL);
    ASK(cudaUserObjectRetain(NULL, 1));
    ASK(cudaUserObjectRelease(NULL, 1));
    ASK(cudaUserObjectRetain(object, 0));
    ASK(cudaUserObjectRelease(object, 0));
    STEP(cudaUserObjectRelease(object, 1));
});

CASE(object_retained, {
    GRAPH();
    STEP(cudaUserObjectCreate(&s->object, s->y, forget, 2, cudaUserObjectNoDestructorSync));
    ASK(cudaGraphRetainUserObject(NULL, s->object, 1, 0));
    ASK(cudaGraphRetainUserObject(s->graph, NULL, 1, 0));
    ASK(cudaGraphRetainUserObject(s->graph, s->object, 0, 0));
    ASK(cudaGraphRetainUserObject(s->graph, s->object, 1, 9));
    ASK(cudaGraphRetainUserObject(s->graph, s->object, 1, 0));
    ASK(cudaGraphRetainUserObject(s->graph, s->object, 1, cudaGraphUserObjectMove));
    ASK(cudaGraphReleaseUserObject(NULL, s->object, 1));
    ASK(cudaGraphReleaseUserObject(s->graph, NULL, 1));
    ASK(cudaGraphReleaseUserObject(s->graph, s->object, 0));
    ASK(cudaGraphReleaseUserObject(s->graph, s->object, 2));
});

CASE(object_dies_with_graph, {
    GRAPH();
    STEP_AS(CASE_HOLD("graph"), case_hold(s->graph));
    ASK(cudaGraphDestroy(s->graph));
    s->graph = NULL;
    ANSWERED("destroyed", case_held_is_destroyed());
});

CASE(object_lives_with_exec, {
    cudaGraphNode_t node = NULL;
    GRAPH();
    ADDER(node, 1);
    STEP_AS(CASE_HOLD("graph"), case_hold(s->graph));
    INSTANTIATE();
    ASK(cudaGraphDestroy(s->graph));
    s->graph = NULL;
    ANSWERED("destroyed with the graph", case_held_is_destroyed());
    ASK(cudaGraphExecDestroy(s->exec));
    s->exec = NULL;
    ANSWERED("destroyed with exec", case_held_is_destroyed());
});

/* ---- text ----------------------------------------------------------------------------------------------------------
 */

CASE(dot_unwritable, {
    cudaGraphNode_t node = NULL;
    GRAPH();
    ADDER(node, 1);
    ASK(cudaGraphDebugDotPrint(s->graph, "/no-such-folder/graph.dot", 0));
    ASK(cudaGraphDebugDotPrint(s->graph, "", 0));
    ASK(cudaGraphDebugDotPrint(s->graph, NULL, 0));
    ASK(cudaGraphDebugDotPrint(NULL, "/dev/null", 0));
});

CASE(dot_flags, {
    cudaGraphNode_t node = NULL;
    GRAPH();
    ADDER(node, 1);
    ASK(cudaGraphDebugDotPrint(s->graph, "/dev/null", 0));
    ASK(cudaGraphDebugDotPrint(s->graph, "/dev/null", cudaGraphDebugDotFlagsVerbose));
    ASK(cudaGraphDebugDotPrint(s->graph, "/dev/null", 1u << 30));
});

/* ---- graph memory of a device ------------------------------------------------------------------------------------ */

CASE(graph_memory_arguments, {
    unsigned long long bytes = 77;
    ASK(cudaDeviceGetGraphMemAttribute(99, cudaGraphMemAttrUsedMemCurrent, &bytes));
    ASK(cudaDeviceGetGraphMemAttribute(-1, cudaGraphMemAttrUsedMemCurrent, &bytes));
    ASK(cudaDeviceGetGraphMemAttribute(0, (enum cudaGraphMemAttributeType)9, &bytes));
    ASK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &bytes));
    ASK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &bytes));
    LET(bytes = 0);
    ASK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &bytes));
    ASK(cudaDeviceGraphMemTrim(0));
    ASK(cudaDeviceGraphMemTrim(99));
});

static const struct case_rule rules[] = {
    {&host_without_function, "A host node needs a function."},
    {&host_without_data, "Its argument may be NULL."},
    {&host_set, "Function and argument may be set again, of the node and of the executable graph."},
    {&host_set_refused, "What is refused changes nothing."},
    {&record_without_event, "Event nodes need an event, and are of one type:"},
    {&record_then_query, "An event that a node records can be queried."},
    {&record_set, "The event may be another one."},
    {&wait_for_unrecorded_event, "Waiting for an event that was never recorded waits for nothing."},
    {&record_timed, "Events that nodes record measure time."},
    {&object_arguments, "The arguments of user objects:"},
    {&object_retained, "What a graph may hold and let go:"},
    {&object_dies_with_graph, "An object goes with the last graph that holds it."},
    {&object_lives_with_exec, "An executable graph holds the objects of its graph:"},
    {&dot_unwritable, "Files that cannot be written:"},
    {&dot_flags, "Flags that do not exist:"},
    {&graph_memory_arguments, "Attributes of the memory of all graphs of a device:"},
};

const struct case_topic topic_other_node =
    CASE_TOPIC("Host and event nodes, user objects", "What graphs hold beyond work of the device.", rules);
