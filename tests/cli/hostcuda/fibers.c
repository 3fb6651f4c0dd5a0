/* The host device's fibers alone, as test_fibers.sh builds them: by assembly and by ucontext, for ASan and valgrind. */
#include "hostcuda/src/kernel/fibers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIBERS = 50, ROUNDS = 20, DEEP_BYTES = 64 << 10 };

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

struct worker {
    struct hc_fiber *fiber;
    int number, rounds;
    double sum;
};

static struct hc_fiber root;
static struct worker workers[FIBERS], chain[FIBERS]; /* fibers are never destroyed */

/* What a fiber holds in registers and on its stack must be there when it goes on. */
static void work(void *argument)
{
    struct worker *worker = argument;
    char text[64];
    double sum = 0;
    int length = snprintf(text, sizeof text, "fiber %d", worker->number);
    for (;;) {
        sum += worker->number * 0.5;
        worker->rounds++;
        worker->sum = sum;
        hc_fiber_switch(worker->fiber, &root);
        char again[64];
        EXPECT(snprintf(again, sizeof again, "fiber %d", worker->number) == length);
        EXPECT(strcmp(text, again) == 0);
    }
}

static void test_turns(void)
{
    for (int i = 0; i < FIBERS; i++) {
        workers[i] = (struct worker){.number = i};
        workers[i].fiber = hc_fiber_create(work, &workers[i]);
        EXPECT(workers[i].fiber);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < FIBERS; i++)
            hc_fiber_switch(&root, workers[i].fiber);
    for (int i = 0; i < FIBERS; i++) {
        EXPECT(workers[i].rounds == ROUNDS);
        EXPECT(workers[i].sum == i * 0.5 * ROUNDS);
    }
}

/* Leaves frames behind that never return. */
static __attribute__((noinline)) void descend(struct worker *worker, int depth)
{
    volatile char frame[1024];
    frame[0] = frame[1023] = (char)depth;
    if (depth * (int)sizeof frame < DEEP_BYTES)
        descend(worker, depth + 1);
    else
        hc_fiber_switch(worker->fiber, &root);
    worker->rounds += frame[0] == frame[1023];
}

static void go_deep(void *argument)
{
    struct worker *worker = argument;
    worker->number++;
    descend(worker, 0);
    hc_fiber_switch(worker->fiber, &root);
    abort();
}

static void test_restart(void)
{
    static struct worker worker;
    worker.fiber = hc_fiber_create(go_deep, &worker);
    EXPECT(worker.fiber);
    for (int i = 1; i <= 3; i++) {
        hc_fiber_switch(&root, worker.fiber);
        EXPECT(worker.number == i);
        EXPECT(worker.rounds == 0); /* it was thrown away before it came back */
        hc_fiber_restart(worker.fiber);
    }
    hc_fiber_switch(&root, worker.fiber);
    hc_fiber_switch(&root, worker.fiber);
    EXPECT(worker.rounds == DEEP_BYTES / 1024 + 1);
}

/* From one to the next, without the root in between. */
static void pass_on(void *argument)
{
    struct worker *worker = argument;
    for (;;) {
        worker->rounds++;
        struct worker *next = worker + 1;
        hc_fiber_switch(worker->fiber, worker->number + 1 < FIBERS ? next->fiber : &root);
    }
}

static void test_chain(void)
{
    for (int i = 0; i < FIBERS; i++) {
        chain[i] = (struct worker){.number = i};
        chain[i].fiber = hc_fiber_create(pass_on, &chain[i]);
        EXPECT(chain[i].fiber);
    }
    for (int round = 0; round < ROUNDS; round++)
        hc_fiber_switch(&root, chain[0].fiber);
    for (int i = 0; i < FIBERS; i++) {
        EXPECT(chain[i].rounds == ROUNDS);
    }
}

int main(void)
{
    test_turns();
    test_restart();
    test_chain();
#ifdef HC_FIBER_UCONTEXT
    puts("ucontext");
#else
    puts("assembly");
#endif
    return 0;
}
