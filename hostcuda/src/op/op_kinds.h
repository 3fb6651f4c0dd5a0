/* Operations (ops): what streams queue and graph nodes contain. They never change after they are made, so queues,
 * graphs, clones and executable graphs share them. The lock guards all fields, except those of a running op. */
#ifndef HOSTCUDA_OPS_H
#define HOSTCUDA_OPS_H

#include "hostcuda/src/core/core_state.h"
#include "hostcuda/src/kernel/kernel_table.h"
#include "hostcuda/src/memory/memory_blocks.h"
#include "hostcuda/src/memory/memory_copy.h"

enum hc_op_kind {
    HC_OP_KERNEL,
    HC_OP_COPY,
    HC_OP_FILL,
    HC_OP_HOST,
    HC_OP_EMPTY,
    HC_OP_RECORD, /* an event; only in graphs, since a stream queues a token */
    HC_OP_WAIT,
    HC_OP_ALLOC,
    HC_OP_FREE,
    HC_OP_CHILD, /* a child graph; only in graphs. The op does nothing; an executable graph has the child's ops */
};

struct hc_op {
    unsigned references;
    enum hc_op_kind kind;
    bool unchecked;                                     /* a fill whose memory did not exist at the capture */
    void (*release_references)(const struct hc_op *op); /* releases what the op refers to; NULL: nothing */
    union {
        struct {
            struct hc_kernel *kernel;
            dim3 grid, block;
            size_t shared_bytes;
            void **arguments; /* they point into this op's storage */
            bool packed;      /* the program passes and gets the arguments as one buffer */
            void *extra[5];   /* that buffer, in CUDA's `extra` form */
            size_t packed_bytes;
        } launch;
        struct hc_copy copy;
        struct cudaMemsetParams fill;
        struct cudaHostNodeParams host;
        cudaEvent_t event;
        struct {
            struct hc_block *block;
            size_t access_count; /* number of an allocation's access descriptors, which are in the op's storage */
        };
        cudaGraph_t child; /* owned by the op */
    };
    _Alignas(16) unsigned char storage[];
};

/* Each returns an op with one reference; NULL: no memory. hc_op_make leaves the contents to the caller. */
struct hc_op *hc_op_make(enum hc_op_kind kind, size_t storage_bytes);
struct hc_op *hc_op_make_launch(struct hc_kernel *kernel, dim3 grid, dim3 block, size_t shared_bytes, void **arguments);
struct hc_op *hc_op_make_copy(const struct hc_copy *copy, bool snapshot);
struct hc_op *hc_op_make_fill(const struct cudaMemsetParams *fill);
struct hc_op *hc_op_make_host(cudaHostFn_t function, void *user);
struct hc_op *hc_op_make_callback(cudaStreamCallback_t callback, cudaStream_t stream, void *user);
struct hc_op *hc_op_make_empty(void);
struct hc_op *hc_op_make_memory(enum hc_op_kind kind, struct hc_block *block);
/* Makes the op of an allocation node, with a copy of its access descriptors. */
struct hc_op *hc_op_make_allocation(struct hc_block *block, const struct cudaMemAccessDesc *access, size_t count);

struct hc_op *hc_op_retain(struct hc_op *op);
void hc_op_release(struct hc_op *op);

/* hc_op_may_wait: whether the op may have to wait for other threads and processes. hc_op_ready: whether it can run now,
 * in the item with that sequence number. */
bool hc_op_may_wait(const struct hc_op *op);
bool hc_op_ready(const struct hc_op *op, uint64_t sequence);
/* Whether the op runs even after an error, and receives the error. Not to be called while it runs. */
bool hc_op_runs_after_error(const struct hc_op *op);
void hc_op_set_error(struct hc_op *op, cudaError_t error);
/* Tells the op that it will not run, because of an error. */
void hc_op_skip(const struct hc_op *op);
/* Does the op's work, without the lock. cudaErrorNotReady: it has to run again when it is ready. */
cudaError_t hc_op_run(const struct hc_op *op);
/* Updates the memory state after the op ran, or was skipped because of an error. Needs the lock. */
void hc_op_finish(const struct hc_op *op);

#endif
