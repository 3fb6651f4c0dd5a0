#include "ops.h"

#include <math.h>
#include <string.h>

#include "random_kernels.h"

pass this_pass = {.nan_at = NO_CALL, .stack_copy_at = NO_CALL, .leak_at = NO_CALL};

bg_dtype pass_dtype(void)
{
    return this_pass.floats ? BG_F32 : BG_I32;
}

cudaError_t pass_mix(void *y, const void *a, const void *b, uint32_t k, int n, cudaStream_t stream)
{
    return this_pass.floats ? rk_blend(y, a, b, (float)(k % 1024) / 1024, n, stream) : rk_mix(y, a, b, k, n, stream);
}

void *field_named(const bg_op *op, void *args, const char *name)
{
    for (uint32_t f = 0; f < op->field_count; f++)
        if (strcmp(op->fields[f].name, name) == 0)
            return (char *)args + op->fields[f].offset;
    return NULL;
}

bg_tensor *tensor_of(const bg_op *op, void *args, int ordinal)
{
    for (uint32_t f = 0; f < op->field_count; f++) {
        const bg_field *field = &op->fields[f];
        int count = field->role == BG_ROLE_VALUE ? 0 : (int)(field->size / sizeof(bg_tensor));
        if (ordinal < count)
            return (bg_tensor *)(void *)((char *)args + field->offset) + ordinal;
        ordinal -= count;
    }
    return NULL;
}

