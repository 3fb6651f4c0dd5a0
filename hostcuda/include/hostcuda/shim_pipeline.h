/* Asynchronous copies to shared memory (cuda_pipeline.h). Here, the call itself copies. The guards of the toolkit's
 * headers are set, so programs that use other functions of these headers do not compile. */
#ifndef HOSTCUDA_SHIM_PIPELINE_H
#define HOSTCUDA_SHIM_PIPELINE_H

#define _CUDA_PIPELINE_H_
#define _CUDA_PIPELINE_PRIMITIVES_H_

/* Writes `bytes` bytes, the last `zeroes` of which are 0. */
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
