/* cub::BlockScan: prefix sums by the threads of a block. As in NVIDIA's cub, every thread gets its results and the
 * aggregate, which does not include the initial value. Threads are numbered x first, and the operator is applied in
 * their order, whatever the algorithm. The first warp calls a prefix functor with the aggregate; the value returned to
 * thread 0 is used. Different from NVIDIA's: in an exclusive scan without an initial value, thread 0 gets its own input
 * as the first result, where NVIDIA's is undefined. Threads that use TempStorage again without a barrier in between
 * overwrite the results of others, as they may on a GPU; here it nearly always happens. */
#ifndef HOSTCUDA_CUB_BLOCK_SCAN_CUH
#define HOSTCUDA_CUB_BLOCK_SCAN_CUH

#include <algorithm>

#include <hostcuda/cub/thread/thread_reduce.cuh>
#include <hostcuda/cub/util_ptx.cuh>

namespace cub
{
/* All algorithms give the same result here. */
enum BlockScanAlgorithm {
    BLOCK_SCAN_RAKING,
    BLOCK_SCAN_RAKING_MEMOIZE,
    BLOCK_SCAN_WARP_SCANS,
};

template <class T, int BLOCK_DIM_X, BlockScanAlgorithm ALGORITHM = BLOCK_SCAN_RAKING, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1>
class BlockScan
{
    static constexpr int THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;
    struct Values {
        T of[THREADS]; /* the threads' inputs, then their inclusive results in reverse order */
        T aggregate, prefix;
    };

  public:
    struct TempStorage : Uninitialized<Values> {
    };

    BlockScan() : BlockScan(private_storage())
    {
    }
    explicit BlockScan(TempStorage &temp_storage)
        : shared(temp_storage.Alias()), self(RowMajorTid(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z))
    {
    }

    /* ---- exclusive, one item a thread ---------------------------------------------------------------------------- */

    void ExclusiveSum(T input, T &output)
    {
        ExclusiveScan(input, output, T{}, cub::Sum());
    }
    void ExclusiveSum(T input, T &output, T &block_aggregate)
    {
        ExclusiveScan(input, output, T{}, cub::Sum(), block_aggregate);
    }
    template <class BlockPrefixCallbackOp>
    void ExclusiveSum(T input, T &output, BlockPrefixCallbackOp &block_prefix_callback_op)
    {
        ExclusiveScan(input, output, cub::Sum(), block_prefix_callback_op);
    }
    template <class ScanOp>
    void ExclusiveScan(T input, T &output, ScanOp scan_op)
    {
        scan(input, scan_op);
        output = self ? before() : input;
    }
    template <class ScanOp>
    void ExclusiveScan(T input, T &output, ScanOp scan_op, T &block_aggregate)
    {
        ExclusiveScan(input, output, scan_op);
        block_aggregate = aggregate();
    }
    template <class ScanOp>
    void ExclusiveScan(T input, T &output, T initial_value, ScanOp scan_op)
    {
        scan(input, scan_op);
        output = after(initial_value, scan_op);
    }
    template <class ScanOp>
    void ExclusiveScan(T input, T &output, T initial_value, ScanOp scan_op, T &block_aggregate)
    {
        ExclusiveScan(input, output, initial_value, scan_op);
        block_aggregate = aggregate();
    }
    template <class ScanOp, class BlockPrefixCallbackOp>
    void ExclusiveScan(T input, T &output, ScanOp scan_op, BlockPrefixCallbackOp &block_prefix_callback_op)
    {
        scan_with_prefix(input, scan_op, block_prefix_callback_op);
        output = after(shared.prefix, scan_op);
    }

    /* ---- exclusive, several items a thread -------------------------------------------------------------------------
     */

