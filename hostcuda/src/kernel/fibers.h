/* Fibers: stacks that one OS thread switches between. The threads of a block run on them. */
#ifndef HOSTCUDA_FIBERS_H
#define HOSTCUDA_FIBERS_H

#include <stdbool.h>
#include <stddef.h>

#if !defined(__x86_64__) || defined(HOSTCUDA_PORTABLE_FIBERS)
#define HC_FIBER_UCONTEXT 1
#include <ucontext.h>
#endif

/* A fiber. To represent the OS thread's own stack, zero the struct and pass it to hc_fiber_switch. */
struct hc_fiber {
    struct hc_fiber *next; /* for lists of the owner */
    struct hc_fiber *from; /* the fiber that switched here last; its stack bounds become known on arrival */
    void (*entry)(void *); /* must never return */
    void *argument;
    char *mapping; /* a guard page, then the stack */
    const void *stack;
    size_t stack_bytes;
    void *fake_stack; /* for ASan */
#ifdef HC_FIBER_UCONTEXT
    ucontext_t context;
#else
    void *stack_pointer;
#endif
};

/* Returns NULL if there is no memory for a stack. Fibers are never destroyed. */
struct hc_fiber *hc_fiber_create(void (*entry)(void *), void *argument);
/* Discards the fiber's stack: the next switch to it starts at its entry. */
void hc_fiber_restart(struct hc_fiber *fiber);
void hc_fiber_switch(struct hc_fiber *from, struct hc_fiber *to);

#endif
