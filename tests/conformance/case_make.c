#include "case.h"

static cudaError_t make_other(struct scene *s)
{
    cudaError_t error = cudaStreamBeginCapture(s->c, cudaStreamCaptureModeRelaxed);
    if (!error)
        error = kernel(s, s->c);
    return error ? error : cudaStreamEndCapture(s->c, &s->other);
}

static cudaError_t make_exec(struct scene *s)
{
    cudaError_t error = s->other ? cudaSuccess : make_other(s);
    return error ? error : cudaGraphInstantiate(&s->exec, s->other, 0);
}

static cudaError_t make_event(struct scene *s)
{
    cudaError_t error = cudaEventCreateWithFlags(&s->event, cudaEventDisableTiming);
    if (!error)
        error = cudaEventRecord(s->event, s->b);
    return error ? error : cudaStreamSynchronize(s->b);
}

const struct case_call case_make_exec = {make_exec, "/* exec is an executable graph of one kernel, made from other */"};
const struct case_call case_make_other = {make_other, "/* other is a graph of one kernel */"};
const struct case_call case_make_event = {make_event, "/* event was recorded on b, and is complete */"};
