#!/bin/bash
# hostcuda-cc: what it compiles, what it rejects and how it says so, its options. tests/programs has programs that it compiles.
. "$(dirname "$0")/../lib.sh"
if [ "$DEVICE" = cuda ]; then
    skip hostcuda-cc "nvcc compiles for DEVICE=cuda"
    exit 0
fi
cc=$PWD/$OUT/hostcuda-cc top=$PWD
cd "$work" || exit 1
compilers=()
for compiler in g++ clang++; do command -v $compiler >/dev/null && compilers+=("$compiler"); done
deep || compilers=("${compilers[0]}")
# A second or more for each that compiles: of each kind, one.
in_depth='rejects-(managed-device|texture|texture-fetch|surface|dynamic-parallelism-device|lambda-both|ptx-volatile|cooperative-launch|grid.*)'
in_depth="$in_depth|form-(if-.*|requires|.*attribute.*|pointer-to-array|shared-namespaces|shared-alignas|shared-twice|constructor)|shared-beyond.*"
in_depth="$in_depth|nested-launch|line-of-warning|random-numbers|place-O0|no-place|toolkit-file|nvcc-(libraries|names.*|warnings)|include-first|language"
in_depth="$in_depth|dependency-.*|verbose|signal-HUP"
# ends NAME STATUS COMMAND...: the command exits so.
ends()
{
    local name=$1 status
    ! is_left_out "$name" || return 0
    "${@:3}" >log 2>&1 </dev/null
    status=$?
    if [ $status -eq "$2" ]; then pass "$name"; else fail "$name" "exit status $status, expected $2"; fi
}
compile() { "$cc" -ccbin "$CXX" -Wall -Wextra -Werror "$@"; }

# ---- what is rejected --------------------------------------------------------------------------------------------------

