/* Calls for user objects. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/graph/graph_object.h"

#include <limits.h>
#include <stdlib.h>

static cudaError_t create_user_object(cudaUserObject_t *object, void *user, cudaHostFn_t destroy, unsigned references,
                                      unsigned flags)
{
    if (!object || !destroy || !references || flags != cudaUserObjectNoDestructorSync)
        return cudaErrorInvalidValue;
    struct CUuserObject_st *made = calloc(1, sizeof *made);
    if (!made || !hc_handle_add(HC_USER_OBJECT, made)) {
        free(made);
        return cudaErrorMemoryAllocation;
    }
    made->references = made->callers = references;
    made->destroy = destroy;
    made->user = user;
    *object = made;
    return cudaSuccess;
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr, cudaHostFn_t destroy,
                                 unsigned int initialRefcount, unsigned int flags)
{
    HC_THROUGH_DRIVER(cuUserObjectCreate, object_out, ptr, destroy, initialRefcount, flags);
    HC_CALL(create_user_object(object_out, ptr, destroy, initialRefcount, flags));
}

static cudaError_t check_user_object(cudaUserObject_t object, unsigned count)
{
    return hc_handle_is(HC_USER_OBJECT, object) && count && count <= INT_MAX ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
    HC_THROUGH_DRIVER(cuUserObjectRetain, object, count);
    cudaError_t error = hc_call_begin();
    if (!error)
        error = check_user_object(object, count);
    if (!error) {
        object->references += count;
        object->callers += count;
    }
    return hc_call_end(error);
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
    HC_THROUGH_DRIVER(cuUserObjectRelease, object, count);
    cudaError_t error = hc_call_begin_despite_errors();
    if (!error)
        error = check_user_object(object, count);
    if (!error && count > object->callers)
        error = cudaErrorInvalidValue;
    if (!error) {
        object->callers -= count;
        hc_object_release(object, count);
    }
    return hc_call_end(error);
}

static cudaError_t retain_in_graph(cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags)
{
    cudaError_t error = check_user_object(object, count);
    if (error || !hc_graph_is_handle(graph) || flags & ~(unsigned)cudaGraphUserObjectMove)
        return cudaErrorInvalidValue;
    bool move = flags & cudaGraphUserObjectMove;
    if (move && count > object->callers)
        return cudaErrorInvalidValue;
    error = hc_objects_add(&graph->objects, object, count);
    if (error)
        return error;
    if (move)
        object->callers -= count;
    else
        object->references += count;
    return cudaSuccess;
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count,
                                      unsigned int flags)
{
    HC_THROUGH_DRIVER(cuGraphRetainUserObject, graph, object, count, flags);
    HC_CALL(retain_in_graph(graph, object, count, flags));
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count)
{
    HC_THROUGH_DRIVER(cuGraphReleaseUserObject, graph, object, count);
    cudaError_t error = hc_call_begin_despite_errors();
    if (!error)
        error = hc_graph_is_handle(graph) ? check_user_object(object, count) : cudaErrorInvalidValue;
    struct hc_object_count *held = error ? NULL : hc_objects_find(&graph->objects, object);
    if (!error && (!held || held->count < count))
        error = cudaErrorInvalidValue;
    if (!error) {
        held->count -= count;
        if (!held->count)
            *held = graph->objects.items[--graph->objects.count];
        hc_object_release(object, count);
    }
    return hc_call_end(error);
}
