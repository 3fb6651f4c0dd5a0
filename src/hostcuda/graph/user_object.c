#include "hostcuda/graph/user_object.h"

#include "hostcuda/core/grow.h"

#include <stdlib.h>

static cudaUserObject_t due;

void hc_object_release(cudaUserObject_t object, uint64_t count)
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

cudaError_t hc_objects_hold(struct hc_objects *objects, cudaUserObject_t object, uint64_t count)
{
    struct hc_object_count *held = hc_objects_find(objects, object);
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
        cudaError_t error = hc_objects_hold(to, from->items[i].object, from->items[i].count);
        if (error)
            return error;
        from->items[i].object->references += from->items[i].count;
    }
    return cudaSuccess;
}
