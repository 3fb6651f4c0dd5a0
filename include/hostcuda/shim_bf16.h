/* The functions of bf16 and fp16 that the toolkit's headers define only for nvcc. The toolkit's headers define the
 * other such functions for a host compiler, too. */
#ifndef HOSTCUDA_SHIM_BF16_H
#define HOSTCUDA_SHIM_BF16_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* The product of two such numbers is exact in double, so the result is almost always rounded only once. */
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

#define HOSTCUDA_HALF_MATH(name, value)                                                                                \
    inline __nv_bfloat16 name(__nv_bfloat16 h)                                                                         \
    {                                                                                                                  \
        float x = __bfloat162float(h);                                                                                 \
        return __float2bfloat16(value);                                                                                \
    }                                                                                                                  \
    inline __half name(__half h)                                                                                       \
    {                                                                                                                  \
        float x = __half2float(h);                                                                                     \
        return __float2half(value);                                                                                    \
    }
HOSTCUDA_HALF_MATH(hexp, std::exp(x))
HOSTCUDA_HALF_MATH(hexp2, std::exp2(x))
HOSTCUDA_HALF_MATH(hlog, std::log(x))
HOSTCUDA_HALF_MATH(hlog2, std::log2(x))
HOSTCUDA_HALF_MATH(hsqrt, std::sqrt(x))
HOSTCUDA_HALF_MATH(hrsqrt, 1.0f / std::sqrt(x))
HOSTCUDA_HALF_MATH(hrcp, 1.0f / x)
HOSTCUDA_HALF_MATH(hsin, std::sin(x))
HOSTCUDA_HALF_MATH(hcos, std::cos(x))
HOSTCUDA_HALF_MATH(htanh, std::tanh(x))
#undef HOSTCUDA_HALF_MATH

#endif
