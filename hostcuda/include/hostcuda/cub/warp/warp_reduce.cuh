/* cub::WarpReduce: reductions by the lanes of a logical warp of up to 32 lanes. As in NVIDIA's cub, lane 0 gets the
 * result, and in a segmented reduction the first lane of each segment gets the segment's. The operator is applied in
 * the order of the lanes. Different from NVIDIA's: every other lane gets its own input back, where NVIDIA's result is
 * undefined. TempStorage is not used, so mistakes in its use (two warps that share it, or reuse without a barrier) have
 * no effect here. */
#ifndef HOSTCUDA_CUB_WARP_REDUCE_CUH
#define HOSTCUDA_CUB_WARP_REDUCE_CUH

#include <hostcuda/cub/thread/thread_operators.cuh>
#include <hostcuda/cub/util_ptx.cuh>

namespace cub
{
template <class T, int LOGICAL_WARP_THREADS = 32>
class WarpReduce
{
    static_assert(LOGICAL_WARP_THREADS >= 1 && LOGICAL_WARP_THREADS <= 32, "a logical warp has 1 to 32 threads");

  public:
    struct TempStorage : Uninitialized<NullType> {
    };

    explicit WarpReduce(TempStorage &)
        : lane(hostcuda_lane() % LOGICAL_WARP_THREADS),
          members(WarpMask<LOGICAL_WARP_THREADS>(LaneId() / LOGICAL_WARP_THREADS))
    {
    }

    T Sum(T input)
    {
        return Reduce(input, cub::Sum());
    }
    T Sum(T input, int valid_items)
    {
        return Reduce(input, cub::Sum(), valid_items);
    }
    template <class ReductionOp>
    T Reduce(T input, ReductionOp reduction_op)
    {
        return Reduce(input, reduction_op, LOGICAL_WARP_THREADS);
    }
    template <class ReductionOp>
    T Reduce(T input, ReductionOp reduction_op, int valid_items)
    {
        T result = reduce_up_to(valid_items - 1, input, reduction_op);
        return lane ? input : result;
    }

    /* A flag is set in the first lane of a segment. */
    template <class Flag>
    T HeadSegmentedSum(T input, Flag head_flag)
    {
        return HeadSegmentedReduce(input, head_flag, cub::Sum());
    }
    template <class ReductionOp, class Flag>
    T HeadSegmentedReduce(T input, Flag head_flag, ReductionOp reduction_op)
    {
        return reduce_segment(lanes_with(head_flag), input, reduction_op);
    }
    /* A flag is set in the last lane of a segment. */
    template <class Flag>
    T TailSegmentedSum(T input, Flag tail_flag)
    {
        return TailSegmentedReduce(input, tail_flag, cub::Sum());
    }
    template <class ReductionOp, class Flag>
    T TailSegmentedReduce(T input, Flag tail_flag, ReductionOp reduction_op)
    {
        return reduce_segment(lanes_with(tail_flag) << 1, input, reduction_op);
    }

  private:
    int lane;
    unsigned members;

    template <class Flag>
    unsigned lanes_with(Flag flag) const
    {
        unsigned first = LaneId() / LOGICAL_WARP_THREADS * LOGICAL_WARP_THREADS;
        return (hostcuda_ballot(members, flag ? 1 : 0) & members) >> first;
    }

    /* Reduces from this lane to the last one. Results of lanes that are not the first of a segment are partial. */
    template <class ReductionOp>
    T reduce_up_to(int last, const T &input, ReductionOp reduction_op) const
    {
        T result = input;
        for (int offset = 1; offset < LOGICAL_WARP_THREADS; offset *= 2) {
            T other = ShuffleDown<LOGICAL_WARP_THREADS>(result, offset, LOGICAL_WARP_THREADS - 1, members);
            if (lane + offset <= last)
                result = static_cast<T>(reduction_op(result, other));
        }
        return result;
    }

    template <class ReductionOp>
    T reduce_segment(unsigned heads, const T &input, ReductionOp reduction_op) const
    {
        unsigned later = static_cast<unsigned>((~0ull << (lane + 1)) & heads);
        int last = later ? __builtin_ctz(later) - 1 : LOGICAL_WARP_THREADS - 1;
        if (last > LOGICAL_WARP_THREADS - 1)
            last = LOGICAL_WARP_THREADS - 1;
        T result = reduce_up_to(last, input, reduction_op);
        return lane && !(heads >> lane & 1u) ? input : result;
    }
};
} // namespace cub

#endif
