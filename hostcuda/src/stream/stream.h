/* Streams: those that exist, and what is behind a handle. */
#ifndef HOSTCUDA_STREAM_H
#define HOSTCUDA_STREAM_H

#include "hostcuda/src/core/core_state.h"
#include "hostcuda/src/graph/graph_nodes.h"

enum hc_stream_kind { HC_STREAM_CREATED, HC_STREAM_LEGACY, HC_STREAM_PER_THREAD };

struct hc_capture;
struct hc_item;

struct CUstream_st {
    struct CUstream_st *next, *previous; /* all streams that exist, in order of creation */
    enum hc_stream_kind kind;
    int device, priority;
    unsigned flags;
    unsigned long long id;
    unsigned pins;                                     /* threads that wait for it */
    bool retired;                                      /* destroyed by the program: freed when its work is done */
    struct hc_item *head, *tail;                       /* queued work; the head stays while it runs */
    uint64_t oldest;                                   /* the head's sequence */
    size_t rank;                                       /* where it is among hc_busy_streams */
    struct hc_capture *capture;                        /* the capture it takes part in */
    struct CUstream_st *next_member, *previous_member; /* of that capture's */
    struct hc_nodes frontier;                          /* what its next node will depend on */
};

extern cudaStream_t hc_streams;

/* NULL: no memory. */
cudaStream_t hc_stream_make(int device, enum hc_stream_kind kind, unsigned flags, int priority);
/* The program is done with it, and no capture holds it: it ends once its queued work is done. */
void hc_stream_retire(cudaStream_t stream);
/* Streams with queued work: a heap, whose first one has the oldest head. */
extern cudaStream_t *hc_busy_streams;
extern size_t hc_busy_count;
/* Room for one more among them. False: no memory. */
bool hc_stream_reserve_busy(void);
/* The stream had no work and has got some, the newest of all. There is room. */
void hc_stream_begin_busy(cudaStream_t stream, uint64_t sequence);
/* The head is another one; none. */
void hc_stream_move_busy(cudaStream_t stream, uint64_t sequence);
void hc_stream_end_busy(cudaStream_t stream);

/* Keeps a stream from ending meanwhile. */
void hc_stream_retain(cudaStream_t stream);
void hc_stream_release(cudaStream_t stream);

/* The stream behind a handle, NULL, legacy and per-thread included. */
cudaError_t hc_stream_from(cudaStream_t handle, cudaStream_t *stream);

#endif