# rejects NAME LINE PATTERN TEXT: the text does not compile, and the error is in that line of the file, and says this.
rejects()
{
    ! is_left_out "rejects-$1" || return 0
    printf '%b' "$4" >rejected.cu
    expect "rejects-$1" 1 "^rejected\.cu:$2: error: $3" compile -c rejected.cu
    [ ! -e rejected.o ] || fail "rejects-$1-output" "there is an object"
}
rejects managed 2 '__managed__ variables are not supported' '#include <cstdio>\n__managed__ int x;\n'
rejects managed-device 1 '__managed__ variables' '__device__ __managed__ int x[4];\n'
rejects texture 1 'textures and surfaces' 'cudaTextureObject_t texture;\n'
rejects texture-fetch 3 'textures and surfaces' '__global__ void k(float *x, unsigned long long t)\n{\n*x = tex2D<float>(t, 0, 0);\n}\n'
rejects surface 1 'textures and surfaces' '__global__ void k(cudaSurfaceObject_t s) {}\n'
rejects dynamic-parallelism 2 'dynamic parallelism' '__global__ void k(int *x) {}\n__global__ void l(int *x) { k<<<1, 1>>>(x); }\n'
rejects dynamic-parallelism-device 3 'dynamic parallelism' '__global__ void k() {}\ntemplate <class T> struct s {\n__device__ void f() { if (true) { k<<<1, 1>>>(); } }\n};\n'
rejects lambda 4 'extended lambdas with captures' 'template <class F> __global__ void k(F f) {}\nint main(int n, char **)\n{\nk<<<1, 1>>>([=] __device__ (int i) { return i + n; });\n}\n'
rejects lambda-both 2 'extended lambdas with captures' 'template <class F> __global__ void k(F f) {}\nvoid f(int n) { k<<<1, 1>>>([n] __host__ __device__ (int i) { return i + n; }); }\n'
rejects ptx 1 'inline PTX' '__device__ unsigned lane() { unsigned i; asm("mov.u32 %%0, %%laneid;" : "=r"(i)); return i; }\n'
rejects ptx-volatile 2 'inline PTX' '__global__ void k()\n{ asm volatile("bar.sync 0;"); }\n'
rejects cluster 2 'cooperative groups beyond a block' '#include <cooperative_groups.h>\n__global__ void k() { cooperative_groups::this_cluster().sync(); }\n'
rejects cooperative-launch 2 'cooperative groups beyond a block' 'void f(void *k)\n{ cudaLaunchCooperativeKernel(k, 1, 1, nullptr); }\n'
rejects wmma 2 'matrix fragments \(nvcuda::wmma\)' '#include <mma.h>\n__global__ void k() { nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> f; }\n'
rejects barrier 2 'the barriers of __mbarrier_' '#include <cuda_awbarrier_primitives.h>\n__global__ void k(__mbarrier_t *b) { __mbarrier_init(b, 32); }\n'
# Code of a function that only some GPUs have must not vanish, but for what only waits; at file scope a compiler misses it.
vanish='the code under this condition is for GPUs of some __CUDA_ARCH__'
rejects architecture 2 "$vanish" '__global__ void k(int *x) {\n#if __CUDA_ARCH__ >= 800\n*x = 1; // {\n#endif\n}\n'
rejects architecture-defined 3 "$vanish" 'namespace n { __global__ void k(int *x)\n{\n#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)\n*x = 1;\n#elif __CUDA_ARCH__ >= 800\n*x = 2;\n#endif\n} }\n'
rejects launch 1 'this launch cannot be read; write it as kernel<<<' '__global__ void k() {} void f() { k<<<1, 1>>>; }\n'
rejects shared 1 'dynamic shared memory is an array' '__global__ void k() { extern __shared__ float x; }\n'
printf '__managed__ int x;\n\n__managed__ int y;\n' >both.cu
cat >architectures.cu <<'END'
#ifndef ONCE
#define ONCE
#if __CUDA_ARCH__ >= 800
__device__ int only_there(int x) { return x; }
#endif
__device__ void bits_of(int) {}
const char *raw = R"(he said " { )";
unsigned bits = 0xFF'00u;
#define CALL(x) x
extern "C" {
__device__ int fallback(int x)
{
#if __CUDA_ARCH__ >= 900
    return only_there(x);
#endif
    return x;
}
__device__ void guard()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600
    __trap();
#endif
#if defined(__CUDA_ARCH__) && \
    __CUDA_ARCH__ >= 800 || defined(__HOSTCUDA_CC__)
    bits_of(0);
#endif
}
}
__global__ void k(int *x)
{
#if __CUDA_ARCH__ >= 800
    *x = 1;
#else
    *x = 2;
#endif
#if __CUDA_ARCH__ < 700 /* '}' */
    *x = 3;
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600 || defined(__HOSTCUDA_CC__)
    *x = 4;
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    __nanosleep(20);
#endif
#ifdef FEATURE
#if __CUDA_ARCH__ >= 800
    *x = 5;
#endif
#endif
}
#endif
END
ends architectures 0 compile -c architectures.cu
expect rejects-all 1 '^both\.cu:3: error' compile -c both.cu
grep -q '^both\.cu:1: error' log && pass rejects-all-first || fail rejects-all-first "only one of two errors is printed"
printf '#include <cooperative_groups.h>\n\n__global__ void k()\n{\n    cooperative_groups::this_grid().sync();\n}\n' >grid.cu
expect rejects-grid 1 'a grid cannot wait for all its blocks' compile -c grid.cu
! deep || { grep -q '^grid\.cu:5:' log && pass rejects-grid-line; } || fail rejects-grid-line "the line is not said"

