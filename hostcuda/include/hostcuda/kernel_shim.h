/* Implements, in C++, the parts of CUDA C++ that the toolkit's headers leave to nvcc. hostcuda-cc and the makefiles
 * include this header (-include) at the start of every .cu file that a C++ compiler compiles for the host device. A
 * program that uses a part which is missing here does not compile. */
#ifndef HOSTCUDA_KERNEL_SHIM_H
#define HOSTCUDA_KERNEL_SHIM_H

#ifndef __cplusplus
#error "kernel_shim.h is for .cu files compiled as C++"
#endif

/* The toolkit defines these words only if they are not defined yet. One OS thread runs a whole block, so a thread_local
 * variable is shared by the block. */
#if !defined(__HOSTCUDA_CC__) && (__GNUC__ >= 11 || (defined(__clang_major__) && __clang_major__ >= 11))
/* The compiler makes a list of the functions with this attribute. The host device recognizes a kernel's address by this
 * list. noinline: a launch has a stack frame of its own. */
#define HOSTCUDA_KERNEL __attribute__((patchable_function_entry(1, 0), noinline))
#else
#define HOSTCUDA_KERNEL __attribute__((noinline))
#endif
#ifdef __HOSTCUDA_CC__
/* Words for hostcuda-cc, which replaces them before the compiler runs. Each kernel registers itself. The compiler's
 * list of kernels is not used here, since gcc's list keeps gold and lld from linking two files that instantiate the
 * same kernel template. */
#define __global__  __hostcuda_global__ HOSTCUDA_KERNEL
#define __device__  __hostcuda_device__
#define __host__    __hostcuda_host__
#define __shared__  __hostcuda_shared__
#define __managed__ __hostcuda_managed__
#else
#define __global__ HOSTCUDA_KERNEL
#define __device__
#define __host__
#define __shared__ __attribute__((aligned(16))) thread_local
#endif
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
/* Empty, since headers of the C++ library use it as the name of an attribute. */
#undef __noinline__
#define __noinline__
#ifndef __has_builtin
#define __has_builtin(name) 0
#endif
#if !__has_builtin(__builtin_assume)
#define __builtin_assume(condition) static_cast<void>(0)
#endif

/* The toolkit declares the built-in variables as constants; here they differ from thread to thread. */
#define __DEVICE_LAUNCH_PARAMETERS_H__

/* Guards of headers for nvcc, which old programs include: the headers become empty. */
#define __DEVICE_FUNCTIONS_H__
#define __MATH_FUNCTIONS_H__

/* Waiting functions in these headers of CCCL would spin for ever, since one OS thread runs a whole block. The guards
 * make the headers empty, so that a program which uses them does not compile. */
#define _CUDA_BARRIER
#define _CUDA_LATCH
#define _CUDA_PIPELINE
#define _CUDA_SEMAPHORE
#define _CUDA_STD_BARRIER
#define _CUDA_STD_LATCH
#define _CUDA_STD_SEMAPHORE

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

/* In CUDA C++, functions of these headers have overloads outside of std::, such as abs(float). */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "kernel_abi.h"

constexpr int warpSize = 32;

#include "shim_math.h"
#include "shim_special.h"
#include "shim_integers.h"
#include "shim_atomics.h"
#include "shim_bf16.h"
#include "shim_symbols.h"
#include "shim_pipeline.h"
#include "shim_curand.h"

/* A symbol that marks this file in the symbol table: its variables may be used in kernels. */
#if defined __has_attribute
#if __has_attribute(retain)
__attribute__((retain))
#endif
#endif
__attribute__((used)) static const char hostcuda_device_code __asm__("hostcuda_device_code") = 0;

/* ---- barriers and fences ------------------------------------------------------------------------------------ */

inline void __syncthreads()
{
    hostcuda_barrier(0);
}
inline int __syncthreads_count(int predicate)
{
    return hostcuda_barrier(predicate);
}
inline int __syncthreads_or(int predicate)
{
    return hostcuda_barrier(predicate) != 0;
}
inline int __syncthreads_and(int predicate)
{
    return hostcuda_barrier(!predicate) == 0;
}
inline void __syncwarp(unsigned mask = ~0u)
{
    hostcuda_syncwarp(mask);
}
inline void __threadfence()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence_block()
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence_system()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __nanosleep(unsigned)
{
    hostcuda_yield();
}
inline void __trap()
{
    hostcuda_trap();
}
inline long long clock64()
{
    return hostcuda_clock();
}

