/* A hash of 64-bit numbers. */
#ifndef BG_KERNELS_HASH_H
#define BG_KERNELS_HASH_H

#include <stdint.h>

#ifdef __CUDACC__
#define BGK_BOTH __host__ __device__
#else
#define BGK_BOTH
#endif

/* The end of splitmix64 (Steele, Lea, Flood, Fast splittable pseudorandom number generators, OOPSLA 2014). */
BGK_BOTH static inline uint64_t bgk_mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

#endif
