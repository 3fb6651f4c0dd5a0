/* Streams, and the lookup of handles. */
#ifndef HOSTCUDA_STREAM_H
#define HOSTCUDA_STREAM_H

#include "hostcuda/src/core/core_state.h"
#include "hostcuda/src/graph/graph_nodes.h"

enum hc_stream_kind { HC_STREAM_CREATED, HC_STREAM_LEGACY, HC_STREAM_PER_THREAD };

struct hc_capture;
struct hc_item;

struct CUstream_st {
    struct CUstream_st *next, *previous; /* list of all streams, in order of creation */
    enum hc_stream_kind kind;
    int device, priority;
    unsigned flags;
    unsigned long long id;
    unsigned pins;                                     /* number of threads that wait for it */
    bool retired;                                      /* destroyed by the program: freed when its work is done */
    struct hc_item *head, *tail;                       /* queued work; the head stays in the list while it runs */
    uint64_t oldest;                                   /* the head's sequence number */
    size_t rank;                                       /* its index in hc_busy_streams */
    struct hc_capture *capture;                        /* the capture that it takes part in */
    struct CUstream_st *next_member, *previous_member; /* list of that capture's streams */
    struct hc_nodes frontier;                          /* what its next node will depend on */
};

extern cudaStream_t hc_streams;

/* Returns NULL if there is no memory. */
cudaStream_t hc_stream_make(int device, enum hc_stream_kind kind, unsigned flags, int priority);
/* Called when the program has destroyed the stream, and it is in no capture: it is freed once its queued work is done.
 */
void hc_stream_free_when_done(cudaStream_t stream);
/* Streams with queued work: a heap, whose first stream has the oldest head. */
extern cudaStream_t *hc_busy_streams;
extern size_t hc_busy_count;
/* Reserves room for one more. Returns false if there is no memory. */
bool hc_stream_reserve_busy(void);
/* For a stream that had no work and now has an item, the newest of all. Room must be reserved. */
void hc_stream_begin_busy(cudaStream_t stream, uint64_t sequence);
/* hc_stream_move_busy: the stream has another head. hc_stream_end_busy: it has none any more. */
void hc_stream_move_busy(cudaStream_t stream, uint64_t sequence);
void hc_stream_end_busy(cudaStream_t stream);

/* Keeps a stream from being freed. */
void hc_stream_retain(cudaStream_t stream);
void hc_stream_release(cudaStream_t stream);

/* Finds the stream behind a handle; NULL, legacy and per-thread are handles, too. */
cudaError_t hc_stream_from_handle(cudaStream_t handle, cudaStream_t *stream);

#endif
