#include "changes.h"

#include "kernels/launch.h"
#include "kernels/memory_words.h"

namespace
{
using u64 = unsigned long long;
using bgk::read_word;
using bgk::WORD;

constexpr unsigned THREADS = 256, BLOCKS_MAX = 1024;
constexpr size_t GRANULE = 256; /* bytes */
enum kind { NOTHING, NAN_, OTHER_NAN, INFINITE, POSITIVE, NEGATIVE, ODD, KINDS };

/* A format: its bits, its fraction's bits, and the largest exponent of common magnitudes, of either sign. */
template <bgk_float>
struct format;
template <>
struct format<BGK_F32> {
    static constexpr int BITS = 32, FRACTION = 23, AROUND = 30;
};
template <>
struct format<BGK_F64> {
    static constexpr int BITS = 64, FRACTION = 52, AROUND = 60;
};
template <>
struct format<BGK_F16> {
    static constexpr int BITS = 16, FRACTION = 10, AROUND = 10;
};
template <>
struct format<BGK_BF16> {
    static constexpr int BITS = 16, FRACTION = 7, AROUND = 30;
};

/* Classifies an element. In computed NaN, NVIDIA's arithmetic sets all bits but the sign; x86's, and constants, set the
 * first bit of the fraction. */
template <bgk_float F>
__device__ kind kind_of(u64 bits)
{
    constexpr int fraction = format<F>::FRACTION, size = format<F>::BITS;
    constexpr u64 sign = 1ull << (size - 1), quiet = 1ull << (fraction - 1);
    constexpr u64 infinity = (sign - 1) & ~((1ull << fraction) - 1);
    constexpr int bias = (1 << (size - fraction - 2)) - 1;
    u64 magnitude = bits & (sign - 1);

    if (magnitude == 0 || magnitude == infinity - 1)
        return NOTHING;
    if (magnitude > infinity)
        return magnitude == (infinity | quiet) || bits == sign - 1 ? NAN_ : OTHER_NAN;
    if (magnitude == infinity)
        return INFINITE;
    int exponent = (int)(magnitude >> fraction) - bias;
    if (exponent < -format<F>::AROUND || exponent > format<F>::AROUND)
        return ODD;
    return (bits & sign) != 0 ? NEGATIVE : POSITIVE;
}

/* All formats' infinities and NaN have these bits set in one of the four parts of a word. */
__device__ bool may_be_special(u64 word)
{
    bool may = false;
    for (int i = 0; i < 4; i++)
        may |= (word >> 16 * i & 0x7c00) == 0x7c00;
    return may;
}

struct format_counts {
    unsigned count[BGK_FLOATS][KINDS];
    u64 first_nan[BGK_FLOATS], first_inf[BGK_FLOATS], first_other_nan[BGK_FLOATS];
};

__device__ void clear_counts(format_counts *c)
{
    for (int f = 0; f < BGK_FLOATS; f++) {
        for (int k = 0; k < KINDS; k++)
            c->count[f][k] = 0;
        c->first_nan[f] = c->first_inf[f] = c->first_other_nan[f] = ~0ull;
    }
}

/* Counts the elements of a word that differ from other, or all. */
template <bgk_float F>
__device__ void count_format(format_counts *c, u64 word, u64 other, bool all, size_t index)
{
    constexpr int size = format<F>::BITS, elements = 64 / size;
    constexpr u64 mask = ~0ull >> (64 - size);
    for (int i = 0; i < elements; i++) {
        u64 bits = word >> (size * i) & mask, place = index * elements + i;
        if (!all && bits == (other >> (size * i) & mask))
            continue;
        kind k = kind_of<F>(bits);
        c->count[F][k]++;
        if (k == NAN_ && place < c->first_nan[F])
            c->first_nan[F] = place;
        if (k == INFINITE && place < c->first_inf[F])
            c->first_inf[F] = place;
        if (k == OTHER_NAN && place < c->first_other_nan[F])
            c->first_other_nan[F] = place;
    }
}

__device__ void count_word(format_counts *c, u64 word, u64 other, bool all, size_t index)
{
    count_format<BGK_F32>(c, word, other, all, index);
    count_format<BGK_F64>(c, word, other, all, index);
    count_format<BGK_F16>(c, word, other, all, index);
    count_format<BGK_BF16>(c, word, other, all, index);
}

__device__ void add_count(unsigned long long *to, unsigned count)
{
    if (count > 0)
        atomicAdd(to, (unsigned long long)count);
}

__device__ void lower_index(unsigned long long *to, u64 value)
{
    if (value != ~0ull)
        atomicMin(to, value);
}

__global__ void count_changes(bgk_changes *result, const void *now, const void *before, size_t bytes)
{
    size_t words = (bytes + WORD - 1) / WORD, step = (size_t)gridDim.x * blockDim.x;
    u64 first = ~0ull, end = 0;
    format_counts c;

    clear_counts(&c);
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step) {
        u64 x = read_word(now, i, bytes), y = read_word(before, i, bytes);
        if (x == y)
            continue;
        count_word(&c, x, y, false, i);
        first = first == ~0ull ? i * WORD : first;
        end = (i + 1) * WORD < bytes ? (i + 1) * WORD : bytes;
    }
    if (end == 0)
        return;
    for (int f = 0; f < BGK_FLOATS; f++) {
        bgk_words *w = &result->words[f];
        add_count(&w->nan, c.count[f][NAN_]);
        add_count(&w->other_nan, c.count[f][OTHER_NAN]);
        add_count(&w->inf, c.count[f][INFINITE]);
        add_count(&w->positive, c.count[f][POSITIVE]);
        add_count(&w->negative, c.count[f][NEGATIVE]);
        add_count(&w->odd, c.count[f][ODD]);
        lower_index(&w->first_nan, c.first_nan[f]);
        lower_index(&w->first_inf, c.first_inf[f]);
        lower_index(&w->first_other_nan, c.first_other_nan[f]);
    }
    atomicMin(&result->first, first);
    atomicMax(&result->end, end);
}

