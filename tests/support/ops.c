#include "ops.h"

BG_DEFINE_OP(scale)
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
}

BG_DEFINE_OP(sum)
{
    return from_cuda(bgk_add(args->y.data, args->y.data, args->x.data, N, stream));
}

BG_DEFINE_OP(plus)
{
    return from_cuda(bgk_add(args->z.data, args->x.data, args->y.data, N, stream));
}

BG_DEFINE_EAGER_OP(eager_scale)
{
    return from_cuda(bgk_scale(args->x.data, args->x.data, args->factor, N, stream));
}

BG_DEFINE_EAGER_OP(twice)
{
    return from_cuda(bgk_scale(args->x.data, args->x.data, 2, N, stream));
}
