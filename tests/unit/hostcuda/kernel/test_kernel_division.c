/* Integer divisions by zero. In a kernel they are no error, and what they give is printed; in host code they raise
 * SIGFPE as ever. */
#include "tests/support/cuda_support.h"

#include <limits.h>
#include <signal.h>

#include "tests/support/child.h"
#include "tests/support/kernels/division_kernels.h"

enum { COUNT = 6 };

SHARED_STREAM(stream, cudaStreamDefault);

/* ---- whose signal it is: children, before CUDA is used here ---- */

TESTS_ON_HOST_DEVICE("whose signal it is");

static volatile int host_zero;
static volatile int handled;
static sigjmp_buf back;
static struct sigaction before;

__attribute__((no_sanitize("undefined"))) static int divide_on_host(void)
{
    static volatile int quotient;
    quotient = 77 / host_zero;
    return quotient;
}

static int divide_on_device(void)
{
    int *out = NULL;
    EXPECT(cudaMalloc((void **)&out, 64 * sizeof *out) == cudaSuccess);
    EXPECT(dk_shared(out, 0, NULL) == cudaSuccess);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    EXPECT(cudaFree(out) == cudaSuccess);
    return 0;
}

static int host_after_device(void)
{
    signal(SIGFPE, SIG_DFL); /* the tests' own handler would print */
    int status = divide_on_device();
    return status ? status : divide_on_host();
}

static void divide_in_function(void *unused)
{
    (void)unused;
    (void)divide_on_host();
}

static int host_function(void)
{
    signal(SIGFPE, SIG_DFL);
    int status = divide_on_device();
    EXPECT(cudaLaunchHostFunc(NULL, divide_in_function, NULL) == cudaSuccess);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    return status;
}

static void jump_back(int number)
{
    (void)number;
    handled++;
    siglongjmp(back, 1);
}

static int program_handler(int (*prepare)(void))
{
    EXPECT(prepare() == 0);
    for (int i = 0; i < 3; i++) {
        if (sigsetjmp(back, 1) == 0)
            return divide_on_host() ? 1 : 2;
        EXPECT(handled == i + 1);
        EXPECT(divide_on_device() == 0);
        EXPECT(handled == i + 1);
    }
    return 0;
}

static int set_before(void)
{
    signal(SIGFPE, jump_back);
    return divide_on_device();
}

static int set_after(void)
{
    int status = divide_on_device();
    signal(SIGFPE, jump_back);
    return status;
}

static int handler_set_before(void)
{
    return program_handler(set_before);
}

static int handler_set_after(void)
{
    return program_handler(set_after);
}

/* As a library's handler does that stands before the one it found. */
static void pass_back(int number, siginfo_t *info, void *context)
{
    handled++;
    before.sa_sigaction(number, info, context);
}

static int handler_passes_back(void)
{
    const struct sigaction passing = {.sa_sigaction = pass_back, .sa_flags = SA_SIGINFO};
    signal(SIGFPE, SIG_DFL);
    EXPECT(divide_on_device() == 0);
    EXPECT(sigaction(SIGFPE, &passing, &before) == 0 && before.sa_flags & SA_SIGINFO);
    EXPECT(divide_on_device() == 0);
    EXPECT(handled == 0);
    return divide_on_host();
}

static int sent_signal(void)
{
    signal(SIGFPE, SIG_IGN);
    EXPECT(divide_on_device() == 0);
    EXPECT(raise(SIGFPE) == 0);
    signal(SIGFPE, SIG_DFL);
    EXPECT(divide_on_device() == 0);
    return raise(SIGFPE);
}

static int blocked_signal(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGFPE);
    for (int i = 0; i < 3; i++) {
        EXPECT(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0);
        EXPECT(divide_on_device() == 0);
    }
    return 0;
}

