/* Atomic functions of CUDA C++ for all scopes. Each returns the old value. */
#ifndef HOSTCUDA_SHIM_ATOMICS_H
#define HOSTCUDA_SHIM_ATOMICS_H

namespace hostcuda
{
template <class T>
struct same {
    using type = T;
};
/* The second argument converts to the pointer's type, as in CUDA's overloads. */
template <class T>
using same_t = typename same<T>::type;

template <class T, class F>
T atomic_update(T *address, F next)
{
    T old;
    __atomic_load(address, &old, __ATOMIC_RELAXED);
    for (;;) {
        T wanted = next(old);
        if (__atomic_compare_exchange(address, &old, &wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return old;
    }
}

template <class T>
constexpr bool is_word = std::is_integral<T>::value && sizeof(T) >= 4;
} // namespace hostcuda

template <class T>
T atomicAdd(T *address, hostcuda::same_t<T> value)
{
    if constexpr (hostcuda::is_word<T>)
        return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
    else
        return hostcuda::atomic_update(address, [value](T old) { return static_cast<T>(old + value); });
}
/* Each element is atomic on its own. */
inline float2 atomicAdd(float2 *address, float2 value)
{
    return make_float2(atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y));
}
inline float4 atomicAdd(float4 *address, float4 value)
{
    return make_float4(atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y),
                       atomicAdd(&address->z, value.z), atomicAdd(&address->w, value.w));
}
template <class T>
T atomicSub(T *address, hostcuda::same_t<T> value)
{
    static_assert(hostcuda::is_word<T>, "atomicSub takes integers");
    return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicMax(T *address, hostcuda::same_t<T> value)
{
    static_assert(hostcuda::is_word<T>, "atomicMax takes integers");
    return hostcuda::atomic_update(address, [value](T old) { return old < value ? value : old; });
}
template <class T>
T atomicMin(T *address, hostcuda::same_t<T> value)
{
    static_assert(hostcuda::is_word<T>, "atomicMin takes integers");
    return hostcuda::atomic_update(address, [value](T old) { return value < old ? value : old; });
}
template <class T>
T atomicExch(T *address, hostcuda::same_t<T> value)
{
    T old;
    __atomic_exchange(address, &value, &old, __ATOMIC_RELAXED);
    if (old == value)
        hostcuda_yield(); /* the value may be a lock: let its owner run */
    return old;
}
template <class T>
T atomicCAS(T *address, hostcuda::same_t<T> compare, hostcuda::same_t<T> value)
{
    static_assert(std::is_integral<T>::value, "atomicCAS takes integers");
    T old = compare;
    if (!__atomic_compare_exchange(address, &old, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        hostcuda_yield(); /* the value may be a lock: let its owner run */
    return old;
}
template <class T>
T atomicAnd(T *address, hostcuda::same_t<T> value)
{
    static_assert(hostcuda::is_word<T>, "atomicAnd takes integers");
    return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicOr(T *address, hostcuda::same_t<T> value)
{
    static_assert(hostcuda::is_word<T>, "atomicOr takes integers");
    return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicXor(T *address, hostcuda::same_t<T> value)
{
    static_assert(hostcuda::is_word<T>, "atomicXor takes integers");
    return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
}
inline unsigned atomicInc(unsigned *address, unsigned limit)
{
    return hostcuda::atomic_update(address, [limit](unsigned old) { return old >= limit ? 0u : old + 1u; });
}
inline unsigned atomicDec(unsigned *address, unsigned limit)
{
    return hostcuda::atomic_update(address, [limit](unsigned old) { return !old || old > limit ? limit : old - 1u; });
}

/* All scopes are the same here: the threads of all devices belong to one process. */
#define HOSTCUDA_SCOPE(name, scope)                                                                                    \
    template <class T>                                                                                                 \
    T name##scope(T *address, hostcuda::same_t<T> value)                                                               \
    {                                                                                                                  \
        return name(address, value);                                                                                   \
    }
#define HOSTCUDA_SCOPES(name) HOSTCUDA_SCOPE(name, _block) HOSTCUDA_SCOPE(name, _system)
HOSTCUDA_SCOPES(atomicAdd)
HOSTCUDA_SCOPES(atomicSub)
HOSTCUDA_SCOPES(atomicMax)
HOSTCUDA_SCOPES(atomicMin)
HOSTCUDA_SCOPES(atomicExch)
HOSTCUDA_SCOPES(atomicAnd)
HOSTCUDA_SCOPES(atomicOr)
HOSTCUDA_SCOPES(atomicXor)
HOSTCUDA_SCOPES(atomicInc)
HOSTCUDA_SCOPES(atomicDec)
#undef HOSTCUDA_SCOPES
#undef HOSTCUDA_SCOPE

template <class T>
T atomicCAS_block(T *address, hostcuda::same_t<T> compare, hostcuda::same_t<T> value)
{
    return atomicCAS(address, compare, value);
}
template <class T>
T atomicCAS_system(T *address, hostcuda::same_t<T> compare, hostcuda::same_t<T> value)
{
    return atomicCAS(address, compare, value);
}

#endif
