/* The tensors of op calls, copies and waits. */
#ifndef BG_DEBUG_TENSORS_H
#define BG_DEBUG_TENSORS_H

#include "kernels/library/count.h"

#include "graph/inspect.h"
#include "spans.h"

/* Iterates over all tensors of an op's arguments. Starts zeroed. */
typedef struct bg__field_tensor {
    const bg_field *field;
    const bg_tensor *tensor;
    char name[96]; /* "token", or "parts[2]" */
    bool input, output;
    uint32_t next_field, next_element;
} bg__field_tensor;
bool bg__field_tensor_next(const bg_op *op, const void *args, bg__field_tensor *t);
int bg__field_tensor_count(const bg_op *op, const void *args);

/* *reached: the device can access all bytes of the tensor, and there is at least one byte. A kernel that accesses other
 * memory would make the device unusable. */
bg_status bg__tensor_is_accessible(const bg_tensor *tensor, bool *reached);

/* Returns the rows of a tensor that belong to the real batch, without the padding, if the runner runs a padded batch
 * and the tensor has a row for each token. Otherwise returns the whole tensor. Nothing reads the padding rows of an
 * output, so tools do not judge them. call: a call of the graph, or its root. */
bg_tensor bg__tensor_batch_rows(const bg__call *call, const bg_tensor *tensor);
/* The same for a field of the call, for tools that must miss nothing. A tensor whose number of rows is a larger
 * multiple of the padded batch's may be a cache, a weight matrix or column sums. It is returned whole, unless the call
 * only writes it and it has more than one dimension. */
bg_tensor bg__field_batch_rows(const bg__call *call, const bg__field_tensor *t);

bool bg__tensor_overlaps(const bg_tensor *a, const bg_tensor *b);
/* For a call that a rule has fused with its neighbours (bg__call.run). The first function: whether an earlier call of
 * the run writes into the tensor. The second function: whether a later call of the run does. For other calls: false. */
bool bg__run_writes_before(const bg__call *call, const bg_tensor *tensor);
bool bg__run_writes_after(const bg__call *call, const bg_tensor *tensor);
/* Whether the call and all calls inside it were captured, but made no node. */
bool bg__call_is_idle(const bg__call *call);

/* Waits for all streams. function: the public function, for the message. Errors: BUSY if another thread has an open
 * capture of this library, since cudaDeviceSynchronize would invalidate that capture. */
bg_status bg__wait_for_device(const char *function);
/* As cudaStreamSynchronize; also allowed while this thread has an open capture on another stream. */
bg_status bg__wait_for_stream(cudaStream_t stream);
/* Copies as cudaMemcpyAsync, in either direction, and waits for stream. */
bg_status bg__copy_and_wait(void *to, const void *from, size_t bytes, cudaStream_t stream);
/* Copies the contents of the spans, one after the other, to bg__spans_bytes(spans) bytes at `to`, and waits for
 * stream. */
bg_status bg__spans_read(const bg__spans *spans, void *to, cudaStream_t stream);

/* Counts NaN and infinities in a float tensor that the device can access. room: a bgk_specials in device memory. Waits
 * for stream. */
bg_status bg__tensor_count_specials(const bg_tensor *tensor, bgk_specials *room, cudaStream_t stream,
                                    bgk_specials *counts);

#endif
