/* cub::BlockReduce: reductions by the threads of a block. As in NVIDIA's cub, thread 0 gets the result. Threads are
 * numbered x first, and the operator is applied in their order, whatever the algorithm. A block may have fewer threads
 * than the class, if num_valid gives their number. Different from NVIDIA's: every other thread gets its own input back,
 * where NVIDIA's result is undefined. Threads that use TempStorage again without a barrier in between overwrite the
 * first result, as they may on a GPU; here it nearly always happens. */
#ifndef HOSTCUDA_CUB_BLOCK_REDUCE_CUH
#define HOSTCUDA_CUB_BLOCK_REDUCE_CUH

#include <hostcuda/cub/thread/thread_reduce.cuh>
#include <hostcuda/cub/util_ptx.cuh>

namespace cub
{
/* All algorithms give the same result here. */
enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS,
};

template <class T, int BLOCK_DIM_X, BlockReduceAlgorithm ALGORITHM = BLOCK_REDUCE_WARP_REDUCTIONS, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1>
class BlockReduce
{
    static constexpr int THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;
    struct Inputs {
        T of[THREADS];
    };

  public:
    struct TempStorage : Uninitialized<Inputs> {
    };

    BlockReduce() : BlockReduce(private_storage())
    {
    }
    explicit BlockReduce(TempStorage &temp_storage)
        : input_of(temp_storage.Alias().of), self(RowMajorTid(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z))
    {
    }

    template <class ReductionOp>
    T Reduce(T input, ReductionOp reduction_op)
    {
        return Reduce(input, reduction_op, THREADS);
    }
    template <int ITEMS_PER_THREAD, class ReductionOp>
    T Reduce(T (&inputs)[ITEMS_PER_THREAD], ReductionOp reduction_op)
    {
        return Reduce(ThreadReduce(inputs, reduction_op), reduction_op);
    }
    /* Reduces the inputs of the first num_valid threads. */
    template <class ReductionOp>
    T Reduce(T input, ReductionOp reduction_op, int num_valid)
    {
        hostcuda::check_threads("BlockReduce", self < THREADS, THREADS);
        ::new (static_cast<void *>(&input_of[self])) T(input);
        __syncthreads();
        return self ? input : fold(num_valid < THREADS ? num_valid : THREADS, reduction_op);
    }

    T Sum(T input)
    {
        return Reduce(input, cub::Sum());
    }
    template <int ITEMS_PER_THREAD>
    T Sum(T (&inputs)[ITEMS_PER_THREAD])
    {
        return Reduce(inputs, cub::Sum());
    }
    T Sum(T input, int num_valid)
    {
        return Reduce(input, cub::Sum(), num_valid);
    }

  private:
    T *input_of;
    int self;

    static TempStorage &private_storage()
    {
        __shared__ TempStorage storage;
        return storage;
    }

    /* Reduces in pairs within each warp, then warp by warp, so that floating-point sums are grouped as on a GPU. */
    template <class ReductionOp>
    T fold(int count, ReductionOp reduction_op)
    {
        hostcuda::check_threads("BlockReduce",
                                count <= hostcuda::numbered_threads(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z), count);
        for (int first = 0; first < count; first += 32) {
            fold_warp(&input_of[first], count - first < 32 ? count - first : 32, reduction_op);
            if (first)
                input_of[0] = static_cast<T>(reduction_op(input_of[0], input_of[first]));
        }
        return input_of[0];
    }
    template <class ReductionOp>
    static void fold_warp(T *inputs, int count, ReductionOp reduction_op)
    {
        for (int step = 1; step < count; step *= 2)
            for (int i = 0; i + step < count; i += 2 * step)
                inputs[i] = static_cast<T>(reduction_op(inputs[i], inputs[i + step]));
    }
};
} // namespace cub

#endif
