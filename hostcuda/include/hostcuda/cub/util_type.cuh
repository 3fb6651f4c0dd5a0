/* Types that the classes of cub share with programs. */
#ifndef HOSTCUDA_CUB_UTIL_TYPE_CUH
#define HOSTCUDA_CUB_UTIL_TYPE_CUH

#ifndef HOSTCUDA_KERNEL_SHIM_H
#error "hostcuda: cub's headers need hostcuda/kernel_shim.h, which is included first (-include)"
#endif

#include <new>

#include <hostcuda/cub/version.cuh>

namespace cub
{
struct NullType {
    template <class T>
    NullType &operator=(const T &)
    {
        return *this;
    }
    bool operator==(const NullType &) const
    {
        return true;
    }
    bool operator!=(const NullType &) const
    {
        return false;
    }
};

/* Memory for a T that is not constructed, so that it can be shared memory and a member of a union. */
template <class T>
struct Uninitialized {
    alignas(T) unsigned char storage[sizeof(T)];

    T &Alias()
    {
        return *reinterpret_cast<T *>(storage);
    }
};

/* What ArgMax and ArgMin compare: the value first, then the key. */
template <class Key_, class Value_>
struct KeyValuePair {
    using Key = Key_;
    using Value = Value_;

    Key key;
    Value value;

    KeyValuePair() = default;
    KeyValuePair(const Key &of_key, const Value &of_value) : key(of_key), value(of_value)
    {
    }
    bool operator!=(const KeyValuePair &other) const
    {
        return value != other.value || key != other.key;
    }
};

/* The base-2 logarithm of N, rounded up. */
template <int N>
struct Log2 {
    enum { VALUE = N <= 1 ? 0 : 1 + Log2<(N + 1) / 2>::VALUE };
};
template <>
struct Log2<1> {
    enum { VALUE = 0 };
};

template <int N>
struct PowerOfTwo {
    enum { VALUE = (N & (N - 1)) == 0 };
};
} // namespace cub

#endif
