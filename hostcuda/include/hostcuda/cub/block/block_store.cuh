/* cub::BlockStore and the functions below it: each thread of a block stores its items of a tile. As in NVIDIA's cub,
 * BLOCK_STORE_STRIPED stores the items of thread t as t, t + threads and so on; every other algorithm stores
 * ITEMS_PER_THREAD consecutive items. No item is stored past valid_items. Different from NVIDIA's: each thread stores
 * its own items, so TempStorage is not used, and there is no barrier. */
#ifndef HOSTCUDA_CUB_BLOCK_STORE_CUH
#define HOSTCUDA_CUB_BLOCK_STORE_CUH

#include <hostcuda/cub/block/tile_places.cuh>

namespace cub
{
/* ---- one thread's items ------------------------------------------------------------------------------------------ */

template <class T, int ITEMS_PER_THREAD, class Iterator, class... Valid>
void StoreDirectBlocked(int linear_tid, Iterator block_itr, T (&items)[ITEMS_PER_THREAD], Valid... valid_items)
{
    hostcuda::store_tile(hostcuda::blocked_places{linear_tid, ITEMS_PER_THREAD}, block_itr, items, valid_items...);
}
template <class T, int ITEMS_PER_THREAD>
void StoreDirectBlockedVectorized(int linear_tid, T *block_ptr, T (&items)[ITEMS_PER_THREAD])
{
    StoreDirectBlocked(linear_tid, block_ptr, items);
}
template <int BLOCK_THREADS, class T, int ITEMS_PER_THREAD, class Iterator, class... Valid>
void StoreDirectStriped(int linear_tid, Iterator block_itr, T (&items)[ITEMS_PER_THREAD], Valid... valid_items)
{
    hostcuda::store_tile(hostcuda::striped_places{linear_tid, BLOCK_THREADS}, block_itr, items, valid_items...);
}
template <class T, int ITEMS_PER_THREAD, class Iterator, class... Valid>
void StoreDirectWarpStriped(int linear_tid, Iterator block_itr, T (&items)[ITEMS_PER_THREAD], Valid... valid_items)
{
    hostcuda::store_tile(hostcuda::warp_striped_places(linear_tid, ITEMS_PER_THREAD), block_itr, items, valid_items...);
}

/* ---- the class --------------------------------------------------------------------------------------------------- */

enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED,
};

template <class T, int BLOCK_DIM_X, int ITEMS_PER_THREAD, BlockStoreAlgorithm ALGORITHM = BLOCK_STORE_DIRECT,
          int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class BlockStore
{
  public:
    struct TempStorage : Uninitialized<NullType> {
    };

    BlockStore() : self(RowMajorTid(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z))
    {
    }
    explicit BlockStore(TempStorage &) : BlockStore()
    {
    }

    template <class Iterator>
    void Store(Iterator block_itr, T (&items)[ITEMS_PER_THREAD])
    {
        store(block_itr, items);
    }
    template <class Iterator>
    void Store(Iterator block_itr, T (&items)[ITEMS_PER_THREAD], int valid_items)
    {
        store(block_itr, items, valid_items);
    }

  private:
    int self;

    template <class... More>
    void store(More &&...more)
    {
        if constexpr (ALGORITHM == BLOCK_STORE_STRIPED)
            StoreDirectStriped<BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z>(self, more...);
        else
            StoreDirectBlocked(self, more...);
    }
};
} // namespace cub

#endif