/* A thread examines only the neighbours in its granule: other tensors of the same block may have other types. */
__global__ void find_suspects(bgk_suspects *result, const void *x, size_t bytes, unsigned known)
{
    size_t words = (bytes + WORD - 1) / WORD, granules = (bytes + GRANULE - 1) / GRANULE;
    size_t step = (size_t)gridDim.x * blockDim.x;

    for (size_t g = (size_t)blockIdx.x * blockDim.x + threadIdx.x; g < granules; g += step) {
        size_t from = g * (GRANULE / WORD), to = from + GRANULE / WORD;
        bool may = false;
        format_counts c;
        to = to < words ? to : words;
        for (size_t i = from; i < to; i++)
            may |= may_be_special(read_word(x, i, bytes));
        if (!may)
            continue; /* as most are */
        clear_counts(&c);
        for (size_t i = from; i < to; i++)
            count_word(&c, read_word(x, i, bytes), 0, true, i);
        for (int f = 0; f < BGK_FLOATS; f++) {
            const unsigned *n = c.count[f];
            bool halves = (f == BGK_F16 || f == BGK_BF16) && (known >> f & 1) == 0;
            if (n[OTHER_NAN] > 0 || (halves ? 16 : 1) * n[ODD] > n[POSITIVE] + n[NEGATIVE])
                continue;
            add_count(&result->nan[f], n[NAN_]);
            add_count(&result->inf[f], n[INFINITE]);
            lower_index(&result->first_nan[f], c.first_nan[f]);
            lower_index(&result->first_inf[f], c.first_inf[f]);
        }
    }
}

dim3 grid_for(size_t items)
{
    unsigned blocks = bgk::blocks_for(items, THREADS);
    return dim3(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX);
}
} // namespace

extern "C" bgk_changes bgk_changes_none(void)
{
    bgk_changes none = {};
    for (bgk_words &words : none.words)
        words.first_nan = words.first_inf = words.first_other_nan = ~0ull;
    none.first = ~0ull;
    return none;
}

extern "C" bgk_suspects bgk_suspects_none(void)
{
    bgk_suspects none = {};
    for (int f = 0; f < BGK_FLOATS; f++)
        none.first_nan[f] = none.first_inf[f] = ~0ull;
    return none;
}

extern "C" cudaError_t bgk_count_changes(bgk_changes *result, const void *now, const void *before, size_t bytes,
                                         cudaStream_t stream)
{
    if (bytes == 0)
        return cudaErrorInvalidValue;
    return bgk::launch(count_changes, grid_for((bytes + WORD - 1) / WORD), dim3(THREADS), 0, stream, result, now,
                       before, bytes);
}

extern "C" cudaError_t bgk_find_suspects(bgk_suspects *result, const void *x, size_t bytes, unsigned known,
                                         cudaStream_t stream)
{
    if (bytes == 0)
        return cudaErrorInvalidValue;
    return bgk::launch(find_suspects, grid_for((bytes + GRANULE - 1) / GRANULE), dim3(THREADS), 0, stream, result, x,
                       bytes, known);
}
