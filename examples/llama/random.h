/* Random numbers with a seed, the same on every machine: SplitMix64 (Steele, Lea, Flood 2014). */
#ifndef LLAMA_RANDOM_H
#define LLAMA_RANDOM_H
#include <stdint.h>

/* Returns the next number. Initialize *state with the seed. */
static inline uint64_t llama_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* Returns the next number from 0 to limit - 1; limit > 0. */
static inline int llama_random_below(uint64_t *state, int limit)
{
    return (int)(llama_random(state) % (uint64_t)limit);
}
#endif
