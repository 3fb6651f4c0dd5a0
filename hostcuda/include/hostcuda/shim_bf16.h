/* Functions of bf16 and fp16 that the toolkit's headers define only for nvcc. The toolkit defines the others for a host
 * compiler, too. */
#ifndef HOSTCUDA_SHIM_BF16_H
#define HOSTCUDA_SHIM_BF16_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* The product of two bf16 or two fp16 numbers is exact in double, so the result is almost always rounded only once. */
inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c)
{
    double product = static_cast<double>(__bfloat162float(a)) * static_cast<double>(__bfloat162float(b));
    return __double2bfloat16(product + static_cast<double>(__bfloat162float(c)));
}
inline __half __hfma(__half a, __half b, __half c)
{
    double product = static_cast<double>(__half2float(a)) * static_cast<double>(__half2float(b));
    return __double2half(product + static_cast<double>(__half2float(c)));
}
inline __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c)
{
    return __halves2bfloat162(__hfma(__low2bfloat16(a), __low2bfloat16(b), __low2bfloat16(c)),
                              __hfma(__high2bfloat16(a), __high2bfloat16(b), __high2bfloat16(c)));
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c)
{
    return __halves2half2(__hfma(__low2half(a), __low2half(b), __low2half(c)),
                          __hfma(__high2half(a), __high2half(b), __high2half(c)));
}

/* Products and sums clamped to [0, 1], or to at least 0 (relu). */
#define HOSTCUDA_HALF_CLAMPED(scalar, pair, zero, one, low, high, join)                                                \
    inline scalar __hfma_sat(scalar a, scalar b, scalar c)                                                             \
    {                                                                                                                  \
        scalar x = __hfma(a, b, c);                                                                                    \
        return x > zero ? (x < one ? x : one) : zero;                                                                  \
    }                                                                                                                  \
    inline scalar __hfma_relu(scalar a, scalar b, scalar c)                                                            \
    {                                                                                                                  \
        scalar x = __hfma(a, b, c);                                                                                    \
        return x < zero ? zero : x;                                                                                    \
    }                                                                                                                  \
    inline pair __hfma2_sat(pair a, pair b, pair c)                                                                    \
    {                                                                                                                  \
        return join(__hfma_sat(low(a), low(b), low(c)), __hfma_sat(high(a), high(b), high(c)));                        \
    }                                                                                                                  \
    inline pair __hfma2_relu(pair a, pair b, pair c)                                                                   \
    {                                                                                                                  \
        return join(__hfma_relu(low(a), low(b), low(c)), __hfma_relu(high(a), high(b), high(c)));                      \
    }
HOSTCUDA_HALF_CLAMPED(__half, __half2, __float2half(0.0f), __float2half(1.0f), __low2half, __high2half, __halves2half2)
HOSTCUDA_HALF_CLAMPED(__nv_bfloat16, __nv_bfloat162, __float2bfloat16(0.0f), __float2bfloat16(1.0f), __low2bfloat16,
                      __high2bfloat16, __halves2bfloat162)
#undef HOSTCUDA_HALF_CLAMPED

/* Functions of one number and of a pair. */
#define HOSTCUDA_HALF_MATH(name, value)                                                                                \
    inline __nv_bfloat16 h##name(__nv_bfloat16 h)                                                                      \
    {                                                                                                                  \
        float x = __bfloat162float(h);                                                                                 \
        return __float2bfloat16(value);                                                                                \
    }                                                                                                                  \
    inline __half h##name(__half h)                                                                                    \
    {                                                                                                                  \
        float x = __half2float(h);                                                                                     \
        return __float2half(value);                                                                                    \
    }                                                                                                                  \
    inline __nv_bfloat162 h2##name(__nv_bfloat162 h)                                                                   \
    {                                                                                                                  \
        return __halves2bfloat162(h##name(__low2bfloat16(h)), h##name(__high2bfloat16(h)));                            \
    }                                                                                                                  \
    inline __half2 h2##name(__half2 h)                                                                                 \
    {                                                                                                                  \
        return __halves2half2(h##name(__low2half(h)), h##name(__high2half(h)));                                        \
    }
HOSTCUDA_HALF_MATH(exp, std::exp(x))
HOSTCUDA_HALF_MATH(exp2, std::exp2(x))
HOSTCUDA_HALF_MATH(exp10, std::pow(10.0f, x))
HOSTCUDA_HALF_MATH(log, std::log(x))
HOSTCUDA_HALF_MATH(log2, std::log2(x))
HOSTCUDA_HALF_MATH(log10, std::log10(x))
HOSTCUDA_HALF_MATH(sqrt, std::sqrt(x))
HOSTCUDA_HALF_MATH(rsqrt, 1.0f / std::sqrt(x))
HOSTCUDA_HALF_MATH(rcp, 1.0f / x)
HOSTCUDA_HALF_MATH(sin, std::sin(x))
HOSTCUDA_HALF_MATH(cos, std::cos(x))
HOSTCUDA_HALF_MATH(tanh, std::tanh(x))
HOSTCUDA_HALF_MATH(tanh_approx, std::tanh(x))
HOSTCUDA_HALF_MATH(floor, std::floor(x))
HOSTCUDA_HALF_MATH(ceil, std::ceil(x))
HOSTCUDA_HALF_MATH(trunc, std::trunc(x))
HOSTCUDA_HALF_MATH(rint, std::nearbyint(x))
#undef HOSTCUDA_HALF_MATH

/* The toolkit has the conversions that round to zero. */
#define HOSTCUDA_HALF_ROUND(type, name)                                                                                \
    inline type __half2##name##_rn(__half h)                                                                           \
    {                                                                                                                  \
        return hostcuda::clamp<type>(std::nearbyint(__half2float(h)));                                                 \
    }                                                                                                                  \
    inline type __half2##name##_rd(__half h)                                                                           \
    {                                                                                                                  \
        return hostcuda::clamp<type>(std::floor(__half2float(h)));                                                     \
    }                                                                                                                  \
    inline type __half2##name##_ru(__half h)                                                                           \
    {                                                                                                                  \
        return hostcuda::clamp<type>(std::ceil(__half2float(h)));                                                      \
    }                                                                                                                  \
    inline type __bfloat162##name##_rn(__nv_bfloat16 h)                                                                \
    {                                                                                                                  \
        return hostcuda::clamp<type>(std::nearbyint(__bfloat162float(h)));                                             \
    }
HOSTCUDA_HALF_ROUND(int, int)
HOSTCUDA_HALF_ROUND(unsigned, uint)
HOSTCUDA_HALF_ROUND(long long, ll)
HOSTCUDA_HALF_ROUND(unsigned long long, ull)
#undef HOSTCUDA_HALF_ROUND

namespace hostcuda
{
/* Types that a shuffle may move. Compilers other than nvcc do not treat the toolkit's classes as plain bytes. */
template <class T>
struct moves_as_bytes : std::is_trivially_copyable<T> {
};
template <>
struct moves_as_bytes<__half> : std::true_type {
};
template <>
struct moves_as_bytes<__half2> : std::true_type {
};
template <>
struct moves_as_bytes<__nv_bfloat16> : std::true_type {
};
template <>
struct moves_as_bytes<__nv_bfloat162> : std::true_type {
};
} // namespace hostcuda

#endif