/* ---- warps -------------------------------------------------------------------------------------------------- */

inline unsigned __activemask()
{
    return hostcuda_active_mask();
}
inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    return hostcuda_ballot(mask, predicate);
}
inline int __any_sync(unsigned mask, int predicate)
{
    return hostcuda_ballot(mask, predicate) != 0;
}
inline int __all_sync(unsigned mask, int predicate)
{
    return hostcuda_ballot(mask, !predicate) == 0;
}

namespace hostcuda
{
template <class T>
T shuffle(unsigned mask, T value, int source)
{
    static_assert(moves_as_bytes<T>::value && sizeof(T) <= 8, "a shuffle moves at most 8 plain bytes");
    unsigned long long bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = hostcuda_shuffle(mask, bits, source);
    std::memcpy(static_cast<void *>(&value), &bits, sizeof value);
    return value;
}
} // namespace hostcuda

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize)
{
    int lane = hostcuda_lane();
    return hostcuda::shuffle(mask, value, (lane & ~(width - 1)) | (source & (width - 1)));
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize)
{
    int lane = hostcuda_lane(), position = lane & (width - 1);
    return hostcuda::shuffle(mask, value, position < static_cast<int>(delta) ? lane : lane - static_cast<int>(delta));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize)
{
    int lane = hostcuda_lane(), position = lane & (width - 1);
    bool inside = position + static_cast<int>(delta) < width;
    return hostcuda::shuffle(mask, value, inside ? lane + static_cast<int>(delta) : lane);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize)
{
    int lane = hostcuda_lane(), source = lane ^ bits;
    /* lanes of an earlier segment may be read, but not lanes of a later one */
    return hostcuda::shuffle(mask, value, source / width > lane / width ? lane : source);
}

namespace hostcuda
{
template <class T>
bool same_bytes(const T &a, const T &b)
{
    return std::memcmp(&a, &b, sizeof a) == 0;
}
} // namespace hostcuda

template <class T>
unsigned __match_any_sync(unsigned mask, T value)
{
    unsigned same = 0;
    for (unsigned left = hostcuda_ballot(mask, 1); left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        same |= hostcuda::same_bytes(hostcuda::shuffle(mask, value, lane), value) ? 1u << lane : 0u;
    }
    return same;
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int *all)
{
    unsigned here = hostcuda_ballot(mask, 1);
    *all = __all_sync(mask, hostcuda::same_bytes(hostcuda::shuffle(mask, value, __builtin_ctz(here)), value));
    return *all ? here : 0u;
}

namespace hostcuda
{
/* Combines the values of the lanes in their order. */
template <class T, class F>
T reduce_lanes(unsigned mask, T value, F combine)
{
    unsigned left = hostcuda_ballot(mask, 1);
    T result = shuffle(mask, value, __builtin_ctz(left));
    for (left &= left - 1; left; left &= left - 1)
        result = combine(result, shuffle(mask, value, __builtin_ctz(left)));
    return result;
}
} // namespace hostcuda

#define HOSTCUDA_REDUCE(type, name, value)                                                                             \
    inline type name(unsigned mask, type of_lane)                                                                      \
    {                                                                                                                  \
        return hostcuda::reduce_lanes(mask, of_lane, [](type a, type b) { return value; });                            \
    }
