/* Streams: those that exist, and what is behind a handle. */
#ifndef HOSTCUDA_STREAM_H
#define HOSTCUDA_STREAM_H

#include "hostcuda/core/state.h"
#include "hostcuda/graph/nodes.h"

enum hc_stream_kind { HC_STREAM_CREATED, HC_STREAM_LEGACY, HC_STREAM_PER_THREAD };

struct hc_capture;
struct hc_item;

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
/* The program is done with it, and no capture holds it: it ends once its queued work is done. */
void hc_stream_retire(cudaStream_t stream);
/* Keeps a stream from ending meanwhile. */
void hc_stream_retain(cudaStream_t stream);
void hc_stream_release(cudaStream_t stream);

/* The stream behind a handle, NULL, legacy and per-thread included. */
cudaError_t hc_stream_from(cudaStream_t handle, cudaStream_t *stream);

#endif
