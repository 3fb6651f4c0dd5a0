/* Operations: what a stream queues and a graph's nodes hold. They never change after they were made, so that queues,
 * graphs, clones and executable graphs can share them; all fields are guarded by the lock, except while one runs. */
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
    HC_OP_RECORD, /* an event; in graphs only: a stream queues a token */
    HC_OP_WAIT,
    HC_OP_ALLOC,
    HC_OP_FREE,
    HC_OP_CHILD, /* a graph; in graphs only: an executable graph holds the child's own ops, and this one does nothing */
};

struct hc_op {
    unsigned references;
    enum hc_op_kind kind;
    bool unchecked;                            /* a captured fill of memory that was not there then */
    void (*give_back)(const struct hc_op *op); /* ends the op's hold on what it refers to; NULL: it holds nothing */
    union {
        struct {
            struct hc_kernel *kernel;
            dim3 grid, block;
            size_t shared_bytes;
            void **arguments; /* into this op's own storage */
            bool packed;      /* the program gave them, and is given them, as one buffer */
            void *extra[5];   /* that buffer, in CUDA's form */
            size_t packed_bytes;
        } launch;
        struct hc_copy copy;
        struct cudaMemsetParams fill;
        struct cudaHostNodeParams host;
        cudaEvent_t event;
        struct {
            struct hc_block *block;
            size_t access_count; /* of an allocation's access descriptors, which are this op's own storage */
        };
        cudaGraph_t child; /* the op's own */
    };
    _Alignas(16) unsigned char storage[];
};

/* Each gives an op with one reference; NULL: no memory. The first leaves its contents to the caller. */
struct hc_op *hc_op_make(enum hc_op_kind kind, size_t storage_bytes);
struct hc_op *hc_op_launch(struct hc_kernel *kernel, dim3 grid, dim3 block, size_t shared_bytes, void **arguments);
struct hc_op *hc_op_copy(const struct hc_copy *copy, bool snapshot);
struct hc_op *hc_op_fill(const struct cudaMemsetParams *fill);
struct hc_op *hc_op_host(cudaHostFn_t function, void *user);
struct hc_op *hc_op_callback(cudaStreamCallback_t callback, cudaStream_t stream, void *user);
struct hc_op *hc_op_empty(void);
struct hc_op *hc_op_memory(enum hc_op_kind kind, struct hc_block *block);
/* The same for an allocation node, with a copy of its access descriptors. */
struct hc_op *hc_op_allocation(struct hc_block *block, const struct cudaMemAccessDesc *access, size_t count);

struct hc_op *hc_op_retain(struct hc_op *op);
void hc_op_release(struct hc_op *op);

/* waits: the op may have to wait for other threads and processes. ready: it can run now, in the item of that sequence.
 */
bool hc_op_waits(const struct hc_op *op);
bool hc_op_ready(const struct hc_op *op, uint64_t sequence);
/* After an error, too, it runs, and is told. Not while it runs. */
bool hc_op_hears_errors(const struct hc_op *op);
void hc_op_tell(struct hc_op *op, cudaError_t error);
/* It will not run, after an error. */
void hc_op_skip(const struct hc_op *op);
/* Does the op's work; without the lock. cudaErrorNotReady: it has to run again when it is ready. */
cudaError_t hc_op_run(const struct hc_op *op);
/* Bookkeeping once it ran (or was skipped, after an error); with the lock. */
void hc_op_finish(const struct hc_op *op);

#endif
