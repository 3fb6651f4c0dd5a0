#include "hostcuda/src/graph/user_object.h"

#include "hostcuda/src/core/core_grow.h"

#include <stdlib.h>

static cudaUserObject_t unreferenced;

void hc_object_release(cudaUserObject_t object, uint64_t count)
{
    object->references -= count;
    if (object->references)
        return;
    hc_handle_remove(object);
    object->next_unreferenced = unreferenced;
    unreferenced = object;
}

cudaUserObject_t hc_objects_pop_unreferenced(void)
{
    cudaUserObject_t taken = unreferenced;
    unreferenced = NULL;
    return taken;
}

void hc_objects_destroy_unreferenced(cudaUserObject_t taken)
{
    struct hc_thread *thread = hc_thread();
    const struct hc_call_state around = thread->inside;
    while (taken) {
        cudaUserObject_t object = taken;
        taken = object->next_unreferenced;
        thread->inside = (struct hc_call_state){.host_function = true}; /* API calls are not permitted there */
        object->destroy(object->user);
        thread->inside = around;
        free(object);
    }
}

void hc_objects_release(struct hc_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        hc_object_release(objects->items[i].object, objects->items[i].count);
    free(objects->items);
    *objects = (struct hc_objects){0};
}

struct hc_object_count *hc_objects_find(struct hc_objects *objects, cudaUserObject_t object)
{
    for (size_t i = 0; i < objects->count; i++)
        if (objects->items[i].object == object)
            return &objects->items[i];
    return NULL;
}

static cudaError_t append_user_object(struct hc_objects *objects, struct hc_object_count held)
{
    if (!hc_array_reserve(&objects->items, &objects->capacity, objects->count + 1, sizeof *objects->items))
        return cudaErrorMemoryAllocation;
    objects->items[objects->count++] = held;
    return cudaSuccess;
}

cudaError_t hc_objects_add(struct hc_objects *objects, cudaUserObject_t object, uint64_t count)
{
    bool in_graphs = object->references > object->callers; /* otherwise no graph refers to it: no search */
    struct hc_object_count *held = in_graphs ? hc_objects_find(objects, object) : NULL;
    if (!held)
        return append_user_object(objects, (struct hc_object_count){object, count});
    held->count += count;
    return cudaSuccess;
}

cudaError_t hc_objects_copy(const struct hc_objects *from, struct hc_objects *to)
{
    bool fresh = !to->count;
    for (size_t i = 0; i < from->count; i++) {
        struct hc_object_count held = from->items[i];
        cudaError_t error = fresh ? append_user_object(to, held) : hc_objects_add(to, held.object, held.count);
        if (error)
            return error;
        held.object->references += held.count;
    }
    return cudaSuccess;
}
