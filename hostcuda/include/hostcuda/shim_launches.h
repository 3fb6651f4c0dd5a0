/* Launches: hostcuda-cc turns kernel<<<grid, block, bytes, stream>>>(arguments) into (::hostcuda::configured(grid,
 * block, bytes, stream), kernel(arguments)), and begins each kernel with a call of `launches`. C++ thus selects the
 * kernel and converts its arguments as for any function call. */
#ifndef HOSTCUDA_SHIM_LAUNCHES_H
#define HOSTCUDA_SHIM_LAUNCHES_H

#include <cstdio>

namespace hostcuda
{
/* The configuration of a launch whose arguments are being evaluated. The object lives until the full expression ends,
 * also if an exception ends the expression. The arguments may contain other launches. */
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
    /* Removes and returns the innermost configuration of the thread; nullptr if there is none. */
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
    /* One variable for all libraries of a program, whatever visibility flags they are compiled with. */
    __attribute__((visibility("default"))) static thread_local const configured *innermost;
};
__attribute__((visibility("default"))) inline thread_local const configured *configured::innermost = nullptr;

/* A parameter's type as it appears in the function's type: without const, volatile and __restrict__. */
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

/* Registers a kernel when the program starts, as nvcc does, so that it can be launched by its address alone. */
template <auto kernel>
struct registered {
    static const bool done;
};
template <auto kernel>
const bool registered<kernel>::done = known(kernel) != nullptr;

/* Queues a kernel that host code has called. nvcc generates a function of that name at the same place of the
 * stack, so tools take the frame of this function's caller for the kernel's frame. */
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
    return (void *)__builtin_addressof(argument); /* a C cast, since no named cast removes __restrict__ */
}

/* If host code has called the kernel, queues the kernel and returns true; the caller then returns. In a thread of a
 * grid, returns false, and the kernel runs. */
template <auto kernel, class... Arguments>
__attribute__((always_inline)) inline bool launches(Arguments &...arguments)
{
    if (gridDim.x > 0)
        return false;
    static_cast<void>(&registered<kernel>::done);
    void *addresses[] = {address(arguments)..., nullptr};
    __device_stub__launch(known(kernel), addresses); /* registers it: constructors may not have run yet */
    return true;
}

/* Converts to a reference to the launch's dynamic shared memory. The reference has the type of the variable that this
 * object initializes. */
struct dynamic_shared {
    template <class T>
    operator T &() const
    {
        return *static_cast<T *>(hostcuda_dynamic_shared());
    }
};
} // namespace hostcuda

#endif
