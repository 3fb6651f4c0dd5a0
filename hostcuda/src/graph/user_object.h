/* User objects: counted resources of the program that graphs keep alive. */
#ifndef HOSTCUDA_USER_OBJECT_H
#define HOSTCUDA_USER_OBJECT_H

#include "hostcuda/src/core/core_state.h"

struct CUuserObject_st {
    uint64_t references; /* the program's and the graphs' */
    uint64_t callers;    /* those of the program */
    cudaHostFn_t destroy;
    void *user;
    struct CUuserObject_st *next_due;
};

/* What a graph, or an executable one, holds. */
struct hc_objects {
    struct hc_object_count {
        cudaUserObject_t object;
        uint64_t count;
    } * items;
    size_t count, capacity;
};

/* With the lock; the object's end waits until the lock is released. */
void hc_object_release(cudaUserObject_t object, uint64_t count);

/* NULL: they hold none of it. */
struct hc_object_count *hc_objects_find(struct hc_objects *objects, cudaUserObject_t object);
/* Counts them in; the object's own count is the caller's. */
cudaError_t hc_objects_hold(struct hc_objects *objects, cudaUserObject_t object, uint64_t count);
void hc_objects_release(struct hc_objects *objects);
cudaError_t hc_objects_copy(const struct hc_objects *from, struct hc_objects *to);

/* Objects that nobody holds any more. Their destroy functions run without the lock, once the call that let them go is
 * over: hc_end does that. NULL: none. */
cudaUserObject_t hc_objects_take_due(void);
void hc_objects_run_due(cudaUserObject_t due);

#endif
