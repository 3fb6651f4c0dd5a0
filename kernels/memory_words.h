/* Memory of any type, as words of 8 bytes. */
#ifndef BG_KERNELS_MEMORY_WORDS_H
#define BG_KERNELS_MEMORY_WORDS_H

#include "device.h"

namespace bgk
{
constexpr std::size_t WORD = 8;

/* The word at an index of memory that begins at a multiple of 8; bytes behind its end are 0. */
__device__ inline unsigned long long read_word(const void *from, std::size_t index, std::size_t bytes)
{
    unsigned long long word = 0;
    if ((index + 1) * WORD <= bytes)
        return static_cast<const unsigned long long *>(from)[index];
    for (std::size_t i = index * WORD; i < bytes; i++)
        word |= static_cast<unsigned long long>(static_cast<const unsigned char *>(from)[i]) << 8 * (i % WORD);
    return word;
}
} // namespace bgk

#endif
