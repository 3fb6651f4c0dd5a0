/* User objects: reference-counted resources of the program that graphs keep alive. */
#ifndef HOSTCUDA_USER_OBJECT_H
#define HOSTCUDA_USER_OBJECT_H

#include "hostcuda/src/core/core_state.h"

struct CUuserObject_st {
    uint64_t references; /* references of the program and of graphs */
    uint64_t callers;    /* references of the program */
    cudaHostFn_t destroy;
    void *user;
    struct CUuserObject_st *next_unreferenced;
};

/* The user objects that a graph or an executable graph has references to. */
struct hc_objects {
    struct hc_object_count {
        cudaUserObject_t object;
        uint64_t count;
    } * items;
    size_t count, capacity;
};

/* The object is destroyed after the lock is released, not in this call. */
void hc_object_release(cudaUserObject_t object, uint64_t count);

/* Finds the entry of `object`. Returns NULL if `objects` has no reference to it. */
struct hc_object_count *hc_objects_find(struct hc_objects *objects, cudaUserObject_t object);
/* Adds references. The caller updates the object's own count. */
cudaError_t hc_objects_add(struct hc_objects *objects, cudaUserObject_t object, uint64_t count);
void hc_objects_release(struct hc_objects *objects);
cudaError_t hc_objects_copy(const struct hc_objects *from, struct hc_objects *to);

/* Removes and returns the objects that nobody references any more; NULL: there are none. Their destroy functions run
 * without the lock, at the end of the call that released them (hc_call_end). */
cudaUserObject_t hc_objects_pop_unreferenced(void);
void hc_objects_destroy_unreferenced(cudaUserObject_t due);

#endif
