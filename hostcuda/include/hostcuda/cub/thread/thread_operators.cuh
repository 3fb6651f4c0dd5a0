/* Operators for reductions and scans. With CUDA 13, NVIDIA's cub no longer has Sum, Max, Min and the other plain
 * operators, but cuda::std::plus, cuda::maximum and so on. This header has both, if the toolkit's headers of the latter
 * are found. */
#ifndef HOSTCUDA_CUB_THREAD_OPERATORS_CUH
#define HOSTCUDA_CUB_THREAD_OPERATORS_CUH

#include <hostcuda/cub/util_type.cuh>

#if __has_include(<cuda/functional>) && __has_include(<cuda/std/functional>)
#include <cuda/functional>
#include <cuda/std/functional>
#endif

namespace cub
{
#define HOSTCUDA_CUB_OPERATOR(name, value)                                                                             \
    struct name {                                                                                                      \
        template <class A, class B>                                                                                    \
        constexpr auto operator()(const A &a, const B &b) const                                                        \
        {                                                                                                              \
            return value;                                                                                              \
        }                                                                                                              \
    };
HOSTCUDA_CUB_OPERATOR(Equality, a == b)
HOSTCUDA_CUB_OPERATOR(Inequality, a != b)
HOSTCUDA_CUB_OPERATOR(Sum, a + b)
HOSTCUDA_CUB_OPERATOR(Difference, a - b)
HOSTCUDA_CUB_OPERATOR(Division, a / b)
HOSTCUDA_CUB_OPERATOR(Max, a < b ? b : a)
HOSTCUDA_CUB_OPERATOR(Min, b < a ? b : a)
#undef HOSTCUDA_CUB_OPERATOR

/* Returns the pair with the larger (smaller) value; if the values are equal, the one with the smaller key. */
struct ArgMax {
    template <class T>
    constexpr T operator()(const T &a, const T &b) const
    {
        return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
struct ArgMin {
    template <class T>
    constexpr T operator()(const T &a, const T &b) const
    {
        return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};

template <class B>
struct CastOp {
    template <class A>
    constexpr B operator()(A &&a) const
    {
        return static_cast<B>(std::forward<A>(a));
    }
};
} // namespace cub

#endif
