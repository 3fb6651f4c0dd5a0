#include "count.h"

#include "kernels/launch.h"

namespace
{
/* IEEE 754: an exponent of all ones is an infinity where the fraction is 0, else NaN. So it is in bfloat16. */
template <class Bits, int Fraction>
__global__ void count_specials(bgk_specials *result, const Bits *x, size_t n)
{
    constexpr Bits sign = static_cast<Bits>(static_cast<Bits>(1) << (8 * sizeof(Bits) - 1));
    constexpr Bits fraction = static_cast<Bits>((static_cast<Bits>(1) << Fraction) - 1);
    constexpr Bits infinity = static_cast<Bits>(~sign & ~fraction);
    size_t step = (size_t)gridDim.x * blockDim.x;
    bool numbers = false;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        Bits magnitude = static_cast<Bits>(x[i] & static_cast<Bits>(~sign));
        if (magnitude < infinity) { /* as nearly all are */
            numbers = numbers || magnitude != 0;
            continue;
        }
        if (magnitude == infinity) {
            atomicAdd(&result->inf, 1ull);
            if (x[i] == infinity)
                atomicAdd(&result->positive_inf, 1ull);
            atomicMin(&result->first_inf, (unsigned long long)i);
        } else {
            atomicAdd(&result->nan, 1ull);
            atomicMin(&result->first_nan, (unsigned long long)i);
        }
    }
    if (numbers)
        atomicMax(&result->numbers, 1ull);
}

template <class Bits, int Fraction>
cudaError_t launch_count(bgk_specials *result, const void *x, size_t n, cudaStream_t stream)
{
    /* Each thread ends in an atomic on the same word, so it reads several elements first. */
    const unsigned threads = 256, blocks_max = 1024, elements = 8;
    size_t blocks = (n + (size_t)threads * elements - 1) / (threads * elements);
    dim3 grid(blocks < blocks_max ? (unsigned)blocks : blocks_max);
    return bgk::launch(count_specials<Bits, Fraction>, grid, dim3(threads), 0, stream, result,
                       static_cast<const Bits *>(x), n);
}
} // namespace

extern "C" cudaError_t bgk_count_specials(bgk_specials *result, const void *x, size_t n, bgk_float format,
                                          cudaStream_t stream)
{
    if (n == 0)
        return cudaErrorInvalidValue;
    switch (format) {
    case BGK_F32: return launch_count<unsigned, 23>(result, x, n, stream);
    case BGK_F64: return launch_count<unsigned long long, 52>(result, x, n, stream);
    case BGK_F16: return launch_count<unsigned short, 10>(result, x, n, stream);
    case BGK_BF16: return launch_count<unsigned short, 7>(result, x, n, stream);
    }
    return cudaErrorInvalidValue;
}