HOSTCUDA_REDUCE(unsigned, __reduce_add_sync, a + b)
HOSTCUDA_REDUCE(unsigned, __reduce_min_sync, b < a ? b : a)
HOSTCUDA_REDUCE(unsigned, __reduce_max_sync, a < b ? b : a)
HOSTCUDA_REDUCE(int, __reduce_add_sync, static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
HOSTCUDA_REDUCE(int, __reduce_min_sync, b < a ? b : a)
HOSTCUDA_REDUCE(int, __reduce_max_sync, a < b ? b : a)
HOSTCUDA_REDUCE(unsigned, __reduce_and_sync, a &b)
HOSTCUDA_REDUCE(unsigned, __reduce_or_sync, a | b)
HOSTCUDA_REDUCE(unsigned, __reduce_xor_sync, a ^ b)
#undef HOSTCUDA_REDUCE

#include "shim_groups.h"

/* ---- launches ----------------------------------------------------------------------------------------------- */

namespace hostcuda
{
/* A kernel's type: how to call it, and the offsets of its parameters on a GPU. */
template <class... Parameters>
struct kernel_type {
    static constexpr std::size_t count = sizeof...(Parameters);

    struct layout {
        std::size_t offsets[count + 1], sizes[count + 1];
    };
    static constexpr layout make_layout()
    {
        layout made{};
        const std::size_t sizes[] = {sizeof(Parameters)..., 0}, aligns[] = {alignof(Parameters)..., 1};
        std::size_t offset = 0;
        for (std::size_t i = 0; i < count; i++) {
            offset = (offset + aligns[i] - 1) / aligns[i] * aligns[i];
            made.offsets[i] = offset;
            made.sizes[i] = sizes[i];
            offset += sizes[i];
        }
        return made;
    }
    static constexpr layout places = make_layout();

    template <std::size_t... I>
    static void call(const void *function, [[maybe_unused]] void **arguments, std::index_sequence<I...>)
    {
        auto kernel = reinterpret_cast<void (*)(Parameters...)>(const_cast<void *>(function));
        kernel(*static_cast<Parameters *>(arguments[I])...);
    }
    static void invoke(const void *function, void **arguments)
    {
        call(function, arguments, std::index_sequence_for<Parameters...>{});
    }
    static constexpr hostcuda_kernel_type type = {invoke, count, places.offsets, places.sizes};
};

template <class... Parameters>
const void *known(void (*kernel)(Parameters...))
{
    const void *function = reinterpret_cast<const void *>(kernel);
    hostcuda_register_kernel(function, &kernel_type<Parameters...>::type);
    return function;
}

template <class... Parameters, class... Arguments>
cudaError_t launch(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...), Arguments &&...arguments)
{
    known(kernel);
    return ::cudaLaunchKernelEx(config, kernel, std::forward<Arguments>(arguments)...);
}

/* The type of a kernel that is passed as a void pointer is not known here: the kernel is already registered, or the
 * call fails. */
inline const void *known(const void *kernel)
{
    return kernel;
}

template <class T, class... More>
cudaError_t occupancy_of_blocks(int *blocks, T kernel, More... more)
{
    known(kernel);
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, more...);
}
template <class T, class... More>
cudaError_t occupancy_of_blocks_with_flags(int *blocks, T kernel, More... more)
{
    known(kernel);
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, more...);
}
template <class T>
cudaError_t occupancy_of_memory(std::size_t *bytes, T kernel, int blocks, int threads)
{
    known(kernel);
    return ::cudaOccupancyAvailableDynamicSMemPerBlock(bytes, kernel, blocks, threads);
}
} // namespace hostcuda

/* nvcc registers kernels when the program starts. Here, these functions and macros register the kernel that they are
 * called with, since they know its type. For a kernel that a program passes only by address, the host device reads the
 * parameters from its mangled name, if they are numbers and pointers. */
template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute, int value)
{
    return ::cudaFuncSetAttribute(::hostcuda::known(kernel), attribute, value);
}
template <class... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, void (*kernel)(Parameters...))
{
    return ::cudaFuncGetAttributes(attributes, ::hostcuda::known(kernel));
}
template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void **arguments,
                             std::size_t shared_bytes = 0, cudaStream_t stream = nullptr)
{
    return ::cudaLaunchKernel(::hostcuda::known(kernel), grid, block, arguments, shared_bytes, stream);
}
template <class... Parameters>
cudaError_t cudaGetKernel(cudaKernel_t *handle, void (*kernel)(Parameters...))
{
    return ::cudaGetKernel(handle, ::hostcuda::known(kernel));
}

/* cudaOccupancyMaxPotentialBlockSize and the like call the function above. */
#define cudaLaunchKernelEx                                     ::hostcuda::launch
#define cudaOccupancyMaxActiveBlocksPerMultiprocessor          ::hostcuda::occupancy_of_blocks
#define cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags ::hostcuda::occupancy_of_blocks_with_flags
#define cudaOccupancyAvailableDynamicSMemPerBlock              ::hostcuda::occupancy_of_memory

#include "shim_launches.h"

#ifdef __HOSTCUDA_CC__
/* Macros of nvcc. They are defined last, since CUDA's headers above would otherwise take the compiler for nvcc. */
#define __CUDACC__           1
#define __NVCC__             1
#define __CUDACC_VER_MAJOR__ (CUDART_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDART_VERSION % 1000 / 10)
#endif

#endif
