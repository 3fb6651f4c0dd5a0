/* Cooperative groups: a block, tiles of it, and coalesced lanes. The toolkit's headers are for nvcc only. Their guards
 * are set here, so that including them has no effect. */
#ifndef HOSTCUDA_SHIM_GROUPS_H
#define HOSTCUDA_SHIM_GROUPS_H

#include <limits>

#define _COOPERATIVE_GROUPS_H_
#define _COOPERATIVE_GROUPS_REDUCE_H
#define _COOPERATIVE_GROUPS_SCAN_H
#define _COOPERATIVE_GROUPS_MEMCPY_ASYNC

namespace hostcuda
{
inline unsigned block_threads()
{
    return blockDim.x * blockDim.y * blockDim.z;
}
inline unsigned rank_in_block()
{
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
inline unsigned lane_bit()
{
    return 1u << hostcuda_lane();
}
/* Returns the lane of the mask's rank-th set bit. */
inline int lane_of(unsigned mask, unsigned rank)
{
    for (; rank; rank--)
        mask &= mask - 1;
    return __builtin_ctz(mask);
}
/* Returns the mask of the aligned group of `size` lanes that the calling thread is in. `size` is a power of two. */
inline unsigned lanes_around(unsigned size)
{
    unsigned first = static_cast<unsigned>(hostcuda_lane()) / size * size;
    return (size == 32 ? ~0u : (1u << size) - 1) << first;
}
/* Traps if the size is invalid, as CUDA's groups do for a size that is known only at run time. */
inline void check_tile(unsigned size)
{
    if (!size || size > 32 || size & (size - 1))
        hostcuda_trap();
}

/* Shuffles a value of any size, as bytes. */
template <class T>
T shuffle_bytes(unsigned mask, const T &value, int source)
{
    unsigned long long pieces[(sizeof(T) + 7) / 8] = {};
    std::memcpy(pieces, &value, sizeof value);
    for (unsigned long long &piece : pieces)
        piece = hostcuda_shuffle(mask, piece, source);
    T result = value;
    std::memcpy(static_cast<void *>(&result), pieces, sizeof result);
    return result;
}
template <class T>
T shuffle_pieces(unsigned mask, const T &value, int source)
{
    static_assert(moves_as_bytes<T>::value, "a shuffle moves plain bytes");
    return shuffle_bytes(mask, value, source);
}

/* Lanes of one warp, ranked among themselves. */
class lane_group
{
  public:
    unsigned thread_rank() const
    {
        return rank;
    }
    unsigned size() const
    {
        return threads;
    }
    unsigned num_threads() const
    {
        return threads;
    }
    unsigned meta_group_rank() const
    {
        return meta_rank;
    }
    unsigned meta_group_size() const
    {
        return meta_size;
    }
    void sync() const
    {
        hostcuda_syncwarp(mask);
    }

    template <class T>
    T shfl(T value, int source) const
    {
        return shuffle_pieces(mask, value, lane_of(mask, static_cast<unsigned>(source) % threads));
    }
    template <class T>
    T shfl_up(T value, unsigned delta) const
    {
        return shuffle_pieces(mask, value, lane_of(mask, delta <= rank ? rank - delta : rank));
    }
    template <class T>
    T shfl_down(T value, unsigned delta) const
    {
        return shuffle_pieces(mask, value, lane_of(mask, delta < threads - rank ? rank + delta : rank));
    }

    int any(int predicate) const
    {
        return hostcuda_ballot(mask, predicate) != 0;
    }
    int all(int predicate) const
    {
        return hostcuda_ballot(mask, !predicate) == 0;
    }
    unsigned ballot(int predicate) const
    {
        return pack(hostcuda_ballot(mask, predicate));
    }
    template <class T>
    unsigned match_any(T value) const
    {
        return pack(__match_any_sync(mask, value));
    }
    template <class T>
    unsigned match_all(T value, int &predicate) const
    {
        return pack(__match_all_sync(mask, value, &predicate));
    }

    /* Not in CUDA: the mask of the group's lanes. */
    unsigned hostcuda_mask() const
    {
        return mask;
    }

  protected:
    lane_group(unsigned lanes, unsigned of_meta_rank, unsigned of_meta_size)
        : mask(lanes), rank(static_cast<unsigned>(__popc(lanes & (lane_bit() - 1)))),
          threads(static_cast<unsigned>(__popc(lanes))), meta_rank(of_meta_rank), meta_size(of_meta_size)
    {
    }

    unsigned mask, rank, threads, meta_rank, meta_size;

  private:
    /* Converts a mask of lanes to a mask of ranks. */
    unsigned pack(unsigned lanes) const
    {
        unsigned packed = 0, at = 0;
        for (unsigned left = mask; left; left &= left - 1, at++)
            packed |= (lanes >> __builtin_ctz(left) & 1u) << at;
        return packed;
    }
};
} // namespace hostcuda

namespace cooperative_groups
{
/* ---- groups of any kind, and blocks ------------------------------------------------------------------------------ */

class thread_group
{
  public:
    thread_group(const hostcuda::lane_group &lanes)
        : mask(lanes.hostcuda_mask()), rank(lanes.thread_rank()), threads(lanes.size())
    {
    }
    unsigned long long size() const
    {
        return threads;
    }
    unsigned long long num_threads() const
    {
        return threads;
    }
    unsigned long long thread_rank() const
    {
        return rank;
    }
    void sync() const
    {
        if (mask)
            hostcuda_syncwarp(mask);
        else
            hostcuda_barrier(0);
    }

