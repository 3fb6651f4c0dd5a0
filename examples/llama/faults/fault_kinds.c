#include "fault_kinds.h"
#include "fault_kernels.h"
#include "examples/llama/ops.h"
#include "kernels/model/kernels.h"
#include <math.h>
#include <string.h>

#define CUDA(call) TRY(llama_check_cuda((call), #call))

/* Large enough to show in the logits of a random model. */
static const float FACTOR = 4, JUNK = 8; /* JUNK is added where a buffer should hold 0 */

/* One execution of a planted body. */
typedef struct run {
    llama_planted_call *planted;
    const bg_op *op;
    void *args;
    bg_op_body right;
    cudaStream_t stream;
    bool captured;
    float *row; /* the first row of its last output */
    size_t elements, half;
} run;

static bg_tensor *tensor_at(const run *r, const bg_field *field)
{
    return (bg_tensor *)((char *)r->args + field->offset);
}

static bool find_output_row(run *r)
{
    const bg_tensor *output = NULL;
    for (uint32_t i = 0; i < r->op->field_count; i++)
        if (r->op->fields[i].role == BG_ROLE_OUT || r->op->fields[i].role == BG_ROLE_INOUT)
            output = tensor_at(r, &r->op->fields[i]);
    if (!output)
        return false;
    r->row = output->data;
    r->elements = bg_tensor_bytes(output) / bg_dtype_bytes(output->dtype) / (size_t)output->dim[0];
    r->half = r->elements / 2;
    return true;
}

static bg_tensor *find_position(const run *r)
{
    for (uint32_t i = 0; i < r->op->field_count; i++)
        if (strcmp(r->op->fields[i].name, "position") == 0)
            return tensor_at(r, &r->op->fields[i]);
    return NULL;
}

static bg_status call_right_body(const run *r)
{
    return r->right(r->args, r->stream);
}

/* Only an eager body may synchronize; a captured one must not. */
static bg_status synchronize_if_eager(const run *r)
{
    return r->captured ? BG_OK : llama_check_cuda(cudaStreamSynchronize(r->stream), "cudaStreamSynchronize");
}

static bg_status read_eagerly(const run *r, int *number, const int *device)
{
    CUDA(cudaMemcpyAsync(number, device, sizeof *number, cudaMemcpyDeviceToHost, r->stream));
    return synchronize_if_eager(r);
}

/* Fills at once, captured or not: only in relaxed mode may a capturing thread synchronize another stream. */
static bg_status fill_on_side_stream(const run *r, float value)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    bg_status status;
    CUDA(bgk_fill(r->planted->buffer, value, r->half, r->planted->aside));
    CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
    status = llama_check_cuda(cudaStreamSynchronize(r->planted->aside), "cudaStreamSynchronize");
    CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
    return status;
}

static bg_status add_buffer(const run *r)
{
    CUDA(bgk_add(r->row, r->row, r->planted->buffer, r->half, r->stream));
    return BG_OK;
}

/* ---- the kinds ---------------------------------------------------------------------------------- */

static bg_status run_branch_fault(const run *r)
{
    TRY(call_right_body(r));
    if (r->captured)
        CUDA(bgk_scale(r->row, r->row, FACTOR, r->half, r->stream));
    return BG_OK;
}

/* Each execution has a number; only an eager one copies it to the device. */
static bg_status counter(const run *r)
{
    int number = ++r->planted->number;
    TRY(call_right_body(r));
    if (!r->captured)
        CUDA(bgk_set_counter(r->planted->counter, number, r->stream));
    CUDA(llama_fault_scale_unless_expected(r->row, FACTOR, r->half, r->planted->counter, number, r->stream));
    return BG_OK;
}

static bg_status run_leaked_fault(const run *r)
{
    TRY(call_right_body(r));
    CUDA(bgk_fill(r->planted->buffer, JUNK, r->half, r->stream));
    TRY(synchronize_if_eager(r));
    TRY(fill_on_side_stream(r, 0));
    return add_buffer(r);
}

static bg_status run_temporary_fault(const run *r)
{
    TRY(call_right_body(r));
    TRY(fill_on_side_stream(r, 0));
    TRY(add_buffer(r));
    TRY(synchronize_if_eager(r));
    return fill_on_side_stream(r, JUNK); /* stands for the buffer's next owner */
}

