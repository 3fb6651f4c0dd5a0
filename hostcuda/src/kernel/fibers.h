/* Fibers: stacks that one OS thread switches between. A block's threads run on them. */
#ifndef HOSTCUDA_FIBERS_H
#define HOSTCUDA_FIBERS_H

#include <stdbool.h>
#include <stddef.h>

#if !defined(__x86_64__) || defined(HOSTCUDA_PORTABLE_FIBERS)
#define HC_FIBER_UCONTEXT 1
#include <ucontext.h>
#endif

/* A fiber without a stack of its own stands for the OS thread's stack: zero it and pass it to hc_fiber_switch. */
struct hc_fiber {
    struct hc_fiber *next; /* for the owner's lists */
    struct hc_fiber *from; /* who switched here last: its stack bounds are learnt on arrival */
    void (*entry)(void *); /* must never return */
    void *argument;
    char *mapping; /* guard page, then the stack */
    const void *stack;
    size_t stack_bytes;
    void *fake_stack; /* ASan's */
#ifdef HC_FIBER_UCONTEXT
    ucontext_t context;
#else
    void *stack_pointer;
#endif
};

/* NULL when there is no memory for a stack. It is never destroyed. */
struct hc_fiber *hc_fiber_create(void (*entry)(void *), void *argument);
/* Throws away what the fiber was doing: the next switch to it starts at its entry. */
void hc_fiber_restart(struct hc_fiber *fiber);
void hc_fiber_switch(struct hc_fiber *from, struct hc_fiber *to);

#endif
