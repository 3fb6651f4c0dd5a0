#include "digest.h"

#include "kernels/launch.h"
#include "kernels/hash.h"
#include "kernels/memory_words.h"

namespace
{
using u64 = unsigned long long;
using bgk::read_word;
using bgk::WORD;

constexpr unsigned THREADS = 128;
constexpr size_t BLOCKS_MAX = 4096;

/* Sums the words, each mixed with its place: the order of the threads does not matter. */
__global__ void digest_pages(u64 *digests, const void *x, size_t bytes, size_t page)
{
    size_t words = (bytes + WORD - 1) / WORD, page_words = page / WORD, pages = (bytes + page - 1) / page;

    for (size_t p = blockIdx.x; p < pages; p += gridDim.x) {
        size_t first = p * page_words, end = first + page_words < words ? first + page_words : words;
        u64 sum = 0;
        for (size_t i = first + threadIdx.x; i < end; i += blockDim.x)
            sum += bgk_mix(read_word(x, i, bytes) + bgk_mix(i - first));
        if (sum != 0)
            atomicAdd(&digests[p], sum);
    }
}
} // namespace

cudaError_t bgk_digest_pages(unsigned long long *digests, const void *x, size_t bytes, size_t page, cudaStream_t stream)
{
    size_t pages;
    if (bytes == 0 || page == 0 || page % WORD != 0)
        return cudaErrorInvalidValue;
    pages = (bytes + page - 1) / page;
    return bgk::launch(digest_pages, static_cast<unsigned>(pages < BLOCKS_MAX ? pages : BLOCKS_MAX), THREADS, 0, stream,
                       digests, x, bytes, page);
}
