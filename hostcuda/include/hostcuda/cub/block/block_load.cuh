/* cub::BlockLoad and the functions below it: each thread of a block loads its items of a tile. As in NVIDIA's cub,
 * BLOCK_LOAD_STRIPED gives thread t the items t, t + threads and so on; every other algorithm gives it ITEMS_PER_THREAD
 * consecutive items. Items that are not loaded keep their values, or get the default. Different from NVIDIA's: each
 * thread reads its own items from memory, so TempStorage is not used, and there is no barrier. */
#ifndef HOSTCUDA_CUB_BLOCK_LOAD_CUH
#define HOSTCUDA_CUB_BLOCK_LOAD_CUH

#include <hostcuda/cub/block/tile_places.cuh>

namespace cub
{
/* ---- one thread's items ------------------------------------------------------------------------------------------ */

template <class T, int ITEMS_PER_THREAD, class Iterator>
void LoadDirectBlocked(int linear_tid, Iterator block_src_it, T (&dst_items)[ITEMS_PER_THREAD])
{
    hostcuda::load_tile(hostcuda::blocked_places{linear_tid, ITEMS_PER_THREAD}, block_src_it, dst_items);
}
template <class T, int ITEMS_PER_THREAD, class Iterator>
void LoadDirectBlocked(int linear_tid, Iterator block_src_it, T (&dst_items)[ITEMS_PER_THREAD], int block_items_end)
{
    hostcuda::load_tile(hostcuda::blocked_places{linear_tid, ITEMS_PER_THREAD}, block_src_it, dst_items,
                        block_items_end);
}
template <class T, class Default, int ITEMS_PER_THREAD, class Iterator>
void LoadDirectBlocked(int linear_tid, Iterator block_src_it, T (&dst_items)[ITEMS_PER_THREAD], int block_items_end,
                       Default oob_default)
{
    hostcuda::fill_items(dst_items, oob_default);
    LoadDirectBlocked(linear_tid, block_src_it, dst_items, block_items_end);
}
template <class T, int ITEMS_PER_THREAD>
void LoadDirectBlockedVectorized(int linear_tid, T *block_src_ptr, T (&dst_items)[ITEMS_PER_THREAD])
{
    LoadDirectBlocked(linear_tid, block_src_ptr, dst_items);
}

template <int BLOCK_THREADS, class T, int ITEMS_PER_THREAD, class Iterator>
void LoadDirectStriped(int linear_tid, Iterator block_src_it, T (&dst_items)[ITEMS_PER_THREAD])
{
    hostcuda::load_tile(hostcuda::striped_places{linear_tid, BLOCK_THREADS}, block_src_it, dst_items);
}
template <int BLOCK_THREADS, class T, int ITEMS_PER_THREAD, class Iterator>
void LoadDirectStriped(int linear_tid, Iterator block_src_it, T (&dst_items)[ITEMS_PER_THREAD], int block_items_end)
{
    hostcuda::load_tile(hostcuda::striped_places{linear_tid, BLOCK_THREADS}, block_src_it, dst_items, block_items_end);
}
template <int BLOCK_THREADS, class T, class Default, int ITEMS_PER_THREAD, class Iterator>
void LoadDirectStriped(int linear_tid, Iterator block_src_it, T (&dst_items)[ITEMS_PER_THREAD], int block_items_end,
                       Default oob_default)
{
    hostcuda::fill_items(dst_items, oob_default);
    LoadDirectStriped<BLOCK_THREADS>(linear_tid, block_src_it, dst_items, block_items_end);
}

template <class T, int ITEMS_PER_THREAD, class Iterator>
void LoadDirectWarpStriped(int linear_tid, Iterator block_src_it, T (&dst_items)[ITEMS_PER_THREAD])
{
    hostcuda::load_tile(hostcuda::warp_striped_places(linear_tid, ITEMS_PER_THREAD), block_src_it, dst_items);
}
template <class T, int ITEMS_PER_THREAD, class Iterator>
void LoadDirectWarpStriped(int linear_tid, Iterator block_src_it, T (&dst_items)[ITEMS_PER_THREAD], int block_items_end)
{
    hostcuda::load_tile(hostcuda::warp_striped_places(linear_tid, ITEMS_PER_THREAD), block_src_it, dst_items,
                        block_items_end);
}
template <class T, class Default, int ITEMS_PER_THREAD, class Iterator>
void LoadDirectWarpStriped(int linear_tid, Iterator block_src_it, T (&dst_items)[ITEMS_PER_THREAD], int block_items_end,
                           Default oob_default)
{
    hostcuda::fill_items(dst_items, oob_default);
    LoadDirectWarpStriped(linear_tid, block_src_it, dst_items, block_items_end);
}

/* ---- the class --------------------------------------------------------------------------------------------------- */

enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED,
};

template <class T, int BLOCK_DIM_X, int ITEMS_PER_THREAD, BlockLoadAlgorithm ALGORITHM = BLOCK_LOAD_DIRECT,
          int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class BlockLoad
{
  public:
    struct TempStorage : Uninitialized<NullType> {
    };

    BlockLoad() : self(RowMajorTid(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z))
    {
    }
    explicit BlockLoad(TempStorage &) : BlockLoad()
    {
    }

    template <class Iterator>
    void Load(Iterator block_src_it, T (&dst_items)[ITEMS_PER_THREAD])
    {
        load(block_src_it, dst_items);
    }
    template <class Iterator>
    void Load(Iterator block_src_it, T (&dst_items)[ITEMS_PER_THREAD], int block_items_end)
    {
        load(block_src_it, dst_items, block_items_end);
    }
    template <class Iterator, class Default>
    void Load(Iterator block_src_it, T (&dst_items)[ITEMS_PER_THREAD], int block_items_end, Default oob_default)
    {
        load(block_src_it, dst_items, block_items_end, oob_default);
    }

  private:
    int self;

    template <class... More>
    void load(More &&...more)
    {
        if constexpr (ALGORITHM == BLOCK_LOAD_STRIPED)
            LoadDirectStriped<BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z>(self, more...);
        else
            LoadDirectBlocked(self, more...);
    }
};
} // namespace cub

#endif
