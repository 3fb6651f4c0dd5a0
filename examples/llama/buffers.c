#include "buffers.h"
#include "ops.h"
#include <breakgraph/workspace.h>
#include <string.h>

static bg_status allocate_buffers(llama_buffers *b, int rows)
{
    const bg_tensor ints = bg_tensor_1d(NULL, BG_I32, rows);
    TRY(llama_memory_alloc_tensor(&b->memory, &b->io.token, ints));
    TRY(llama_memory_alloc_tensor(&b->memory, &b->io.position, ints));
    TRY(llama_memory_alloc_tensor(&b->memory, &b->io.slot, ints));
    TRY(llama_memory_alloc_tensor(&b->memory, &b->io.next, ints));
    return llama_memory_alloc_tensor(&b->memory, &b->io.logits,
                                     bg_tensor_2d(NULL, BG_F32, rows, llama_batch_config(b->batch)->vocabulary));
}

bg_status llama_buffers_create(llama_buffers *b, llama_batch *batch, cudaStream_t stream)
{
    memset(b, 0, sizeof *b);
    b->batch = batch;
    b->memory.stream = stream;
    TRY(allocate_buffers(b, llama_batch_max_tokens(batch)));
    return llama_batch_set_io(batch, &b->io);
}

void llama_buffers_free(llama_buffers *b)
{
    llama_memory_free(&b->memory);
    memset(b, 0, sizeof *b);
}

static bg_status check_rows(const llama_buffers *b, const char *function, int rows)
{
    if (rows >= 1 && rows <= b->io.token.dim[0])
        return BG_OK;
    return bg_report_failure(BG_ERROR_INVALID_ARGUMENT, function, "rows is less than 1 or more than the buffers have",
                             "split the batch, or give llama_batch_create a larger max_tokens");
}

static bg_status copy_async(llama_buffers *b, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return llama_check_cuda(cudaMemcpyAsync(to, from, bytes, kind, b->memory.stream), "cudaMemcpyAsync");
}

static bg_status synchronize(llama_buffers *b)
{
    return llama_check_cuda(cudaStreamSynchronize(b->memory.stream), "cudaStreamSynchronize");
}

bg_status llama_buffers_copy_in(llama_buffers *b, const int *token, const int *position, const int *slot, int rows)
{
    size_t bytes = (size_t)rows * sizeof *token;
    TRY(check_rows(b, "llama_buffers_copy_in", rows));
    TRY(copy_async(b, b->io.token.data, token, bytes, cudaMemcpyHostToDevice));
    TRY(copy_async(b, b->io.position.data, position, bytes, cudaMemcpyHostToDevice));
    TRY(copy_async(b, b->io.slot.data, slot, bytes, cudaMemcpyHostToDevice));
    return synchronize(b);
}

bg_status llama_buffers_copy_out(llama_buffers *b, int rows, float *logits, int *next)
{
    size_t vocabulary = (size_t)b->io.logits.dim[1];
    TRY(check_rows(b, "llama_buffers_copy_out", rows));
    TRY(copy_async(b, logits, b->io.logits.data, (size_t)rows * vocabulary * sizeof *logits, cudaMemcpyDeviceToHost));
    TRY(copy_async(b, next, b->io.next.data, (size_t)rows * sizeof *next, cudaMemcpyDeviceToHost));
    return synchronize(b);
}

bg_status llama_buffers_run(void *buffers, const llama_serve_batch *batch, const int *token, const int *position,
                            const int *slot, int rows, float *logits, int *next)
{
    llama_buffers *b = buffers;
    (void)batch;
    TRY(llama_buffers_copy_in(b, token, position, slot, rows));
    TRY(llama_batch_run(b->batch, rows, b->memory.stream));
    return llama_buffers_copy_out(b, rows, logits, next);
}
