/* Mathematical and integer intrinsics of CUDA C++ that the C library lacks. The fast functions are as exact as the C
 * library's, since a result that depends on their error would differ between devices anyway. */
#ifndef HOSTCUDA_SHIM_MATH_H
#define HOSTCUDA_SHIM_MATH_H

/* max and min of any two numbers, which CUDA C++ has without std::. If one is NaN, the result is the other. */
template <class A, class B, class = std::enable_if_t<std::is_arithmetic<A>::value && std::is_arithmetic<B>::value>>
constexpr std::common_type_t<A, B> max(A a, B b)
{
    using T = std::common_type_t<A, B>;
    if constexpr (std::is_floating_point<T>::value)
        return a != a                                  ? static_cast<T>(b)
               : static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b)
                                                       : static_cast<T>(a);
    else
        return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B, class = std::enable_if_t<std::is_arithmetic<A>::value && std::is_arithmetic<B>::value>>
constexpr std::common_type_t<A, B> min(A a, B b)
{
    using T = std::common_type_t<A, B>;
    if constexpr (std::is_floating_point<T>::value)
        return a != a                                  ? static_cast<T>(b)
               : static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b)
                                                       : static_cast<T>(a);
    else
        return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}

#define HOSTCUDA_MATH_1(type, name, x, value)                                                                          \
    inline type name(type x)                                                                                           \
    {                                                                                                                  \
        return value;                                                                                                  \
    }
#define HOSTCUDA_MATH_2(type, name, x, y, value)                                                                       \
    inline type name(type x, type y)                                                                                   \
    {                                                                                                                  \
        return value;                                                                                                  \
    }
HOSTCUDA_MATH_1(float, rsqrtf, x, 1.0f / std::sqrt(x))
HOSTCUDA_MATH_1(double, rsqrt, x, 1.0 / std::sqrt(x))
HOSTCUDA_MATH_1(float, __expf, x, std::exp(x))
HOSTCUDA_MATH_1(float, __exp10f, x, std::pow(10.0f, x))
HOSTCUDA_MATH_1(float, __logf, x, std::log(x))
HOSTCUDA_MATH_1(float, __log2f, x, std::log2(x))
HOSTCUDA_MATH_1(float, __log10f, x, std::log10(x))
HOSTCUDA_MATH_1(float, __sinf, x, std::sin(x))
HOSTCUDA_MATH_1(float, __cosf, x, std::cos(x))
HOSTCUDA_MATH_1(float, __tanf, x, std::tan(x))
HOSTCUDA_MATH_1(float, __saturatef, x, x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f)
HOSTCUDA_MATH_1(float, __frcp_rn, x, 1.0f / x)
HOSTCUDA_MATH_1(float, __frsqrt_rn, x, static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))))
HOSTCUDA_MATH_1(float, __fsqrt_rn, x, std::sqrt(x))
HOSTCUDA_MATH_1(double, __drcp_rn, x, 1.0 / x)
HOSTCUDA_MATH_1(double, __dsqrt_rn, x, std::sqrt(x))
HOSTCUDA_MATH_2(float, __powf, x, y, std::pow(x, y))
HOSTCUDA_MATH_2(float, __fdividef, x, y, x / y)
HOSTCUDA_MATH_2(float, fdividef, x, y, x / y)
HOSTCUDA_MATH_2(float, __fdiv_rn, x, y, x / y)
HOSTCUDA_MATH_2(float, __fadd_rn, x, y, x + y)
HOSTCUDA_MATH_2(float, __fsub_rn, x, y, x - y)
HOSTCUDA_MATH_2(float, __fmul_rn, x, y, x *y)
HOSTCUDA_MATH_2(double, __dadd_rn, x, y, x + y)
HOSTCUDA_MATH_2(double, __dsub_rn, x, y, x - y)
HOSTCUDA_MATH_2(double, __dmul_rn, x, y, x *y)
HOSTCUDA_MATH_2(double, __ddiv_rn, x, y, x / y)
inline float __fmaf_rn(float x, float y, float z)
{
    return std::fma(x, y, z);
}
inline double __fma_rn(double x, double y, double z)
{
    return std::fma(x, y, z);
}
inline void __sincosf(float x, float *sine, float *cosine)
{
    *sine = std::sin(x);
    *cosine = std::cos(x);
}

/* ---- conversions -------------------------------------------------------------------------------------------- */

namespace hostcuda
{
template <class To, class From>
To bits(From value)
{
    static_assert(sizeof(To) == sizeof(From), "");
    To result;
    std::memcpy(&result, &value, sizeof result);
    return result;
}
/* CUDA's conversions clamp to the range of the integer and turn NaN into 0; C++ leaves both undefined. */
template <class To, class From>
To clamp(From value)
{
    const From low = static_cast<From>(std::is_signed<To>::value ? -std::ldexp(1.0, sizeof(To) * 8 - 1) : 0.0);
    const From high = static_cast<From>(std::ldexp(1.0, sizeof(To) * 8 - (std::is_signed<To>::value ? 1 : 0)));
    constexpr To most =
        static_cast<To>(std::is_signed<To>::value ? ~0ull >> (65 - sizeof(To) * 8) : ~0ull >> (64 - sizeof(To) * 8));
    if (value != value)
        return 0;
    if (value >= high)
        return most;
    return value <= low ? static_cast<To>(low) : static_cast<To>(value);
}
} // namespace hostcuda

