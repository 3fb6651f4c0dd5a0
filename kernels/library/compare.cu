#include "compare.h"

#include "kernels/launch.h"
#include "kernels/hash.h"

namespace
{
using u64 = unsigned long long;

__device__ u64 bits_of(double value)
{
    u64 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* A format of IEEE 754, or one like it: bits of fraction and of exponent. */
template <class Bits_, int Fraction, int Exponent>
struct float_format {
    using Bits = Bits_;
    static constexpr u64 SIGN = 1ull << (Fraction + Exponent), INFINITE = ((1ull << Exponent) - 1) << Fraction;
    static constexpr int BIAS = (1 << (Exponent - 1)) - 1;

    static __device__ u64 magnitude(Bits x)
    {
        return (u64)x & (SIGN - 1);
    }
    static __device__ bool is_nan(Bits x)
    {
        return magnitude(x) > INFINITE;
    }
    static __device__ bool is_infinite(Bits x)
    {
        return magnitude(x) == INFINITE;
    }
    /* Exact: the widest format is double's. */
    static __device__ double value(Bits x)
    {
        u64 m = magnitude(x), fraction = m & ((1ull << Fraction) - 1);
        int exponent = (int)(m >> Fraction);
        double v = exponent == 0 ? ldexp((double)fraction, 1 - BIAS - Fraction)
                                 : ldexp((double)(fraction | 1ull << Fraction), exponent - BIAS - Fraction);
        return ((u64)x & SIGN) != 0 ? -v : v;
    }
    static __device__ double distance(Bits a, Bits b)
    {
        return fabs(value(a) - value(b));
    }
    static __device__ u64 steps(Bits a, Bits b)
    {
        u64 x = magnitude(a), y = magnitude(b);
        bool same_sign = (((u64)a ^ (u64)b) & SIGN) == 0;
        return !same_sign ? x + y : x > y ? x - y : y - x;
    }
};

template <class Integer>
struct integer_format {
    using Bits = Integer;
    static __device__ bool is_nan(Bits)
    {
        return false;
    }
    static __device__ bool is_infinite(Bits)
    {
        return false;
    }
    static __device__ double value(Bits x)
    {
        return (double)x;
    }
    /* By way of integers: two beyond 2^53 may be the same double. */
    static __device__ double distance(Bits a, Bits b)
    {
        return (double)steps(a, b);
    }
    static __device__ u64 steps(Bits a, Bits b)
    {
        return a > b ? (u64)a - (u64)b : (u64)b - (u64)a;
    }
};

__device__ double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Adds two elements whose bits differ. */
template <class Format>
__device__ void add_pair(bgk_difference *result, typename Format::Bits a, typename Format::Bits b, u64 at,
                         const bgk_tolerance &tolerance)
{
    bool exact = tolerance.absolute == 0 && tolerance.relative == 0 && tolerance.ulp == 0, fits = false;
    bool both_nan = Format::is_nan(a) && Format::is_nan(b);

    result->differing++;
    if (Format::is_nan(a) || Format::is_nan(b) || Format::is_infinite(a) || Format::is_infinite(b)) {
        result->lost += !both_nan;
        fits = both_nan && !exact;
    } else {
        double x = Format::value(a), absolute = Format::distance(a, b);
        double relative = absolute == 0 ? 0 : absolute / fabs(x); /* infinite where a is 0 */
        u64 steps = Format::steps(a, b);
        result->absolute = larger(result->absolute, absolute);
        result->relative = larger(result->relative, relative);
        result->ulp = steps > result->ulp ? steps : result->ulp;
        fits = !exact && (absolute <= tolerance.absolute || relative <= tolerance.relative || steps <= tolerance.ulp);
    }
    if (!fits) {
        result->beyond++;
        result->first = at < result->first ? at : result->first;
    }
}

__device__ void raise_maximum(double *largest, double value)
{
    /* Doubles that are not negative are in the order of their bits. */
    atomicMax(reinterpret_cast<u64 *>(largest), bits_of(value));
}

__device__ void add_difference(bgk_difference *to, const bgk_difference &from)
{
    for (int k = 0; k < 2; k++) {
        atomicAdd(&to->digest[k], from.digest[k]);
        if (from.nan[k] > 0)
            atomicAdd(&to->nan[k], from.nan[k]);
        if (from.inf[k] > 0)
            atomicAdd(&to->inf[k], from.inf[k]);
    }
    if (from.differing == 0)
        return;
    atomicAdd(&to->differing, from.differing);
    atomicAdd(&to->beyond, from.beyond);
    atomicAdd(&to->lost, from.lost);
    atomicMin(&to->first, from.first);
    atomicMax(&to->ulp, from.ulp);
    raise_maximum(&to->absolute, from.absolute);
    raise_maximum(&to->relative, from.relative);
}

/* Sums by thread, then by block: with atomics of thousands of threads on one word, each would wait for the others. */
template <class Format>
__global__ void compare(bgk_difference *result, const typename Format::Bits *a, const typename Format::Bits *b,
                        size_t n, bgk_tolerance tolerance)
{
    __shared__ bgk_difference sum;
    bgk_difference mine = {};
    size_t step = (size_t)gridDim.x * blockDim.x;

    mine.first = ~0ull;
    if (threadIdx.x == 0)
        sum = mine;
    __syncthreads();
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        typename Format::Bits x[2] = {a[i], b[i]};
        u64 place = bgk_mix((u64)i), share = bgk_mix(place ^ (u64)x[0]);
        for (int k = 0; k < 2; k++) {
            mine.nan[k] += Format::is_nan(x[k]);
            mine.inf[k] += Format::is_infinite(x[k]);
        }
        mine.digest[0] += share;
        if (x[0] != x[1]) {
            add_pair<Format>(&mine, x[0], x[1], i, tolerance);
            share = bgk_mix(place ^ (u64)x[1]);
        }
        mine.digest[1] += share;
    }
    add_difference(&sum, mine);
    __syncthreads();
    if (threadIdx.x == 0)
        add_difference(result, sum);
}

template <class Format>
cudaError_t launch_compare(bgk_difference *result, const void *a, const void *b, size_t n,
                           const bgk_tolerance *tolerance, cudaStream_t stream)
{
    using Bits = typename Format::Bits;
    const unsigned blocks_max = 1024, elements = 32, threads = n <= 32 * elements ? 32 : 256;
    size_t blocks = (n + (size_t)threads * elements - 1) / (threads * elements);
    dim3 grid(blocks < blocks_max ? (unsigned)blocks : blocks_max);
    return bgk::launch(compare<Format>, grid, dim3(threads), 0, stream, result, static_cast<const Bits *>(a),
                       static_cast<const Bits *>(b), n, *tolerance);
}
} // namespace

