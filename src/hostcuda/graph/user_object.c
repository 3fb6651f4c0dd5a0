#include "hostcuda/graph/user_object.h"

#include "hostcuda/core/grow.h"
#include "hostcuda/graph/graph.h"

#include <limits.h>
#include <stdlib.h>

static cudaUserObject_t due;

/* With the lock; the object's end waits until the lock is released. */
static void release(cudaUserObject_t object, uint64_t count)
{
    object->references -= count;
    if (object->references)
        return;
    hc_handle_remove(object);
    object->next_due = due;
    due = object;
}

cudaUserObject_t hc_objects_take_due(void)
{
    cudaUserObject_t taken = due;
    due = NULL;
    return taken;
}

void hc_objects_run_due(cudaUserObject_t taken)
{
    struct hc_thread *thread = hc_thread();
    bool inside = thread->in_host_function;
    while (taken) {
        cudaUserObject_t object = taken;
        taken = object->next_due;
        thread->in_host_function = true; /* calls of the API are not permitted there */
        object->destroy(object->user);
        thread->in_host_function = inside;
        free(object);
    }
}

void hc_objects_release(struct hc_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        release(objects->items[i].object, objects->items[i].count);
    free(objects->items);
    *objects = (struct hc_objects){0};
}

/* NULL: it holds none of it. */
static struct hc_object_count *find(struct hc_objects *objects, cudaUserObject_t object)
{
    for (size_t i = 0; i < objects->count; i++)
        if (objects->items[i].object == object)
            return &objects->items[i];
    return NULL;
}

static cudaError_t hold(struct hc_objects *objects, cudaUserObject_t object, uint64_t count)
{
    struct hc_object_count *held = find(objects, object);
    if (!held) {
        if (!hc_grow(&objects->items, &objects->capacity, objects->count + 1, sizeof *objects->items))
            return cudaErrorMemoryAllocation;
        held = &objects->items[objects->count++];
        *held = (struct hc_object_count){object, 0};
    }
    held->count += count;
    return cudaSuccess;
}

cudaError_t hc_objects_copy(const struct hc_objects *from, struct hc_objects *to)
{
    for (size_t i = 0; i < from->count; i++) {
        cudaError_t error = hold(to, from->items[i].object, from->items[i].count);
        if (error)
            return error;
        from->items[i].object->references += from->items[i].count;
    }
    return cudaSuccess;
}

/* ---- API ----------------------------------------------------------------------------------------------------- */

static cudaError_t create(cudaUserObject_t *object, void *user, cudaHostFn_t destroy, unsigned references,
                          unsigned flags)
{
    if (!object || !destroy || !references || references > INT_MAX || flags != cudaUserObjectNoDestructorSync)
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
    cudaError_t error = hc_begin();
    if (!error)
        error = create(object_out, ptr, destroy, initialRefcount, flags);
    return hc_end(error);
}

static cudaError_t check(cudaUserObject_t object, unsigned count)
{
    return hc_handle_is(HC_USER_OBJECT, object) && count && count <= INT_MAX ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = check(object, count);
    if (!error) {
        object->references += count;
        object->callers += count;
    }
    return hc_end(error);
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
    cudaError_t error = hc_begin_quiet();
    if (!error)
        error = check(object, count);
    if (!error && count > object->callers)
        error = cudaErrorInvalidValue;
    if (!error) {
        object->callers -= count;
        release(object, count);
    }
    return hc_end(error);
}

static cudaError_t retain_in_graph(cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags)
{
    cudaError_t error = check(object, count);
    if (error || !hc_graph_is(graph) || flags & ~(unsigned)cudaGraphUserObjectMove)
        return cudaErrorInvalidValue;
    bool move = flags & cudaGraphUserObjectMove;
    if (move && count > object->callers)
        return cudaErrorInvalidValue;
    error = hold(&graph->objects, object, count);
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
    cudaError_t error = hc_begin();
    if (!error)
        error = retain_in_graph(graph, object, count, flags);
    return hc_end(error);
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count)
{
    cudaError_t error = hc_begin_quiet();
    if (!error)
        error = hc_graph_is(graph) ? check(object, count) : cudaErrorInvalidValue;
    struct hc_object_count *held = error ? NULL : find(&graph->objects, object);
    if (!error && (!held || held->count < count))
        error = cudaErrorInvalidValue;
    if (!error) {
        held->count -= count;
        if (!held->count)
            *held = graph->objects.items[--graph->objects.count];
        release(object, count);
    }
    return hc_end(error);
}
