/* What kernel<<<grid, block, bytes, stream>>>(arguments) becomes: hostcuda-cc writes
 *   (::hostcuda::configured(grid, block, bytes, stream), kernel(arguments))
 * and begins each kernel with a call of launches. Host code that calls a kernel so chooses it, and converts its
 * arguments, as C++ does for any function. */
#ifndef HOSTCUDA_SHIM_LAUNCHES_H
#define HOSTCUDA_SHIM_LAUNCHES_H

#include <cstdio>

namespace hostcuda
{
/* The configuration of a launch whose arguments are being evaluated. It lasts until the end of the launch's expression,
 * also where an exception ends it. Other launches may stand in the arguments. */
class configured
{
  public:
    configured(dim3 grid, dim3 block, std::size_t bytes = 0, cudaStream_t stream = nullptr)
        : grid(grid), block(block), bytes(bytes), stream(stream), outer(innermost)
    {
        if (gridDim.x > 0) {
            std::fprintf(stderr,
                         "hostcuda: a kernel launches a kernel (dynamic parallelism), which is not supported\n");
            hostcuda_trap();
        }
        innermost = this;
    }
    configured(const configured &) = delete;
    configured &operator=(const configured &) = delete;
    ~configured()
    {
        if (innermost == this)
            innermost = outer;
    }
    /* Takes the innermost configuration of the thread; nullptr where there is none. */
    static const configured *take()
    {
        const configured *taken = innermost;
        if (taken)
            innermost = taken->outer;
        return taken;
    }

    const dim3 grid, block;
    const std::size_t bytes;
    const cudaStream_t stream;

  private:
    const configured *const outer;
    /* One for all libraries of a program, however they are compiled. */
    __attribute__((visibility("default"))) static thread_local const configured *innermost;
};
__attribute__((visibility("default"))) inline thread_local const configured *configured::innermost = nullptr;

/* The type of a parameter in the type of its function, which leaves out const, volatile and __restrict__. */
template <class T>
struct unqualified {
    using type = T;
};
template <class T>
struct unqualified<T *__restrict__> {
    using type = T *;
};
template <class T>
using parameter = typename unqualified<typename std::remove_cv<T>::type>::type;

/* Tells the host device of a kernel when the program starts, as nvcc does: also one that is named by its address alone.
 */
template <auto kernel>
struct registered {
    static const bool done;
};
template <auto kernel>
const bool registered<kernel>::done = known(kernel) != nullptr;

/* Queues a kernel that host code has called. In a stack it stands where nvcc's function of that name does, so that
 * tools know the frame around it as the kernel's. */
__attribute__((noinline)) inline void __device_stub__launch(const void *kernel, void **arguments)
{
    const configured *with = configured::take();
    if (!with)
        std::fprintf(stderr, "hostcuda: a kernel is called without <<<grid, block>>>, and does not run\n");
    static_cast<void>(with ? ::cudaLaunchKernel(kernel, with->grid, with->block, arguments, with->bytes, with->stream)
                           : ::cudaLaunchKernel(kernel, dim3(0), dim3(0), arguments, 0, nullptr));
}

template <class T>
void *address(T &argument)
{
    return (void *)__builtin_addressof(
        argument); /* also where __restrict__ qualifies it, which no named cast removes */
}

/* Returns whether host code has called the kernel, which is then queued: the caller returns. In a thread of a grid it
 * is false: the kernel runs. */
template <auto kernel, class... Arguments>
__attribute__((always_inline)) inline bool launches(Arguments &...arguments)
{
    if (gridDim.x > 0)
        return false;
    static_cast<void>(&registered<kernel>::done);
    void *addresses[] = {address(arguments)..., nullptr};
    __device_stub__launch(known(kernel), addresses); /* also before the program's constructors have run */
    return true;
}

/* Becomes a reference to the launch's dynamic shared memory, of the type that it initializes. */
struct dynamic_shared {
    template <class T>
    operator T &() const
    {
        return *static_cast<T *>(hostcuda_dynamic_shared());
    }
};
} // namespace hostcuda

#endif