# The same words elsewhere are nobody's.
cat >innocent.cu <<'END'
#include <cooperative_groups.h>
#include <cstdio>
namespace mine
{
int this_cluster = 1, tex2D = 2;
const char *text = "k<<<1, 1>>>(x); __managed__ asm(\"\")", *raw = R"(k<<<1)""(, 1>>>)";
template <class T>
struct list {
    T value;
    list &operator<<(T more)
    {
        value += more;
        return *this;
    }
    template <class U>
    friend T operator<<(const list &l, U u)
    {
        return l.value << u;
    }
};
}
__host__ __device__ int both(int x)
{
#ifdef __CUDA_ARCH__
    asm("trap;");
#endif
    return x;
}
[[maybe_unused]] __device__ static int attributed(int x) { return x; }
static void pause_here()
{
    asm volatile("" ::: "memory"); // k<<<
}
#ifdef __CUDACC__
__global__ void set(int *x) { *x = both(7) + static_cast<int>(cooperative_groups::this_grid().size()); }
#endif
int main()
{
    mine::list<mine::list<int>> nested = {{1}};
    mine::list<int> numbers = {1'000};
    int *x, host;
    numbers << 1;
    pause_here();
    cudaMalloc(&x, sizeof *x);
    set<<<1, 2>>>(x);
    cudaMemcpy(&host, x, sizeof host, cudaMemcpyDeviceToHost);
    std::printf("%d %d %d %zu %s:%d\n", host, numbers.value + nested.value.value, mine::this_cluster + mine::tex2D,
                sizeof(mine::list<mine::list<mine::list<int>>>), __FILE__, __LINE__);
    cudaFree(x);
}
END
for compiler in "${compilers[@]}"; do
    if "$cc" -ccbin "$compiler" -Wall -Wextra -Werror -g innocent.cu -o innocent >log 2>&1; then
        says "innocent-$compiler" ./innocent <<<'9 1002 3 4 innocent.cu:48'
    else
        fail "innocent-$compiler" "it does not compile"
    fi
done

# Forms of declarations and of launches; each file leaves 1 in x[0].
# gives NAME TEXT [OPTION...]
gives()
{
    ! is_left_out "form-$1" || return 0
    printf '%b' '#include <cstdio>\n' "$2" '\nint main()\n{\n    int *x, host = 0;\n    cudaMalloc(&x, 64);\n    cudaMemset(x, 0, 64);\n    run(x);\n' \
        '    cudaMemcpy(&host, x, 4, cudaMemcpyDeviceToHost);\n    std::printf("%d %s\\n", host, cudaGetErrorName(cudaGetLastError()));\n}\n' >form.cu
    if compile "${@:3}" form.cu -o form >log 2>&1; then
        says "form-$1" ./form <<<'1 cudaSuccess'
    else
        fail "form-$1" "it does not compile"
    fi
}
one='__global__ void k(int *x) { *x += 1; }\n'
gives if-constexpr "$one"'void run(int *x) { void (*p)(int *) = k; if constexpr (sizeof(int) == 4) (*p)<<<1, 1>>>(x); }'
gives if-global "$one"'void run(int *x) { if constexpr (sizeof(int) == 4) ::k<<<1, 1>>>(x); }'
gives if-likely "$one"'void run(int *x) { if (x) [[likely]] (k)<<<1, 1>>>(x); }' -std=c++20
gives namespace-attribute 'namespace n __attribute__((visibility("hidden"))) { '"$one"'}\nvoid run(int *x) { n::k<<<1, 1>>>(x); }'
gives attribute-namespace 'namespace [[gnu::visibility("hidden")]] n { '"$one"'}\nvoid run(int *x) { n::k<<<1, 1>>>(x); }'
gives requires 'template <int n, class T> requires requires (T t) { t + 1; } __global__ void k(T *x) { *x += n; }\nvoid run(int *x) { k<1><<<1, 1>>>(x); }' -std=c++20
gives shared-alignas '__global__ void k(int *x) { __shared__ alignas(16) int s[4]; s[0] = 1; *x = s[0]; }\nvoid run(int *x) { k<<<1, 1>>>(x); }'
gives shared-vectors '__global__ void k(int *x) { __shared__ char c[3]; __shared__ float s[64], t[64]; c[0] = 1; s[threadIdx.x] = c[0]; __syncthreads();\nif (threadIdx.x < 16) reinterpret_cast<float4 *>(t)[threadIdx.x] = reinterpret_cast<float4 *>(s)[threadIdx.x];\n__syncthreads(); x[threadIdx.x % 16] = static_cast<int>(t[threadIdx.x]); }\nvoid run(int *x) { k<<<1, 64>>>(x); }' -O3
gives shared-member 'extern __shared__ int s[];\nstruct m { int *s; __device__ void f() { s[0] = 1; } };\n__global__ void k(m a, int *) { s[0] = 7; a.f(); }\nvoid run(int *x) { k<<<1, 1, 16>>>(m{x}, x); }'
gives shared-twice 'extern __shared__ int s[];\nextern __shared__ int s[];\n__global__ void k(int *x) { s[0] = 1; *x = s[0]; }\nvoid run(int *x) { k<<<1, 1, 16>>>(x); }'
gives shared-namespaces 'namespace a { extern __shared__ int s[]; }\nnamespace b { extern __shared__ float s[];\n__global__ void k(int *x) { s[0] = 1.5f; *x = static_cast<int>(s[0]); } }\nvoid run(int *x) { b::k<<<1, 1, 16>>>(x); }'
gives pointer-to-array '__global__ void k(int (*__restrict__ a)[2], int (*volatile b)[2]) { (*a)[0] = (*b)[1] + 1; }\nvoid run(int *x) { k<<<1, 1>>>(reinterpret_cast<int (*)[2]>(x), reinterpret_cast<int (*)[2]>(x + 4)); }'
gives before-main 'struct p { int a; double b; };\n__global__ void k(p a, int *x) { *x = a.a; }\nint *early;\nstruct first { first() { cudaMalloc(&early, 4); k<<<1, 1>>>(p{1, 2}, early); } } init;\nvoid run(int *x) { cudaMemcpy(x, early, 4, cudaMemcpyDeviceToDevice); }'
gives constructor 'extern __shared__ int s[];\nstruct c { int a; __device__ c() : a{1} {} };\n__global__ void k(int *x) { *x = c().a; }\nvoid run(int *x) { k<<<1, 1>>>(x); }'
printf '%b' '__global__ void k(int *x) { ++*x; }\n__host__ __device__ void f(int *x) { k<<<1, 4>>>(x); }\n__global__ void l(int *x) { f(x); }\n' \
    'int main() { int *x; cudaMalloc(&x, 4); l<<<1, 1>>>(x); return cudaDeviceSynchronize() != cudaSuccess; }\n' >nested.cu
! deep || compile nested.cu -o nested 2>log
expect nested-launch 1 '^hostcuda: a kernel launches a kernel' ./nested

# A kernel of a template in two files: each linker that is there makes a program of them.
printf '%b' 'template <class T> __global__ void put(T *x, T value) { *x = value; }\nvoid other(int *x);\n' >put.h
printf '%b' '#include "put.h"\n#include <cstdio>\nint main()\n{\nint *x, host[2];\ncudaMalloc(&x, 8);\nput<<<1, 1>>>(x, 1);\nother(x + 1);\n' \
    'cudaMemcpy(host, x, 8, cudaMemcpyDeviceToHost);\nstd::printf("%d %d\\n", host[0], host[1]);\n}\n' >put1.cu
printf '%b' '#include "put.h"\nvoid other(int *x) { put<<<1, 1>>>(x, 2); }\n' >put2.cu
! compile -c put1.cu -o put1.o 2>log || compile -c put2.cu -o put2.o 2>log
for linker in bfd gold lld; do
    if ! command -v "ld.$linker" >/dev/null; then
        skip "template-$linker" "there is no ld.$linker"
    elif compile put1.o put2.o "-fuse-ld=$linker" -o put >log 2>&1; then
        says "template-$linker" ./put <<<'1 2'
    else
        fail "template-$linker" "it does not link"
    fi
done

# ---- lines -------------------------------------------------------------------------------------------------------------

printf '__global__ void k(int *x)\n{\n    extern __shared__ int y[];\n    y[0] = *x;\n}\nvoid f(int *x)\n{\n    k<<<1,\n        1>>>(x);\n    unknown(x);\n}\n' >lines.cu
expect line-of-error 1 '^lines\.cu:10:5: error: .*unknown' compile -c lines.cu
printf '__global__ void k(int *x)\n{\n    int unused;\n    *x = 1;\n}\n' >warning.cu
expect line-of-warning 1 '^warning\.cu:3:.*unused' compile -c warning.cu
if compile -g -c innocent.cu -o innocent.o 2>log && address=$(nm innocent.o | awk '$3 == "_Z3setPi" { print $1 }') &&
    addr2line -e innocent.o "0x$address" 2>log | grep -q 'innocent\.cu:35'; then
    pass line-of-debugger
else
    fail line-of-debugger "the debugger's line of a kernel is another one"
fi

# ---- launches ----------------------------------------------------------------------------------------------------------

cat >unconfigured.cu <<'END'
#include <cstdio>
__global__ void add(int *x, int y) { *x += y; }
static int refuse() { throw 1; }
int main()
{
    int *x, host;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    cudaMalloc(&x, sizeof *x);
    cudaMemset(x, 0, sizeof *x);
    try {
        add<<<1, 1>>>(x, refuse());
    } catch (int) {
    }
    add<<<1, 1>>>(x, 2);
    std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    add(x, 4);
    std::printf("%s\n", cudaGetLastError() == cudaSuccess ? "runs" : "fails");
    cudaMemcpy(&host, x, sizeof host, cudaMemcpyDeviceToHost);
    std::printf("%d\n", host);
    cudaFree(x);
}
END
if ! deep; then :
elif compile unconfigured.cu -o unconfigured 2>log; then
    says unconfigured ./unconfigured <<<'cudaSuccess
hostcuda: a kernel is called without <<<grid, block>>>, and does not run
fails
2'
else
    fail unconfigured "it does not compile"
fi

# A kernel that uses more dynamic shared memory than its launch asks for.
printf '%b' '#include <cstdio>\n__global__ void k(float *y) { extern __shared__ float x[]; x[threadIdx.x] = 1; __syncthreads(); *y = x[0]; }\n' \
    'int main(int, char **argv)\n{\n    float *y;\n    cudaMalloc(&y, 4);\n    k<<<1, 128, *argv[1] == 0x61 ? 512 : 256>>>(y);\n' \
    '    std::printf("%s\\n", cudaGetErrorName(cudaDeviceSynchronize()));\n}\n' >beyond.cu
if ! deep; then :
elif compile beyond.cu -o beyond 2>log; then
    expect shared-beyond 0 'touches address 0x[0-9a-f]*, 0 bytes past the end of the block.s dynamic shared memory, 256 bytes$' \
        env HOSTCUDA_MEMORY=fence ./beyond b
    grep -q '^cudaErrorIllegalAddress$' log && pass shared-beyond-error || fail shared-beyond-error "it is no error"
    HOSTCUDA_MEMORY=fence says shared-within ./beyond a <<<'cudaSuccess'
else
    fail shared-beyond "it does not compile"
fi

# A library of its own, compiled with hidden names, has kernels that the program launches by pointers, and by their addresses
# alone, whatever their parameters are.
cat >library.cu <<'END'
struct pair {
    int a;
    double b;
};
__global__ static void first(pair p, double *x) { *x = p.a + p.b; }
template <class T>
__global__ void second(const T p, double *x) { *x += p.a * p.b; }
extern "C" __attribute__((visibility("default"))) void (*get(int i))(pair, double *)
{
    return i ? second<pair> : first;
}
END
cat >uses.cu <<'END'
#include <cstdio>
struct pair {
    int a;
    double b;
};
extern "C" void (*get(int i))(pair, double *);
int main()
{
    double *x, host;
    pair p = {3, 0.5};
    void *arguments[] = {&p, &x};
    cudaMalloc(&x, sizeof *x);
    get(0)<<<1, 1>>>(p, x);
    std::printf("%d\n", cudaLaunchKernel(reinterpret_cast<const void *>(get(1)), dim3(1), dim3(1), arguments, 0, nullptr));
    cudaMemcpy(&host, x, sizeof host, cudaMemcpyDeviceToHost);
    std::printf("%g\n", host);
}
END
for compiler in "${compilers[@]}"; do
    if "$cc" -ccbin "$compiler" -shared -Xcompiler -fPIC,-fvisibility=hidden library.cu -o liblibrary.so >log 2>&1 &&
        "$cc" -ccbin "$compiler" uses.cu -L. -llibrary "-Wl,-rpath,$work" -o uses >log 2>&1; then
        says "library-$compiler" ./uses <<<'0
5'
    else
        fail "library-$compiler" "it does not compile"
    fi
done

# cuRAND's functions for kernels are the toolkit's; these are the numbers that they give on a GPU, too.
if ! deep; then :
elif [ ! -e "$("$cc" -x cu -M - <<<'#include <cuda_runtime.h>' | grep -om1 '[^ ]*/cuda_runtime\.h' | xargs dirname)/curand_kernel.h" ]; then
    skip random-numbers "the toolkit's curand_kernel.h is not here"
elif compile "$top/tests/cli/hostcuda/random_pi.cu" -o random_pi 2>log; then
    says random-numbers ./random_pi <<<'xorwow: 624778773 1867875844, of the last thread 2286705691 2870359994
philox: 546353992 3665621163, of the last thread 3301649896 4135256811
mrg32k3a: 3379073520 2521876100, of the last thread 2492993052 255341571
pi by 65536 darts: passed'
else
    fail random-numbers "it does not compile"
fi

# The place of a launch is the function that wrote it, however much is inlined.
for level in $(sized -O2 '-O0 -O2'); do
    compile $level "$top/tests/cli/attach/programs/places.cu" -o places 2>log || fail "place$level" "it does not compile"
    expect "place$level" 1 '^fault \[dangling\] scale#0 at layer\(float\*, float const\*, CUstream_st\*\)\+' "$top/$OUT/breakgraph" check --attach -- ./places
done

# ---- options -----------------------------------------------------------------------------------------------------------

printf '#include "own.h"\n__global__ void k(int *x) { *x = OWN; }\nint main() { k<<<1, 1>>>(nullptr); return VALUE; }\n' >options.cu
mkdir own && printf '#define OWN 1\n' >own/own.h && cp options.cu options.txt
own=(-Iown -DVALUE=3)
expect nvcc-ignored 0 '^hostcuda-cc: note: these options concern GPU code or nvcc itself and are ignored: -arch=sm_90 -lineinfo -Xptxas -rdc=true$' \
    compile "${own[@]}" -arch=sm_90 -lineinfo -Xptxas -v -rdc=true -c options.cu
for refused in -ptx -cubin --fatbin -dlink --run --dryrun -lib; do
    expect "nvcc-refused$refused" 1 "^hostcuda-cc: error: nvcc's option $refused is not supported: " compile $refused options.cu
done
expect nvcc-stream 1 '^hostcuda-cc: error: --default-stream=per-thread: ' compile --default-stream per-thread options.cu
expect nvcc-standard 1 '^hostcuda-cc: error: -std=c\+\+14: .* C\+\+17' compile -std c++14 -c options.cu
ends nvcc-names 0 compile --include-path own --define-macro=VALUE=3 --compile options.cu --output-file named.o --optimize 2 -std=c++20
! deep || { [ -s named.o ] && pass nvcc-names-output; } || fail nvcc-names-output "there is no object"
expect nvcc-warnings 1 'unused' "$cc" -ccbin "$CXX" -Xcompiler -Wall -Werror all-warnings -c warning.cu
ends nvcc-libraries 3 sh -c "'$cc' -Iown -DVALUE=3 options.cu -o options -lcudart -lcublas -lcuda && HOSTCUDA_FAIL= ./options"
expect ptx-input 1 '^hostcuda-cc: error: kernels\.ptx contains GPU code' compile kernels.ptx
expect no-input 1 '^hostcuda-cc: error: no input files' compile -c
expect one-output 1 '^hostcuda-cc: error: -o both\.o cannot be used with several inputs' compile -c options.cu lines.cu -o both.o
expect needs-value 1 '^hostcuda-cc: error: -o needs a value' compile -c options.cu -o
expect no-file 1 'missing\.cu' compile -c missing.cu
expect no-compiler 1 '^hostcuda-cc: error: no-such-compiler: ' "$cc" -ccbin no-such-compiler -c options.cu
expect no-temporary 1 '^hostcuda-cc: error: .*/none/hostcuda-cc' env TMPDIR="$work/none" "$cc" -c options.cu
expect no-place 1 'none/options\.o' compile "${own[@]}" -c options.cu -o none/options.o
expect no-place-for-text 1 '^hostcuda-cc: error: none/options\.ii cannot be written: ' compile "${own[@]}" -E options.cu -o none/options.ii
expect help 0 '^usage: hostcuda-cc ' "$cc" --help
expect version 0 '^hostcuda-cc [0-9]' "$cc" --version
ends toolkit-file 3 sh -c "'$cc' -Iown -DVALUE=3 options.cu -o options '${CUDA_HOME:-/usr/local/cuda}/lib64/libcudart.so' && ./options"
mkdir 'a b' && cp options.cu "a b/it's.cu"
ends dependency-names 0 compile "${own[@]}" -MMD -c "a b/it's.cu"
! deep || { grep -q "^it's\.o: a\\\\ b/it's\.cu" "it's.d" && pass dependency-quoted; } || fail dependency-quoted "$(head -1 "it's.d")"
printf '#ifndef __CUDACC__\n#error "too early"\n#endif\n' >early.cuh
ends include-first 0 compile "${own[@]}" -include early.cuh -c options.cu
ends language 0 compile "${own[@]}" -x cu -c options.txt -o language.o
expect rewritten 0 '::hostcuda::configured\(1, 1\)' compile "${own[@]}" -E options.cu
expect depends 0 '^options\.o: options\.cu .*' compile "${own[@]}" -M options.cu
expect verbose 0 "^${CXX//+/.} .* -E .*options\.cu" compile "${own[@]}" -v -c options.cu
compile "${own[@]}" -MMD -MP -c options.cu -o beside.o 2>log && grep -q '^beside\.o: options\.cu' beside.d && grep -q '^own/own\.h:$' beside.d &&
    pass dependencies || fail dependencies "beside.d does not name what beside.o depends on"
printf 'int from_c(void)\n{\n    return 4;\n}\n' >part.c
printf 'extern "C" int from_c(void);\nint from_cpp()\n{\n    return from_c();\n}\n' >part.cpp
printf 'int from_cpp();\nint main() { return from_cpp(); }\n' >main.cu
compile -c part.cpp 2>log || fail parts-object "part.cpp does not compile"
ends parts 4 sh -c "'$cc' -g main.cu part.o part.c -o parts && ./parts"
mkdir temporary
TMPDIR=$work/temporary compile -c lines.cu >/dev/null 2>&1
TMPDIR=$work/temporary compile "${own[@]}" options.cu -o options >/dev/null 2>&1
for signal in $(sized TERM 'TERM HUP'); do # a shell without jobs lets what is in the background ignore INT
    printf 'template <int n> struct s { enum { v = s<n - 1>::v + s<n - 2>::v }; };\ntemplate <> struct s<0> { enum { v = 1 }; };\n%s\nint main() { int sum = 0;\n' \
        'template <> struct s<1> { enum { v = 1 }; };' >slow.cu
    for i in {1..20000}; do echo "    sum += $i * sum + $i;"; done >>slow.cu
    echo '    return sum; }' >>slow.cu
    TMPDIR=$work/temporary setsid "$cc" -O3 -c slow.cu >/dev/null 2>&1 &
    compiling=$!
    until [ -n "$(ls temporary)" ]; do sleep 0.05; done
    kill -$signal $compiling
    wait $compiling 2>/dev/null
    status=$?
    [ $status -eq $((128 + $(kill -l $signal))) ] && pass signal-$signal || fail signal-$signal "exit status $status"
done
[ -z "$(ls temporary)" ] && pass temporary || fail temporary "files stay in TMPDIR"

cd "$top" || exit 1
exit $bad
