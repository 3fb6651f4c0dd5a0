/* Copies to shared memory that a kernel goes on beside, by cuda_pipeline.h: here they are done at once. The guards of
 * the toolkit's headers are set; what they have besides does not compile. */
#ifndef HOSTCUDA_SHIM_PIPELINE_H
#define HOSTCUDA_SHIM_PIPELINE_H

#define _CUDA_PIPELINE_H_
#define _CUDA_PIPELINE_PRIMITIVES_H_

/* The last `zeroes` bytes of the `bytes` that are written are 0. */
inline void __pipeline_memcpy_async(void *__restrict__ to, const void *__restrict__ from, std::size_t bytes,
                                    std::size_t zeroes = 0)
{
    std::memcpy(to, from, bytes - zeroes);
    std::memset(static_cast<char *>(to) + (bytes - zeroes), 0, zeroes);
}
inline void __pipeline_commit()
{
}
inline void __pipeline_wait_prior(std::size_t)
{
}

#endif
