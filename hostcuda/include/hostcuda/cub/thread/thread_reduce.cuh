/* Reductions of the items of one thread, from the first to the last. */
#ifndef HOSTCUDA_CUB_THREAD_REDUCE_CUH
#define HOSTCUDA_CUB_THREAD_REDUCE_CUH

#include <hostcuda/cub/thread/thread_operators.cuh>

namespace cub
{
template <int ITEMS, class T, class ReductionOp>
T ThreadReduce(const T (&items)[ITEMS], ReductionOp reduction_op)
{
    T result = items[0];
    for (int i = 1; i < ITEMS; i++)
        result = static_cast<T>(reduction_op(result, items[i]));
    return result;
}
template <int ITEMS, class T, class ReductionOp>
T ThreadReduce(const T (&items)[ITEMS], ReductionOp reduction_op, T prefix)
{
    return static_cast<T>(reduction_op(prefix, ThreadReduce(items, reduction_op)));
}
} // namespace cub

#endif
