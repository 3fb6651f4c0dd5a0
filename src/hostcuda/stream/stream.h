#ifndef HOSTCUDA_STREAM_H
#define HOSTCUDA_STREAM_H

#include "hostcuda/graph/nodes.h"
#include "hostcuda/stream/queue.h"
#include "hostcuda/core/state.h"

enum hc_stream_kind { HC_STREAM_CREATED, HC_STREAM_LEGACY, HC_STREAM_PER_THREAD };

struct hc_capture;

struct CUstream_st {
    struct CUstream_st *next; /* all streams that exist */
    enum hc_stream_kind kind;
    int device, priority;
    unsigned flags;
    unsigned long long id;
    unsigned pins;               /* threads that wait for it */
    bool retired;                /* destroyed by the program: freed when its work is done */
    struct hc_item *head, *tail; /* queued work; the head stays while it runs */
    struct hc_capture *capture;  /* the capture it takes part in */
    struct hc_nodes frontier;    /* what its next node will depend on */
};

extern cudaStream_t hc_streams;

/* NULL: no memory. */
cudaStream_t hc_stream_make(int device, enum hc_stream_kind kind, unsigned flags, int priority);
/* The program is done with it: it ends once its queued work is done. */
void hc_stream_retire(cudaStream_t stream);
/* Keeps a stream from ending meanwhile. */
void hc_stream_retain(cudaStream_t stream);
void hc_stream_release(cudaStream_t stream);

/* The stream behind a handle, NULL, legacy and per-thread included. */
cudaError_t hc_stream_from(cudaStream_t handle, cudaStream_t *stream);
/* The same for a call that issues work: it fails on an invalidated capture, and breaks a blocking one that the legacy
 * stream would have to wait for. */
cudaError_t hc_stream_for_work(cudaStream_t handle, cudaStream_t *stream);
/* Queues or captures an op on a stream of hc_stream_for_work. Takes over the reference, whatever it returns. */
cudaError_t hc_stream_submit(cudaStream_t stream, struct hc_op *op);
/* A launch, queued or captured on a stream of the calling thread's device. */
cudaError_t hc_launch(const struct cudaKernelNodeParams *params, cudaStream_t handle);

#endif
