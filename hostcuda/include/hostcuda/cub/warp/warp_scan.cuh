/* cub::WarpScan: prefix sums by the lanes of a logical warp of up to 32 lanes. As in NVIDIA's cub, every lane gets its
 * result and the aggregate, which does not include the initial value. The operator is applied in the order of the
 * lanes. Different from NVIDIA's: in an exclusive scan without an initial value, lane 0 gets its own input, where
 * NVIDIA's result is undefined. TempStorage is not used. */
#ifndef HOSTCUDA_CUB_WARP_SCAN_CUH
#define HOSTCUDA_CUB_WARP_SCAN_CUH

#include <hostcuda/cub/thread/thread_operators.cuh>
#include <hostcuda/cub/util_ptx.cuh>

namespace cub
{
template <class T, int LOGICAL_WARP_THREADS = 32>
class WarpScan
{
    static_assert(LOGICAL_WARP_THREADS >= 1 && LOGICAL_WARP_THREADS <= 32, "a logical warp has 1 to 32 threads");

  public:
    struct TempStorage : Uninitialized<NullType> {
    };

    explicit WarpScan(TempStorage &)
        : lane(hostcuda_lane() % LOGICAL_WARP_THREADS),
          members(WarpMask<LOGICAL_WARP_THREADS>(LaneId() / LOGICAL_WARP_THREADS))
    {
    }

    void InclusiveSum(T input, T &inclusive_output)
    {
        InclusiveScan(input, inclusive_output, cub::Sum());
    }
    void InclusiveSum(T input, T &inclusive_output, T &warp_aggregate)
    {
        InclusiveScan(input, inclusive_output, cub::Sum(), warp_aggregate);
    }
    void ExclusiveSum(T input, T &exclusive_output)
    {
        ExclusiveScan(input, exclusive_output, T{}, cub::Sum());
    }
    void ExclusiveSum(T input, T &exclusive_output, T &warp_aggregate)
    {
        ExclusiveScan(input, exclusive_output, T{}, cub::Sum(), warp_aggregate);
    }

    template <class ScanOp>
    void InclusiveScan(T input, T &inclusive_output, ScanOp scan_op)
    {
        inclusive_output = scan(input, scan_op);
    }
    template <class ScanOp>
    void InclusiveScan(T input, T &inclusive_output, T initial_value, ScanOp scan_op)
    {
        inclusive_output = static_cast<T>(scan_op(initial_value, scan(input, scan_op)));
    }
    template <class ScanOp>
    void InclusiveScan(T input, T &inclusive_output, ScanOp scan_op, T &warp_aggregate)
    {
        T inclusive = scan(input, scan_op);
        warp_aggregate = aggregate_of(inclusive);
        inclusive_output = inclusive;
    }
    template <class ScanOp>
    void InclusiveScan(T input, T &inclusive_output, T initial_value, ScanOp scan_op, T &warp_aggregate)
    {
        T inclusive = scan(input, scan_op);
        warp_aggregate = aggregate_of(inclusive);
        inclusive_output = static_cast<T>(scan_op(initial_value, inclusive));
    }

    template <class ScanOp>
    void ExclusiveScan(T input, T &exclusive_output, ScanOp scan_op)
    {
        exclusive_output = before(scan(input, scan_op), input);
    }
    template <class ScanOp>
    void ExclusiveScan(T input, T &exclusive_output, T initial_value, ScanOp scan_op)
    {
        exclusive_output = before(scan(input, scan_op), initial_value, scan_op);
    }
    template <class ScanOp>
    void ExclusiveScan(T input, T &exclusive_output, ScanOp scan_op, T &warp_aggregate)
    {
        T inclusive = scan(input, scan_op);
        warp_aggregate = aggregate_of(inclusive);
        exclusive_output = before(inclusive, input);
    }
    template <class ScanOp>
    void ExclusiveScan(T input, T &exclusive_output, T initial_value, ScanOp scan_op, T &warp_aggregate)
    {
        T inclusive = scan(input, scan_op);
        warp_aggregate = aggregate_of(inclusive);
        exclusive_output = before(inclusive, initial_value, scan_op);
    }

    /* Computes the inclusive and the exclusive results. */
    template <class ScanOp>
    void Scan(T input, T &inclusive_output, T &exclusive_output, ScanOp scan_op)
    {
        T inclusive = scan(input, scan_op);
        exclusive_output = before(inclusive, input);
        inclusive_output = inclusive;
    }
    template <class ScanOp>
    void Scan(T input, T &inclusive_output, T &exclusive_output, T initial_value, ScanOp scan_op)
    {
        T inclusive = scan(input, scan_op);
        exclusive_output = before(inclusive, initial_value, scan_op);
        inclusive_output = static_cast<T>(scan_op(initial_value, inclusive));
    }

    T Broadcast(T input, unsigned src_lane)
    {
        return ShuffleIndex<LOGICAL_WARP_THREADS>(input, static_cast<int>(src_lane), members);
    }

  private:
    int lane;
    unsigned members;

    template <class ScanOp>
    T scan(const T &input, ScanOp scan_op) const
    {
        T result = input;
        for (int offset = 1; offset < LOGICAL_WARP_THREADS; offset *= 2) {
            T other = ShuffleUp<LOGICAL_WARP_THREADS>(result, offset, 0, members);
            if (lane >= offset)
                result = static_cast<T>(scan_op(other, result));
        }
        return result;
    }
    T aggregate_of(const T &inclusive) const
    {
        return ShuffleIndex<LOGICAL_WARP_THREADS>(inclusive, LOGICAL_WARP_THREADS - 1, members);
    }
    T before(const T &inclusive, const T &of_lane_0) const
    {
        T other = ShuffleUp<LOGICAL_WARP_THREADS>(inclusive, 1, 0, members);
        return lane ? other : of_lane_0;
    }
    template <class ScanOp>
    T before(const T &inclusive, const T &initial_value, ScanOp scan_op) const
    {
        T other = before(inclusive, initial_value);
        return lane ? static_cast<T>(scan_op(initial_value, other)) : initial_value;
    }
};
} // namespace cub

#endif