    template <int ITEMS_PER_THREAD>
    void ExclusiveSum(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD])
    {
        ExclusiveScan(input, output, T{}, cub::Sum());
    }
    template <int ITEMS_PER_THREAD>
    void ExclusiveSum(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD], T &block_aggregate)
    {
        ExclusiveScan(input, output, T{}, cub::Sum(), block_aggregate);
    }
    template <int ITEMS_PER_THREAD, class BlockPrefixCallbackOp>
    void ExclusiveSum(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD],
                      BlockPrefixCallbackOp &block_prefix_callback_op)
    {
        ExclusiveScan(input, output, cub::Sum(), block_prefix_callback_op);
    }
    template <int ITEMS_PER_THREAD, class ScanOp>
    void ExclusiveScan(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD], ScanOp scan_op)
    {
        scan(ThreadReduce(input, scan_op), scan_op);
        if (self)
            write_exclusive(before(), input, output, scan_op);
        else
            write_first_exclusive(input, output, scan_op);
    }
    template <int ITEMS_PER_THREAD, class ScanOp>
    void ExclusiveScan(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD], ScanOp scan_op, T &block_aggregate)
    {
        ExclusiveScan(input, output, scan_op);
        block_aggregate = aggregate();
    }
    template <int ITEMS_PER_THREAD, class ScanOp>
    void ExclusiveScan(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD], T initial_value, ScanOp scan_op)
    {
        scan(ThreadReduce(input, scan_op), scan_op);
        write_exclusive(after(initial_value, scan_op), input, output, scan_op);
    }
    template <int ITEMS_PER_THREAD, class ScanOp>
    void ExclusiveScan(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD], T initial_value, ScanOp scan_op,
                       T &block_aggregate)
    {
        ExclusiveScan(input, output, initial_value, scan_op);
        block_aggregate = aggregate();
    }
    template <int ITEMS_PER_THREAD, class ScanOp, class BlockPrefixCallbackOp>
    void ExclusiveScan(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD], ScanOp scan_op,
                       BlockPrefixCallbackOp &block_prefix_callback_op)
    {
        scan_with_prefix(ThreadReduce(input, scan_op), scan_op, block_prefix_callback_op);
        write_exclusive(after(shared.prefix, scan_op), input, output, scan_op);
    }

    /* ---- inclusive, one item a thread ---------------------------------------------------------------------------- */

    void InclusiveSum(T input, T &output)
    {
        InclusiveScan(input, output, cub::Sum());
    }
    void InclusiveSum(T input, T &output, T &block_aggregate)
    {
        InclusiveScan(input, output, cub::Sum(), block_aggregate);
    }
    template <class BlockPrefixCallbackOp>
    void InclusiveSum(T input, T &output, BlockPrefixCallbackOp &block_prefix_callback_op)
    {
        InclusiveScan(input, output, cub::Sum(), block_prefix_callback_op);
    }
    template <class ScanOp>
    void InclusiveScan(T input, T &output, ScanOp scan_op)
    {
        scan(input, scan_op);
        output = inclusive(self);
    }
    template <class ScanOp>
    void InclusiveScan(T input, T &output, ScanOp scan_op, T &block_aggregate)
    {
        InclusiveScan(input, output, scan_op);
        block_aggregate = aggregate();
    }
    template <class ScanOp, class BlockPrefixCallbackOp>
    void InclusiveScan(T input, T &output, ScanOp scan_op, BlockPrefixCallbackOp &block_prefix_callback_op)
    {
        scan_with_prefix(input, scan_op, block_prefix_callback_op);
        output = static_cast<T>(scan_op(shared.prefix, inclusive(self)));
    }

    /* ---- inclusive, several items a thread -------------------------------------------------------------------------
     */

    template <int ITEMS_PER_THREAD>
    void InclusiveSum(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD])
    {
        InclusiveScan(input, output, cub::Sum());
    }
    template <int ITEMS_PER_THREAD>
    void InclusiveSum(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD], T &block_aggregate)
    {
        InclusiveScan(input, output, cub::Sum(), block_aggregate);
    }
    template <int ITEMS_PER_THREAD, class BlockPrefixCallbackOp>
    void InclusiveSum(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD],
                      BlockPrefixCallbackOp &block_prefix_callback_op)
    {
        InclusiveScan(input, output, cub::Sum(), block_prefix_callback_op);
    }
    template <int ITEMS_PER_THREAD, class ScanOp>
    void InclusiveScan(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD], ScanOp scan_op)
    {
        scan(ThreadReduce(input, scan_op), scan_op);
        T first = self ? static_cast<T>(scan_op(before(), input[0])) : input[0];
        write_inclusive(first, input, output, scan_op);
    }
    template <int ITEMS_PER_THREAD, class ScanOp>
    void InclusiveScan(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD], ScanOp scan_op, T &block_aggregate)
    {
        InclusiveScan(input, output, scan_op);
        block_aggregate = aggregate();
    }
    template <int ITEMS_PER_THREAD, class ScanOp>
    void InclusiveScan(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD], T initial_value, ScanOp scan_op)
    {
        scan(ThreadReduce(input, scan_op), scan_op);
        T first = static_cast<T>(scan_op(after(initial_value, scan_op), input[0]));
        write_inclusive(first, input, output, scan_op);
    }
    template <int ITEMS_PER_THREAD, class ScanOp>
    void InclusiveScan(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD], T initial_value, ScanOp scan_op,
                       T &block_aggregate)
    {
        InclusiveScan(input, output, initial_value, scan_op);
        block_aggregate = aggregate();
    }
    template <int ITEMS_PER_THREAD, class ScanOp, class BlockPrefixCallbackOp>
    void InclusiveScan(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD], ScanOp scan_op,
                       BlockPrefixCallbackOp &block_prefix_callback_op)
    {
        scan_with_prefix(ThreadReduce(input, scan_op), scan_op, block_prefix_callback_op);
        T first = static_cast<T>(scan_op(after(shared.prefix, scan_op), input[0]));
        write_inclusive(first, input, output, scan_op);
    }

  private:
    Values &shared;
    int self;

    static TempStorage &private_storage()
    {
        __shared__ TempStorage storage;
        return storage;
    }

    static int threads()
    {
        return hostcuda::numbered_threads(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z);
    }

    /* Thread 0 computes the inclusive results of all threads when all inputs are there. */
    template <class ScanOp>
    void bring_and_scan(const T &input, ScanOp scan_op)
    {
        hostcuda::check_threads("BlockScan", self < THREADS, THREADS);
        ::new (static_cast<void *>(&shared.of[self])) T(input);
        __syncthreads();
        if (self)
            return;
        int count = threads();
        for (int i = 1; i < count; i++)
            shared.of[i] = static_cast<T>(scan_op(shared.of[i - 1], shared.of[i]));
        ::new (static_cast<void *>(&shared.aggregate)) T(shared.of[count - 1]);
        /* Reversed, so that a thread that comes back too early overwrites a result which another one has yet to read.
         */
        std::reverse(shared.of, shared.of + count);
    }
    template <class ScanOp>
    void scan(const T &input, ScanOp scan_op)
    {
        bring_and_scan(input, scan_op);
        __syncthreads();
    }
    template <class ScanOp, class BlockPrefixCallbackOp>
    void scan_with_prefix(const T &input, ScanOp scan_op, BlockPrefixCallbackOp &block_prefix_callback_op)
    {
        bring_and_scan(input, scan_op);
        if (self < 32) {
            hostcuda_syncwarp(~0u);
            T prefix = block_prefix_callback_op(aggregate());
            if (self == 0)
                ::new (static_cast<void *>(&shared.prefix)) T(prefix);
        }
        __syncthreads();
    }

    T aggregate() const
    {
        hostcuda::check_threads("BlockScan", threads() == THREADS, THREADS);
        return shared.aggregate;
    }
    T inclusive(int thread) const
    {
        return shared.of[threads() - 1 - thread];
    }
    /* The inclusive result of the thread before this one; not for the first thread. */
    T before() const
    {
        return inclusive(self - 1);
    }
    template <class ScanOp>
    T after(const T &prefix, ScanOp scan_op) const
    {
        return self ? static_cast<T>(scan_op(prefix, before())) : prefix;
    }

    template <int ITEMS_PER_THREAD, class ScanOp>
    static void write_exclusive(T prefix, const T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD],
                                ScanOp scan_op)
    {
        for (int i = 0; i < ITEMS_PER_THREAD; i++) {
            T next = static_cast<T>(scan_op(prefix, input[i])); /* the output may be the input */
            output[i] = prefix;
            prefix = next;
        }
    }
    template <int ITEMS_PER_THREAD, class ScanOp>
    static void write_first_exclusive(const T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD], ScanOp scan_op)
    {
        T prefix = input[0];
        output[0] = prefix;
        for (int i = 1; i < ITEMS_PER_THREAD; i++) {
            T next = static_cast<T>(scan_op(prefix, input[i]));
            output[i] = prefix;
            prefix = next;
        }
    }
    template <int ITEMS_PER_THREAD, class ScanOp>
    static void write_inclusive(T first, const T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD],
                                ScanOp scan_op)
    {
        output[0] = first;
        for (int i = 1; i < ITEMS_PER_THREAD; i++)
            output[i] = static_cast<T>(scan_op(output[i - 1], input[i]));
    }
};
} // namespace cub

#endif
