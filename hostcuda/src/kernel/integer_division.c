/* On x86-64, an integer division raises SIGFPE if the divisor is 0 or the quotient does not fit. In a kernel, the
 * handler sets the result that NVIDIA's GPUs give and continues behind the instruction. Outside of kernels, the signal
 * goes to the program. Other processors divide by 0 without a signal. */
#include "hostcuda/src/kernel/integer_division.h"

#ifdef __x86_64__

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

/* ---- decoding the instruction ---------------------------------------------------------------------------------- */

/* The parts of a DIV or IDIV instruction that are needed. */
struct division {
    const unsigned char *next; /* the next instruction */
    unsigned bytes;            /* size of the divisor: 1, 2, 4 or 8 */
    uint64_t divisor;
};

struct prefixes {
    bool half, fs, rex, rex_register, rex_index, rex_base, wide;
    bool unknown; /* a prefix that compilers do not use with divisions */
};

enum { RSP = 4, RBP = 5 };

/* Returns the register with this number in the instruction encoding. */
static greg_t *register_of(ucontext_t *context, unsigned number)
{
    static const int place[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return &context->uc_mcontext.gregs[place[number]];
}

static const unsigned char *read_prefixes(const unsigned char *code, struct prefixes *found)
{
    for (;; code++) {
        if (*code == 0x66)
            found->half = true;
        else if (*code == 0x64)
            found->fs = true;
        else if (*code != 0x2e && *code != 0x36 && *code != 0x3e && *code != 0x26) /* ignored segment prefixes */
            break;
    }
    found->unknown = *code == 0x65 || *code == 0x67;
    if ((*code & 0xf0) == 0x40) {
        found->rex = true;
        found->rex_base = *code & 1;
        found->rex_index = *code & 2;
        found->wide = *code & 8;
        code++;
    }
    return code;
}

static int64_t read_displacement(const unsigned char **code, unsigned bytes)
{
    int8_t small = 0;
    int32_t large = 0;
    if (bytes == 1)
        memcpy(&small, *code, sizeof small);
    else if (bytes == 4)
        memcpy(&large, *code, sizeof large);
    *code += bytes;
    return bytes == 1 ? small : large;
}

/* The base address of the thread-local segment is stored at its start. */
static uint64_t thread_segment(void)
{
    uint64_t address;
    __asm__("movq %%fs:0, %0" : "=r"(address));
    return address;
}

/* Returns the address of the memory operand. *code points behind the ModRM byte, and is moved behind the operand. */
static uint64_t read_address(ucontext_t *context, const struct prefixes *prefixes, const unsigned char **code,
                             unsigned mode, unsigned base)
{
    uint64_t address = 0;
    unsigned displacement = mode == 1 ? 1 : mode == 2 ? 4 : 0;
    bool from_here = mode == 0 && base == RBP;
    if (base == RSP) { /* a SIB byte has scale, index and base */
        unsigned scaled = *(*code)++, index = (scaled >> 3 & 7) | (prefixes->rex_index ? 8 : 0);
        base = scaled & 7;
        if (index != RSP)
            address += (uint64_t)*register_of(context, index) << (scaled >> 6);
    }
    if (mode == 0 && base == RBP)
        displacement = 4;
    else
        address += (uint64_t)*register_of(context, base | (prefixes->rex_base ? 8 : 0));
    address += (uint64_t)read_displacement(code, displacement);
    if (from_here)
        address += (uint64_t)(uintptr_t)*code;
    return prefixes->fs ? address + thread_segment() : address;
}

/* Without a REX prefix, 4 to 7 mean the second bytes of the first four registers. */
static uint64_t read_register(ucontext_t *context, const struct prefixes *prefixes, unsigned bytes, unsigned number)
{
    if (bytes == 1 && !prefixes->rex && number >= 4)
        return (uint64_t)*register_of(context, number - 4) >> 8 & 0xff;
    uint64_t value = (uint64_t)*register_of(context, number | (prefixes->rex_base ? 8 : 0));
    return bytes == 8 ? value : value & ((1ull << 8 * bytes) - 1);
}

/* Returns false if it is another instruction, which raised the signal for another reason. */
static bool read_division(ucontext_t *context, struct division *division)
{
    struct prefixes prefixes = {0};
    const unsigned char *code = (const unsigned char *)(uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    code = read_prefixes(code, &prefixes);
    unsigned operation = code[0], operand = code[1], mode = operand >> 6, which = operand >> 3 & 7;
    if (prefixes.unknown || (operation != 0xf6 && operation != 0xf7) || which < 6)
        return false;
    code += 2;
    division->bytes = operation == 0xf6 ? 1 : prefixes.wide ? 8 : prefixes.half ? 2 : 4;
    division->divisor = 0;
    if (mode == 3) {
        division->divisor = read_register(context, &prefixes, division->bytes, operand & 7);
    } else {
        uint64_t address = read_address(context, &prefixes, &code, mode, operand & 7);
        memcpy(&division->divisor, (const void *)(uintptr_t)address, division->bytes);
    }
    division->next = code;
    return true;
}

/* ---- result ---------------------------------------------------------------------------------------------------- */

/* Writes the lower bytes of a register; a write of four bytes clears the upper four, as on the processor. */
static void write_register(greg_t *to, unsigned bytes, uint64_t value)
{
    uint64_t mask = bytes >= 4 ? ~0ull : 0xffffull;
    if (bytes == 4)
        value &= 0xffffffffu;
    *to = (greg_t)(((uint64_t)*to & ~mask) | (value & mask));
}

/* Only two divisions trap: by 0, and of the most negative number by -1. If the divisor is 0, all bits of quotient and
 * remainder are set, or only the lower 32 bits if 64-bit operands fit into 32 bits. An H200 gives these results
 * (tests/unit/hostcuda/kernel/test_kernel_division.c prints them). The other division has the number itself as its
 * quotient, and remainder 0. */
static void write_division_result(ucontext_t *context, const struct division *division)
{
    greg_t *low = &context->uc_mcontext.gregs[REG_RAX], *high = &context->uc_mcontext.gregs[REG_RDX];
    bool zero = division->divisor == 0;
    uint64_t ones = division->bytes == 8 && (uint64_t)*low >> 32 == 0 ? 0xffffffffu : ~0ull;
    if (division->bytes == 1) { /* AX has both */
        write_register(low, 2, zero ? 0xffff : (uint64_t)*low & 0xff);
    } else {
        write_register(low, division->bytes, zero ? ones : (uint64_t)*low);
        write_register(high, division->bytes, zero ? ones : 0);
    }
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)division->next;
}

/* ---- the handler ----------------------------------------------------------------------------------------------- */

enum { CHECK_EVERY = 64 };

static unsigned handler_changes =
    1; /* counts possible changes: of the program's handler, or of a thread's signal mask */
static _Thread_local struct {
    unsigned handler_changes, grids; /* handler_changes at the last check; grids since then */
} last_check;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction program_handler; /* the program's own handler */
static bool (*grid_runs)(void);          /* whether the calling thread runs a grid */

/* The signal that the program's handler is processing. If the program set its handler after the host device set its
 * own, the program's handler may pass the signal back. */
static _Thread_local struct {
    const siginfo_t *info;
    const void *frame;
} passed_signal;

/* Whether the program handed the signal back. A handler that left with longjmp does not clear `passed`, but then a
 * later frame is further up the stack. */
static bool is_passed_back(const siginfo_t *info, const void *frame)
{
    return passed_signal.info == info && (uintptr_t)frame < (uintptr_t)passed_signal.frame;
}

/* Sets the default action. A division is executed again and raises the signal again. */
static void apply_default_action(int number, const siginfo_t *info)
{
    const struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(number, &plain, NULL);
    if (info->si_code <= 0)
        (void)raise(number); /* the signal was sent */
}

static void forward_signal(int number, siginfo_t *info, void *context, const void *frame)
{
    bool informed = program_handler.sa_flags & SA_SIGINFO;
    if (!informed && program_handler.sa_handler == SIG_IGN && info->si_code <= 0)
        return;
    if (is_passed_back(info, frame) ||
        (!informed && (program_handler.sa_handler == SIG_DFL || program_handler.sa_handler == SIG_IGN))) {
        apply_default_action(number, info);
        return;
    }
    struct sigaction now = program_handler;
    if (now.sa_flags & (int)SA_RESETHAND)
        program_handler = (struct sigaction){.sa_handler = SIG_DFL};
    passed_signal.info = info;
    passed_signal.frame = frame;
    if (informed)
        now.sa_sigaction(number, info, context);
    else
        now.sa_handler(number);
    passed_signal.info = NULL;
}

static void handle_sigfpe(int number, siginfo_t *info, void *context)
{
    struct division division;
    if (info->si_code == FPE_INTDIV && __atomic_load_n(&grid_runs, __ATOMIC_RELAXED)() &&
        read_division(context, &division))
        write_division_result(context, &division);
    else
        forward_signal(number, info, context, __builtin_frame_address(0));
}

static bool is_installed(struct sigaction *now)
{
    return sigaction(SIGFPE, NULL, now) != 0 || (now->sa_flags & SA_SIGINFO && now->sa_sigaction == handle_sigfpe);
}

/* Unblocks the signal: a blocked SIGFPE of a division ends the process. */
static void unblock_sigfpe(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGFPE);
    (void)pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
}

void hc_division_recheck_handler(void)
{
    __atomic_fetch_add(&handler_changes, 1, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void check_handler(void)
{
    struct sigaction now, ours = {.sa_sigaction = handle_sigfpe, .sa_flags = SA_SIGINFO | SA_NODEFER};
    unblock_sigfpe();
    if (is_installed(&now))
        return;
    pthread_mutex_lock(&lock);
    if (!is_installed(&now)) {
        program_handler = now;
        sigemptyset(&ours.sa_mask);
        if (sigaction(SIGFPE, &ours, NULL) != 0)
            perror("hostcuda: no handler for divisions by zero");
    }
    pthread_mutex_unlock(&lock);
}

void hc_division_install_handler(bool (*runs)(void))
{
    __atomic_store_n(&grid_runs, runs, __ATOMIC_RELAXED);
    unsigned now = __atomic_load_n(&handler_changes, __ATOMIC_RELAXED);
    if (last_check.handler_changes == now && ++last_check.grids < CHECK_EVERY)
        return;
    last_check.handler_changes = now;
    last_check.grids = 0;
    check_handler();
}

#else

void hc_division_install_handler(bool (*runs)(void))
{
    (void)runs;
}

void hc_division_recheck_handler(void)
{
}

#endif
