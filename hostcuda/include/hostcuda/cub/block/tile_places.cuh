/* Where a thread's items are in a tile. NVIDIA's cub has no such header. */
#ifndef HOSTCUDA_CUB_TILE_PLACES_CUH
#define HOSTCUDA_CUB_TILE_PLACES_CUH

#include <hostcuda/cub/util_ptx.cuh>

namespace hostcuda
{
/* Maps a thread's i-th item to its index in the tile. */
struct blocked_places {
    int thread, items;

    int operator()(int i) const
    {
        return thread * items + i;
    }
};
struct striped_places {
    int first, stride;

    int operator()(int i) const
    {
        return first + i * stride;
    }
};
inline striped_places warp_striped_places(int thread, int items)
{
    return {thread / 32 * 32 * items + thread % 32, 32};
}

template <class Places, class Iterator, class T, int ITEMS>
void load_tile(Places place, Iterator from, T (&items)[ITEMS])
{
    for (int i = 0; i < ITEMS; i++)
        items[i] = static_cast<T>(from[place(i)]);
}
template <class Places, class Iterator, class T, int ITEMS>
void load_tile(Places place, Iterator from, T (&items)[ITEMS], int end)
{
    for (int i = 0; i < ITEMS; i++)
        if (place(i) < end)
            items[i] = static_cast<T>(from[place(i)]);
}
template <class T, int ITEMS, class Default>
void fill_items(T (&items)[ITEMS], const Default &value)
{
    for (T &item : items)
        item = static_cast<T>(value);
}

template <class Places, class Iterator, class T, int ITEMS>
void store_tile(Places place, Iterator to, T (&items)[ITEMS])
{
    for (int i = 0; i < ITEMS; i++)
        to[place(i)] = items[i];
}
template <class Places, class Iterator, class T, int ITEMS>
void store_tile(Places place, Iterator to, T (&items)[ITEMS], int end)
{
    for (int i = 0; i < ITEMS; i++)
        if (place(i) < end)
            to[place(i)] = items[i];
}
} // namespace hostcuda

#endif