static bg_status from_cuda(cudaError_t error)
{
    return error == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

static place resolve(how h)
{
    static const place in_turn[] = {PLACE_HERE, PLACE_SCRATCH, PLACE_OWN};
    if (h.where == PLACE_SOME)
        return in_turn[(this_pass.number + h.own) % 2];
    return h.where == PLACE_ROUND ? in_turn[(this_pass.number + h.own) % 3] : h.where;
}

int rows_of(how h)
{
    bool few = h.shorter == SHORTER_ALWAYS || (h.shorter == SHORTER_SOME && (this_pass.number + h.own) % 2 != 0);
    return few ? ROWS_LEFT : ELEMENTS;
}

bool fails_now(failing f)
{
    return f != FAILING_NEVER && this_pass.number % 3 == (f == FAILING_LATER);
}

bg_status fault_of(int id)
{
    return id % 2 ? BG_ERROR_IO : BG_ERROR_OP;
}

/* In turn one of two blocks. */
static uint32_t *own_memory(int own, int ordinal)
{
    return this_pass.own + (((size_t)own * OUTPUTS + (size_t)ordinal) * 2 + (size_t)this_pass.number % 2) * ELEMENTS;
}

/* Where a body is to leave its ordinal-th output; the tensor points there from now on. */
static bg_status put(void *args, bg_tensor *tensor, how h, int ordinal, uint32_t **memory)
{
    place at = resolve(h);
    void *scratch = tensor->data;

    if (fails_now(h.failing) && !this_pass.sound)
        return fault_of(h.own);
    if (tensor->data == NULL && tensor->rank == 0) { /* the caller knows nothing of it */
        *tensor = bg_tensor_1d(NULL, pass_dtype(), ELEMENTS);
        at = at == PLACE_HERE ? PLACE_SCRATCH : at;
    }
    if (at == PLACE_SCRATCH)
        TRY(bg_scratch(args, ELEMENTS * sizeof(uint32_t), &scratch));
    else if (at == PLACE_OWN)
        scratch = own_memory(h.own, ordinal);
    tensor->data = *memory = scratch;
    tensor->dim[0] = rows_of(h);
    return BG_OK;
}

static bg_status mix(uint32_t *y, const void *a, const void *b, uint32_t k, int rows, cudaStream_t stream)
{
    return from_cuda(pass_mix(y, a, b, k, rows, stream));
}

/* What a replay would copy from there is gone by then. */
static bg_status copy_from_stack(void *y, uint32_t k, cudaStream_t stream)
{
    const uint32_t values[] = {k, k + 1};
    return from_cuda(cudaMemcpyAsync(y, values, sizeof values, cudaMemcpyHostToDevice, stream));
}

/* The last mix of a body, with what is planted in it. */
static bg_status mix_last(uint32_t *y, const void *a, const void *b, uint32_t k, how h, cudaStream_t stream)
{
    if (h.own == this_pass.leak_at)
        stream = this_pass.outside;
    if (h.own == this_pass.stack_copy_at)
        TRY(copy_from_stack(y, k, stream));
    if (h.own == this_pass.nan_at)
        return from_cuda(rk_blend((float *)(void *)y, a, b, NAN, rows_of(h), stream));
    return mix(y, a, b, k, rows_of(h), stream);
}

/* y = mix(a, b) */
static bg_status body_mix(void *args, const void *a, const void *b, bg_tensor *y, uint32_t k, how h,
                          cudaStream_t stream)
{
    uint32_t *to;
    TRY(put(args, y, h, 0, &to));
    return mix_last(to, a, b, k, h, stream);
}

/* outputs[j] = mix(a, a) with another k each */
static bg_status body_split(void *args, const void *a, bg_tensor *const *outputs, int count, uint32_t k, how h,
                            cudaStream_t stream)
{
    uint32_t *to;
    for (int j = 0; j < count; j++) {
        TRY(put(args, outputs[j], h, j, &to));
        TRY(mix_last(to, a, a, k + (uint32_t)j, h, stream));
    }
    return BG_OK;
}

/* An op whose body is that call, and the same as an eager one. */
#define BOTH_OPS(name, call, ...)                                                                                      \
    BG_OP(name, __VA_ARGS__, WITH_VALUES)                                                                              \
    {                                                                                                                  \
        return call;                                                                                                   \
    }                                                                                                                  \
    EAGER_TWIN(name, call, __VA_ARGS__)
#define EAGER_TWIN(name, call, ...)                                                                                    \
    BG_EAGER_OP(eager_##name, __VA_ARGS__, WITH_VALUES)                                                                \
    {                                                                                                                  \
        return call;                                                                                                   \
    }

#define MIX body_mix(args, args->a.data, args->b.data, &args->y, args->k, args->how, stream)
BG_DEFINE_OP(mix)
{
    return MIX;
}
EAGER_TWIN(mix, MIX, BG_IN(a), BG_IN(b), BG_OUT(y))

/* It reads x before it says where x is from now on. */
static bg_status body_bump(void *args, bg_tensor *x, uint32_t k, how h, cudaStream_t stream)
{
    const void *from = x->data;
    return body_mix(args, from, from, x, k, h, stream);
}
#define BUMP body_bump(args, &args->x, args->k, args->how, stream)
BG_DEFINE_OP(bump)
{
    return BUMP;
}
EAGER_TWIN(bump, BUMP, BG_INOUT(x))

#define SPLIT(count, ...)                                                                                              \
    body_split(args, args->a.data, (bg_tensor *const[]){__VA_ARGS__}, count, args->k, args->how, stream)
BOTH_OPS(pair, SPLIT(2, &args->p, &args->q), BG_IN(a), BG_OUT(p), BG_OUT(q))
BOTH_OPS(split, SPLIT(3, &args->parts[0], &args->parts[1], &args->parts[2]), BG_IN(a), BG_OUTS(parts, 3))

/* Fails, always. */
BG_OP(broken, BG_INOUT(x))
{
    return BG_ERROR_IO;
}

/* Calls other ops on memory that those give, then y = mix(a, what came of them). */
static bg_status body_nest(void *args, bg_tensor a, bg_tensor *y, uint32_t k, int variant, how h, cudaStream_t stream)
{
    how inner = {variant & NEST_SCRATCH ? PLACE_SCRATCH : PLACE_HERE, INNER_CALL, SHORTER_NEVER, FAILING_NEVER};
    bg_tensor given =
        variant & NEST_OPEN ? (bg_tensor){.dtype = pass_dtype()} : bg_tensor_1d(NULL, pass_dtype(), ELEMENTS);
    mix_args made = {.a = a, .b = a, .y = given, .k = k, .how = inner};

    TRY(BG_CALL_ARGS(mix, stream, &made));
    if ((variant & NEST_FAILS) && BG_CALL(broken, stream, .x = made.y) != BG_ERROR_IO)
        return BG_ERROR_MISMATCH;
    TRY(BG_CALL(bump, stream, .x = made.y, .k = k + 1, .how = inner));
    if (variant & NEST_EAGER)
        TRY(BG_CALL(eager_bump, stream, .x = made.y, .k = k + 2, .how = inner));
    return body_mix(args, a.data, made.y.data, y, k, h, stream);
}
BOTH_OPS(nest, body_nest(args, args->a, &args->y, args->k, args->variant, args->how, stream), BG_IN(a), BG_OUT(y))

/* A body with a stream of its own: y = mix(a, mix(a, a)), the inner one there. */
static bg_status body_aside(void *args, const void *a, bg_tensor *y, uint32_t k, how h, cudaStream_t stream)
{
    void *aside;
    TRY(bg_scratch(args, ELEMENTS * sizeof(uint32_t), &aside));
    TRY(bg_stream_wait_stream(this_pass.side, stream));
    TRY(mix(aside, a, a, k, ELEMENTS, this_pass.side));
    TRY(bg_stream_wait_stream(stream, this_pass.side));
    return body_mix(args, a, aside, y, k, h, stream);
}
BOTH_OPS(aside, body_aside(args, args->a.data, &args->y, args->k, args->how, stream), BG_IN(a), BG_OUT(y))

/* Takes a number from the host, another one in each pass. */
BG_EAGER_OP(ambient, BG_INOUT(x), WITH_VALUES)
{
    return body_bump(args, &args->x, args->k + this_pass.ambient, args->how, stream);
}

/* Waits for its input and looks at it: what it launches depends on the data. */
BG_EAGER_OP(inspect, BG_IN(a), BG_OUT(y), WITH_VALUES)
{
    uint32_t seen = 0;
    TRY(from_cuda(cudaMemcpyAsync(&seen, args->a.data, sizeof seen, cudaMemcpyDeviceToHost, stream)));
    TRY(from_cuda(cudaStreamSynchronize(stream)));
    return body_mix(args, args->a.data, args->a.data, &args->y, args->k + seen % 7, args->how, stream);
}

/* Has another stream wait for an event of the pass, and work: y = mix(a, mix(a, a)), the inner one there. Its memory is
 * the body's own: scratch may have been a block that other work uses to the end, and only stream comes after that. */
BG_EAGER_OP(listen, BG_IN(a), BG_OUT(y), WITH_VALUES)
{
    const void *a = args->a.data;
    void *aside = own_memory(args->how.own, 1);
    TRY(bg_stream_wait_event(this_pass.side, this_pass.events[args->event]));
    TRY(mix(aside, a, a, args->k, ELEMENTS, this_pass.side));
    TRY(bg_event_record(this_pass.joined, this_pass.side));
    TRY(bg_stream_wait_event(stream, this_pass.joined));
    return body_mix(args, a, aside, &args->y, args->k, args->how, stream);
}

/* Leaves its work on another stream; the event tells when it is done. */
BG_EAGER_OP(tell, BG_IN(a), BG_OUT(y), WITH_VALUES)
{
    TRY(bg_stream_wait_stream(this_pass.teller, stream));
    TRY(body_mix(args, args->a.data, args->a.data, &args->y, args->k, args->how, this_pass.teller));
    TRY(bg_event_record(this_pass.events[args->event], this_pass.teller));
    return this_pass.drains ? from_cuda(cudaStreamSynchronize(this_pass.teller)) : BG_OK;
}