inline int __float_as_int(float x)
{
    return hostcuda::bits<int>(x);
}
inline unsigned __float_as_uint(float x)
{
    return hostcuda::bits<unsigned>(x);
}
inline float __int_as_float(int x)
{
    return hostcuda::bits<float>(x);
}
inline float __uint_as_float(unsigned x)
{
    return hostcuda::bits<float>(x);
}
inline long long __double_as_longlong(double x)
{
    return hostcuda::bits<long long>(x);
}
inline double __longlong_as_double(long long x)
{
    return hostcuda::bits<double>(x);
}
#define HOSTCUDA_ROUND(from, type, name)                                                                               \
    inline type name##_rn(from x)                                                                                      \
    {                                                                                                                  \
        return hostcuda::clamp<type>(std::nearbyint(x));                                                               \
    }                                                                                                                  \
    inline type name##_rz(from x)                                                                                      \
    {                                                                                                                  \
        return hostcuda::clamp<type>(std::trunc(x));                                                                   \
    }                                                                                                                  \
    inline type name##_rd(from x)                                                                                      \
    {                                                                                                                  \
        return hostcuda::clamp<type>(std::floor(x));                                                                   \
    }                                                                                                                  \
    inline type name##_ru(from x)                                                                                      \
    {                                                                                                                  \
        return hostcuda::clamp<type>(std::ceil(x));                                                                    \
    }
HOSTCUDA_ROUND(float, int, __float2int)
HOSTCUDA_ROUND(float, unsigned, __float2uint)
HOSTCUDA_ROUND(float, long long, __float2ll)
HOSTCUDA_ROUND(float, unsigned long long, __float2ull)
HOSTCUDA_ROUND(double, int, __double2int)
HOSTCUDA_ROUND(double, unsigned, __double2uint)
HOSTCUDA_ROUND(double, long long, __double2ll)
HOSTCUDA_ROUND(double, unsigned long long, __double2ull)
#undef HOSTCUDA_ROUND
#define HOSTCUDA_CONVERT(from, type, name)                                                                             \
    inline type name(from x)                                                                                           \
    {                                                                                                                  \
        return static_cast<type>(x);                                                                                   \
    }
HOSTCUDA_CONVERT(int, float, __int2float_rn)
HOSTCUDA_CONVERT(unsigned, float, __uint2float_rn)
HOSTCUDA_CONVERT(long long, float, __ll2float_rn)
HOSTCUDA_CONVERT(unsigned long long, float, __ull2float_rn)
HOSTCUDA_CONVERT(double, float, __double2float_rn)
HOSTCUDA_CONVERT(int, double, __int2double_rn)
HOSTCUDA_CONVERT(unsigned, double, __uint2double_rn)
HOSTCUDA_CONVERT(long long, double, __ll2double_rn)
HOSTCUDA_CONVERT(unsigned long long, double, __ull2double_rn)
#undef HOSTCUDA_CONVERT
inline int __double2hiint(double x)
{
    return static_cast<int>(hostcuda::bits<long long>(x) >> 32);
}
inline int __double2loint(double x)
{
    return static_cast<int>(static_cast<unsigned>(hostcuda::bits<unsigned long long>(x)));
}
inline double __hiloint2double(int high, int low)
{
    return hostcuda::bits<double>(static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 |
                                  static_cast<unsigned>(low));
}

/* ---- loads and stores with a cache hint ---------------------------------------------------------------------- */

#define HOSTCUDA_LOAD(name)                                                                                            \
    template <class T>                                                                                                 \
    T name(const T *address)                                                                                           \
    {                                                                                                                  \
        return *address;                                                                                               \
    }
#define HOSTCUDA_STORE(name)                                                                                           \
    template <class T>                                                                                                 \
    void name(T *address, typename std::remove_const<T>::type value)                                                   \
    {                                                                                                                  \
        *address = value;                                                                                              \
    }
HOSTCUDA_LOAD(__ldg)
HOSTCUDA_LOAD(__ldca)
HOSTCUDA_LOAD(__ldcg)
HOSTCUDA_LOAD(__ldcs)
HOSTCUDA_LOAD(__ldlu)
HOSTCUDA_LOAD(__ldcv)
HOSTCUDA_STORE(__stwb)
HOSTCUDA_STORE(__stcg)
HOSTCUDA_STORE(__stcs)
HOSTCUDA_STORE(__stwt)
#undef HOSTCUDA_LOAD
#undef HOSTCUDA_STORE
#undef HOSTCUDA_MATH_1
#undef HOSTCUDA_MATH_2

#endif