extern "C" cudaError_t bgk_compare(bgk_difference *result, const void *a, const void *b, size_t n, bgk_element element,
                                   const bgk_tolerance *tolerance, cudaStream_t stream)
{
    if (n == 0)
        return cudaErrorInvalidValue;
    switch (element) {
    case BGK_ELEMENT_F32: return launch_compare<float_format<unsigned, 23, 8>>(result, a, b, n, tolerance, stream);
    case BGK_ELEMENT_F64: return launch_compare<float_format<u64, 52, 11>>(result, a, b, n, tolerance, stream);
    case BGK_ELEMENT_F16:
        return launch_compare<float_format<unsigned short, 10, 5>>(result, a, b, n, tolerance, stream);
    case BGK_ELEMENT_BF16:
        return launch_compare<float_format<unsigned short, 7, 8>>(result, a, b, n, tolerance, stream);
    case BGK_ELEMENT_I8: return launch_compare<integer_format<signed char>>(result, a, b, n, tolerance, stream);
    case BGK_ELEMENT_U8: return launch_compare<integer_format<unsigned char>>(result, a, b, n, tolerance, stream);
    case BGK_ELEMENT_I32: return launch_compare<integer_format<int>>(result, a, b, n, tolerance, stream);
    case BGK_ELEMENT_I64: return launch_compare<integer_format<long long>>(result, a, b, n, tolerance, stream);
    }
    return cudaErrorInvalidValue;
}
