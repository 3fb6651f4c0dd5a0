#include "hostcuda/src/kernel/fibers.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef VALGRIND_STACK_REGISTER
#define VALGRIND_STACK_REGISTER(start, end) 0
#endif

/* gcc defines a macro, clang has a feature test. */
#if defined(__SANITIZE_ADDRESS__)
#define HC_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HC_ASAN 1
#endif
#endif

#ifdef HC_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/* Enough for printf and for ASan's larger frames; only touched pages use memory. */
enum { STACK_BYTES = 128 << 10 };

static void finish_switch(struct hc_fiber *here)
{
#ifdef HC_ASAN
    __sanitizer_finish_switch_fiber(here->fake_stack, &here->from->stack, &here->from->stack_bytes);
#else
    (void)here;
#endif
}

__attribute__((used)) void hc_fiber_begin(struct hc_fiber *fiber); /* the assembly below calls it */
void hc_fiber_begin(struct hc_fiber *fiber)
{
    finish_switch(fiber);
    fiber->entry(fiber->argument);
    abort(); /* an entry must not return: there is no frame below it */
}

#ifdef HC_FIBER_UCONTEXT

/* Joins the two halves of the pointer, since makecontext passes only ints. */
static void begin_halves(unsigned high, unsigned low)
{
    hc_fiber_begin((struct hc_fiber *)(((uintptr_t)high << 16 << 16) | low));
}

static void prepare_fiber(struct hc_fiber *fiber)
{
    uintptr_t address = (uintptr_t)fiber;
    if (getcontext(&fiber->context) != 0)
        abort(); /* cannot fail on Linux */
    fiber->context.uc_stack.ss_sp = (void *)(uintptr_t)fiber->stack;
    fiber->context.uc_stack.ss_size = STACK_BYTES;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, (void (*)(void))begin_halves, 2, (unsigned)(address >> 16 >> 16), (unsigned)address);
}

static void switch_stack(struct hc_fiber *from, struct hc_fiber *to)
{
    if (swapcontext(&from->context, &to->context) != 0)
        abort(); /* cannot fail on Linux */
}

#else

/* Saves the registers that the System V ABI preserves across calls, on the old stack. */
__asm__(".text\n"
        ".globl hc_switch_stack\n"
        ".hidden hc_switch_stack\n"
        ".type hc_switch_stack, @function\n"
        "hc_switch_stack:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size hc_switch_stack, . - hc_switch_stack\n"
        ".globl hc_fiber_trampoline\n"
        ".hidden hc_fiber_trampoline\n"
        ".type hc_fiber_trampoline, @function\n"
        "hc_fiber_trampoline:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined rip\n"
        "    movq %r12, %rdi\n"
        "    call hc_fiber_begin\n"
        "    ud2\n"
        "    .cfi_endproc\n"
        ".size hc_fiber_trampoline, . - hc_fiber_trampoline\n");

void hc_switch_stack(void **save, void *load);
void hc_fiber_trampoline(void);

static void prepare_fiber(struct hc_fiber *fiber)
{
    enum { R12 = 3, RETURN = 6, SLOTS = 7 };
    uintptr_t top = ((uintptr_t)fiber->stack + STACK_BYTES) & ~(uintptr_t)15;
    uintptr_t *frame = (uintptr_t *)(top - 16) - SLOTS;
    memset(frame, 0, SLOTS * sizeof *frame);
    frame[R12] = (uintptr_t)fiber;
    frame[RETURN] = (uintptr_t)hc_fiber_trampoline;
    fiber->stack_pointer = frame;
}

static void switch_stack(struct hc_fiber *from, struct hc_fiber *to)
{
    hc_switch_stack(&from->stack_pointer, to->stack_pointer);
}

#endif

static size_t guard_bytes(void)
{
    long page = sysconf(_SC_PAGESIZE);
    return page > 0 ? (size_t)page : 4096;
}

struct hc_fiber *hc_fiber_create(void (*entry)(void *), void *argument)
{
    size_t guard = guard_bytes();
    struct hc_fiber *fiber = calloc(1, sizeof *fiber);
    if (!fiber)
        return NULL;
    char *mapping = mmap(NULL, guard + STACK_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (mapping == MAP_FAILED) {
        free(fiber);
        return NULL;
    }
    if (mprotect(mapping, guard, PROT_NONE) != 0) {
        munmap(mapping, guard + STACK_BYTES);
        free(fiber);
        return NULL;
    }
    fiber->entry = entry;
    fiber->argument = argument;
    fiber->mapping = mapping;
    fiber->stack = mapping + guard;
    fiber->stack_bytes = STACK_BYTES;
    (void)VALGRIND_STACK_REGISTER(mapping + guard, mapping + guard + STACK_BYTES);
    prepare_fiber(fiber);
    return fiber;
}

void hc_fiber_restart(struct hc_fiber *fiber)
{
#ifdef HC_ASAN
    /* abandoned frames have not unpoisoned their red zones */
    __asan_unpoison_memory_region(fiber->stack, fiber->stack_bytes);
#endif
    fiber->fake_stack = NULL;
    prepare_fiber(fiber);
}

void hc_fiber_switch(struct hc_fiber *from, struct hc_fiber *to)
{
    to->from = from;
#ifdef HC_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_bytes);
#endif
    switch_stack(from, to);
    finish_switch(from);
}
