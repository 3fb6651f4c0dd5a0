#include "scale.h"

BG_DEFINE_OP(scale)
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
}