#define CHILD(name, status)                                                                                            \
    TEST(test_##name)                                                                                                  \
    {                                                                                                                  \
        expect_child("HOSTCUDA_SEED", &(const struct child){"0", name, status, NULL});                                 \
    }
CHILD(host_after_device, CHILD_KILLED + SIGFPE)
CHILD(host_function, CHILD_KILLED + SIGFPE)
CHILD(handler_set_before, 0)
CHILD(handler_set_after, 0)
CHILD(handler_passes_back, CHILD_KILLED + SIGFPE)
CHILD(sent_signal, CHILD_KILLED + SIGFPE)
CHILD(blocked_signal, 0)

TESTS_ON_ANY_DEVICE;

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static void *on_device(const void *values, size_t bytes)
{
    void *memory = device_memory(bytes);
    OK(cudaMemcpy(memory, values, bytes, cudaMemcpyHostToDevice));
    return memory;
}

/* Lanes 0 and 3 divide by zero, lane 4 the most negative number, if there is one, by -1; the others' results are C's.
 */
#define DIVISIONS(name, type, format, launch, least)                                                                   \
    SHARED_TEST(test_##name)                                                                                           \
    {                                                                                                                  \
        static const type x[COUNT] = {77, 100, 9, 0, least, 50}, by[COUNT] = {0, 7, 9, 0, (type)-1, 8};                \
        type got[2 * COUNT], *device_x = on_device(x, sizeof x), *device_by = on_device(by, sizeof by);                \
        KERNEL_OUTPUT(got, launch(out, device_x, device_by, COUNT, stream));                                           \
        for (int i = 0; i < COUNT; i++) {                                                                              \
            if (by[i] == 0 || (i == 4 && x[i] != 3)) {                                                                 \
                print_message(#type ": " format " / " format " = " format ", %% = " format "\n", x[i], by[i],          \
                              got[2 * i], got[2 * i + 1]);                                                             \
                continue;                                                                                              \
            }                                                                                                          \
            assert_true(got[2 * i] == (type)(x[i] / by[i]));                                                           \
            assert_true(got[2 * i + 1] == (type)(x[i] % by[i]));                                                       \
        }                                                                                                              \
        OK(cudaFree(device_x));                                                                                        \
        OK(cudaFree(device_by));                                                                                       \
    }
DIVISIONS(int, int, "%d", dk_int, INT_MIN)
DIVISIONS(unsigned, unsigned, "%u", dk_unsigned, 3)
DIVISIONS(long, long long, "%lld", dk_long, LLONG_MIN)
DIVISIONS(unsigned_long, unsigned long long, "%llu", dk_unsigned_long, 3)
DIVISIONS(short, short, "%d", dk_short, SHRT_MIN)
DIVISIONS(byte, unsigned char, "%d", dk_byte, 3)

/* Every thread goes on to the next barrier, and the stream to its next work. */
SHARED_TEST(test_shared)
{
    int got[64];
    KERNEL_OUTPUT(got, dk_shared(out, 0, stream));
    KERNEL_OUTPUT(got, dk_shared(out, 3, stream));
    for (int i = 0; i < 64; i++)
        assert_int_equal(got[i], i / 3);
}

SHARED_TEST(test_graph)
{
    int got[64], *out = device_memory(sizeof got);
    BEGIN_CAPTURE(stream);
    OK(dk_shared(out, 0, stream));
    OK(dk_shared(out, 5, stream));
    CAPTURED(graph, stream);
    EXEC_OF(exec, graph);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphLaunch(exec, stream));
    take_back(got, out, sizeof got);
    assert_int_equal(got[63], 12);
}

/* ---- the host device: the instruction, and whose signal it is ---------------------------------------------------- */

SHARED_TEST(test_forms)
{
    int forms = dk_form_count();
    skip_unless(forms, "this processor divides by zero without a signal");
    int got[64];
    assert_in_range(forms, 1, 64);
    KERNEL_OUTPUT(got, dk_forms(out, stream));
    for (int i = 0; i < forms; i++)
        if (!got[i])
            fail_msg("form %d of the instruction", i);
}