  protected:
    thread_group() : mask(0), rank(hostcuda::rank_in_block()), threads(hostcuda::block_threads())
    {
    }

  private:
    friend thread_group tiled_partition(const thread_group &parent, unsigned size);
    unsigned mask; /* mask of lanes; 0: the block */
    unsigned rank, threads;
};

class thread_block : public thread_group
{
  public:
    static void sync()
    {
        hostcuda_barrier(0);
    }
    static unsigned thread_rank()
    {
        return hostcuda::rank_in_block();
    }
    static unsigned size()
    {
        return hostcuda::block_threads();
    }
    static unsigned num_threads()
    {
        return hostcuda::block_threads();
    }
    static dim3 group_index()
    {
        return dim3(blockIdx.x, blockIdx.y, blockIdx.z);
    }
    static dim3 thread_index()
    {
        return dim3(threadIdx.x, threadIdx.y, threadIdx.z);
    }
    static dim3 group_dim()
    {
        return dim3(blockDim.x, blockDim.y, blockDim.z);
    }
    static dim3 dim_threads()
    {
        return group_dim();
    }
};

inline thread_block this_thread_block()
{
    return thread_block();
}

/* ---- coalesced lanes --------------------------------------------------------------------------------------------- */

class coalesced_group : public hostcuda::lane_group
{
  public:
    explicit coalesced_group(unsigned lanes, unsigned meta_rank = 0, unsigned meta_size = 1)
        : lane_group(lanes, meta_rank, meta_size)
    {
    }
};

/* Waits until no other thread of the block can go on. Returns the lanes that have arrived in the same branch by then.
 * Inlined, since the address of the call tells branches apart. */
__attribute__((always_inline)) inline coalesced_group coalesced_threads()
{
    return coalesced_group(hostcuda_coalesced());
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

template <unsigned Size, class Parent = void>
class thread_block_tile;

template <unsigned Size>
class thread_block_tile<Size, void> : public hostcuda::lane_group
{
    static_assert(Size && (Size & (Size - 1)) == 0, "the size of a tile is a power of two");
    static_assert(Size <= 32, "hostcuda: tiles of more than 32 threads are not supported");

  public:
    static constexpr unsigned size()
    {
        return Size;
    }
    static constexpr unsigned num_threads()
    {
        return Size;
    }
    template <class T>
    T shfl_xor(T value, unsigned bits) const
    {
        return shfl(value, static_cast<int>((rank ^ bits) < Size ? rank ^ bits : rank));
    }

  protected:
    thread_block_tile(unsigned meta_rank, unsigned meta_size)
        : lane_group(hostcuda::lanes_around(Size), meta_rank, meta_size)
    {
    }
};

template <unsigned Size, class Parent>
class thread_block_tile : public thread_block_tile<Size, void>
{
  public:
    thread_block_tile(const Parent &parent)
        : thread_block_tile<Size, void>(static_cast<unsigned>(parent.thread_rank()) / Size,
                                        (static_cast<unsigned>(parent.size()) + Size - 1) / Size)
    {
    }
};

template <class Parent>
struct threads_at_most : std::integral_constant<unsigned, 0> {
};
template <>
struct threads_at_most<thread_block> : std::integral_constant<unsigned, 2048> {
};
template <unsigned Size, class Parent>
struct threads_at_most<thread_block_tile<Size, Parent>> : std::integral_constant<unsigned, Size> {
};

template <unsigned Size, class Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent &parent)
{
    static_assert(Size < threads_at_most<Parent>::value, "a tile is of a block, or smaller than the tile it is of");
    return thread_block_tile<Size, Parent>(parent);
}

inline coalesced_group tiled_partition(const coalesced_group &parent, unsigned size)
{
    hostcuda::check_tile(size);
    unsigned lanes = 0, first = parent.thread_rank() / size * size;
    for (unsigned rank = first; rank < first + size && rank < parent.size(); rank++)
        lanes |= 1u << hostcuda::lane_of(parent.hostcuda_mask(), rank);
    return coalesced_group(lanes, first / size, (parent.size() + size - 1) / size);
}
inline thread_group tiled_partition(const thread_group &parent, unsigned size)
{
    hostcuda::check_tile(size);
    return parent.mask ? tiled_partition(coalesced_group(parent.mask), size)
                       : coalesced_group(hostcuda::lanes_around(size));
}

/* ---- functions of all groups ------------------------------------------------------------------------------------- */

template <class Group>
void sync(const Group &group)
{
    group.sync();
}
template <class Group>
auto thread_rank(const Group &group) -> decltype(group.thread_rank())
{
    return group.thread_rank();
}
template <class Group>
auto group_size(const Group &group) -> decltype(group.num_threads())
{
    return group.num_threads();
}

template <class T>
struct plus {
    T operator()(T a, T b) const
    {
        return a + b;
    }
};
template <class T>
struct less {
    T operator()(T a, T b) const
    {
        return b < a ? b : a;
    }
};
template <class T>
struct greater {
    T operator()(T a, T b) const
    {
        return a < b ? b : a;
    }
};
template <class T>
struct bit_and {
    T operator()(T a, T b) const
    {
        return a & b;
    }
};
template <class T>
struct bit_or {
    T operator()(T a, T b) const
    {
        return a | b;
    }
};
template <class T>
struct bit_xor {
    T operator()(T a, T b) const
    {
        return a ^ b;
    }
};

template <unsigned Size, class T, class Op>
T reduce(const thread_block_tile<Size, void> &group, T value, Op op)
{
    for (unsigned bits = Size / 2; bits; bits /= 2)
        value = op(value, group.shfl_xor(value, bits));
    return value;
}
template <class T, class Op>
T reduce(const coalesced_group &group, T value, Op op)
{
    T result = group.shfl(value, 0);
    for (unsigned rank = 1; rank < group.size(); rank++)
        result = op(result, group.shfl(value, static_cast<int>(rank)));
    return result;
}

/* ---- functions of lanes: scans, partitions, elections ------------------------------------------------------------ */

template <class Group>
using if_lanes = std::enable_if_t<std::is_base_of<hostcuda::lane_group, Group>::value>;

/* The value that the first lane gets from an exclusive scan. */
template <class T, class Op>
struct identity {
    static T value()
    {
        return T();
    }
};
template <class T>
struct identity<T, less<T>> {
    static T value()
    {
        return std::numeric_limits<T>::max();
    }
};
template <class T>
struct identity<T, greater<T>> {
    static T value()
    {
        return std::numeric_limits<T>::lowest();
    }
};
template <class T>
struct identity<T, bit_and<T>> {
    static T value()
    {
        return static_cast<T>(~T());
    }
};

template <class Group, class T, class Op, class = if_lanes<Group>>
T inclusive_scan(const Group &group, T value, Op op)
{
    for (unsigned offset = 1; offset < group.size(); offset *= 2) {
        T before = group.shfl_up(value, offset);
        if (group.thread_rank() >= offset)
            value = op(before, value);
    }
    return value;
}
template <class Group, class T, class Op, class = if_lanes<Group>>
T exclusive_scan(const Group &group, T value, Op op)
{
    T before = group.shfl_up(inclusive_scan(group, value, op), 1);
    return group.thread_rank() ? before : identity<T, Op>::value();
}
template <class Group, class T, class = if_lanes<Group>>
T inclusive_scan(const Group &group, T value)
{
    return inclusive_scan(group, value, plus<T>());
}
template <class Group, class T, class = if_lanes<Group>>
T exclusive_scan(const Group &group, T value)
{
    return exclusive_scan(group, value, plus<T>());
}

/* Returns the group of the lanes with the same label. */
template <class Group, class Label, class = if_lanes<Group>>
coalesced_group labeled_partition(const Group &group, Label label)
{
    unsigned mask = group.hostcuda_mask(), same = __match_any_sync(mask, label), first = same & (~same + 1);
    unsigned firsts = hostcuda_ballot(mask, first == hostcuda::lane_bit());
    return coalesced_group(same, static_cast<unsigned>(__popc(firsts & (first - 1))),
                           static_cast<unsigned>(__popc(firsts)));
}
template <class Group, class = if_lanes<Group>>
coalesced_group binary_partition(const Group &group, bool predicate)
{
    unsigned mask = group.hostcuda_mask(), with = hostcuda_ballot(mask, predicate);
    return coalesced_group(predicate ? with : mask & ~with, predicate, 2);
}

template <class Group, class F, class... Arguments>
void invoke_one(const Group &group, F &&f, Arguments &&...arguments)
{
    if (group.thread_rank() == 0)
        std::forward<F>(f)(std::forward<Arguments>(arguments)...);
}

/* ---- copies by a group ------------------------------------------------------------------------------------------- */

/* The call itself copies the calling thread's part. The parts of other threads are complete after the wait. */
template <class Group, class To, class From, class Bytes>
void memcpy_async(const Group &group, To *to, const From *from, const Bytes &bytes)
{
    const std::size_t count = bytes, step = group.size();
    for (std::size_t i = group.thread_rank(); i < count; i += step)
        reinterpret_cast<char *>(to)[i] = reinterpret_cast<const char *>(from)[i];
}
/* Copies as many elements as both layouts have. */
template <class Group, class T, class To_count, class From_count>
void memcpy_async(const Group &group, T *to, const To_count &to_count, const T *from, const From_count &from_count)
{
    const std::size_t room = to_count, there = from_count;
    memcpy_async(group, to, from, (room < there ? room : there) * sizeof(T));
}
template <class Group>
void wait(const Group &group)
{
    group.sync();
}
template <unsigned Later, class Group>
void wait_prior(const Group &group)
{
    group.sync();
}

/* ---- grids and clusters ------------------------------------------------------------------------------------------ */

/* Indices in the grid. Operations of several blocks together are not supported. */
class grid_group
{
  public:
    static bool is_valid()
    {
        return false;
    }
    static unsigned long long num_blocks()
    {
        return 1ull * gridDim.x * gridDim.y * gridDim.z;
    }
    static dim3 block_index()
    {
        return dim3(blockIdx.x, blockIdx.y, blockIdx.z);
    }
    static dim3 dim_blocks()
    {
        return dim3(gridDim.x, gridDim.y, gridDim.z);
    }
    static dim3 group_dim()
    {
        return dim_blocks();
    }
    static unsigned long long block_rank()
    {
        return (1ull * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    static unsigned long long size()
    {
        return num_blocks() * hostcuda::block_threads();
    }
    static unsigned long long num_threads()
    {
        return size();
    }
    static unsigned long long thread_rank()
    {
        return block_rank() * hostcuda::block_threads() + hostcuda::rank_in_block();
    }
    template <bool supported = false>
    static void sync()
    {
        static_assert(supported, "hostcuda: a grid cannot wait for all its blocks: they run one after the other");
    }
};

inline grid_group this_grid()
{
    return grid_group();
}
template <bool supported = false>
void this_cluster()
{
    static_assert(supported, "hostcuda: clusters of blocks are not supported");
}
} // namespace cooperative_groups

#endif