static bg_status run_skipped_fault(const run *r)
{
    return r->captured ? BG_OK : call_right_body(r);
}

static void fill_host(const run *r, float value)
{
    for (size_t i = 0; i < r->half; i++)
        r->planted->host[i] = value;
}

static bg_status run_host_copy_fault(const run *r)
{
    TRY(call_right_body(r));
    fill_host(r, 0);
    CUDA(cudaMemcpyAsync(r->planted->buffer, r->planted->host, r->half * sizeof(float), cudaMemcpyHostToDevice,
                         r->stream));
    TRY(add_buffer(r));
    TRY(synchronize_if_eager(r));
    fill_host(r, JUNK);
    return BG_OK;
}

/* The number counts the executions of the call on the device. */
static bg_status run_cached_fault(const run *r)
{
    int number = r->planted->number;
    TRY(call_right_body(r));
    CUDA(bgk_increment(r->planted->counter, 1, r->stream));
    if (!r->captured)
        TRY(read_eagerly(r, &number, r->planted->counter));
    if (r->planted->number == 0)
        r->planted->number = number;
    CUDA(llama_fault_scale_unless_expected(r->row, FACTOR, r->half, r->planted->counter, number, r->stream));
    return BG_OK;
}

static bg_status run_overwrite_fault(const run *r)
{
    TRY(call_right_body(r));
    if (r->captured)
        CUDA(cudaMemcpyAsync(r->row + r->half, r->row, r->half * sizeof(float), cudaMemcpyDeviceToDevice, r->stream));
    return BG_OK;
}

/* An eager body reads the pass's place from the device; a captured one uses the host's number, which is too large. */
static bg_status position(const run *r)
{
    bg_tensor *position = find_position(r);
    int *device = position->data, number = r->planted->number + 2;
    bg_status status;
    if (!r->captured) {
        TRY(read_eagerly(r, &number, device));
        r->planted->number = number;
    }
    CUDA(bgk_set_counter(r->planted->counter, number, r->stream));
    position->data = r->planted->counter;
    status = call_right_body(r);
    position->data = device;
    return status;
}

static bg_status run_nan_fault(const run *r)
{
    TRY(call_right_body(r));
    if (r->captured)
        CUDA(bgk_fill(r->row, NAN, 1, r->stream));
    return BG_OK;
}

/* Scales by powers of 2, so that all results are exact. */
static bg_status run_cancel_fault(const run *r)
{
    TRY(call_right_body(r));
    if (r->captured)
        CUDA(bgk_scale(r->row, r->row, r->planted->factor, r->elements, r->stream));
    return BG_OK;
}

static bg_status run_varies_fault(const run *r)
{
    TRY(call_right_body(r));
    CUDA(llama_fault_scale_by_count(r->row, r->half, r->planted->counter, r->stream));
    return BG_OK;
}

bg_status llama_planted_call_run(llama_planted_call *planted, const bg_op *op, void *args, bg_op_body right,
                                 cudaStream_t stream)
{
    static bg_status (*const kinds[LLAMA_FAULT_KINDS])(const run *r) = {
        [LLAMA_FAULT_BRANCH] = run_branch_fault,   [LLAMA_FAULT_COUNTER] = counter,
        [LLAMA_FAULT_LEAKED] = run_leaked_fault,   [LLAMA_FAULT_TEMPORARY] = run_temporary_fault,
        [LLAMA_FAULT_SKIPPED] = run_skipped_fault, [LLAMA_FAULT_HOST_COPY] = run_host_copy_fault,
        [LLAMA_FAULT_CACHED] = run_cached_fault,   [LLAMA_FAULT_OVERWRITE] = run_overwrite_fault,
        [LLAMA_FAULT_POSITION] = position,         [LLAMA_FAULT_NAN] = run_nan_fault,
        [LLAMA_FAULT_CANCEL] = run_cancel_fault,   [LLAMA_FAULT_VARIES] = run_varies_fault};
    run r = {.planted = planted, .op = op, .args = args, .right = right, .stream = stream};
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    CUDA(cudaStreamIsCapturing(stream, &status));
    r.captured = status != cudaStreamCaptureStatusNone;
    return find_output_row(&r) ? kinds[planted->kind](&r) : call_right_body(&r);
}
