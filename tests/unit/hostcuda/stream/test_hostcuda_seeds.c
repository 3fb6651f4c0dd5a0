/* Seeded schedules: all orders that streams, events and edges allow, and no other. Host device only. */
#include "tests/support/cuda_support.h"

#include "kernels/model/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/child.h"

TESTS_ON_HOST_DEVICE("HOSTCUDA_SEED");

enum { N = 64, SEEDS_QUICK = 20, SEEDS_ALL = 200, SEEDS_INTERLEAVING = 2000, INTERLEAVINGS = 20 };

SHARED_STREAM(a, cudaStreamNonBlocking);
SHARED_STREAM(b, cudaStreamNonBlocking);
SHARED_STREAM(c, cudaStreamNonBlocking);
SHARED_MEMORY(float, x, N);
SHARED_MEMORY(float, y, N);
SHARED_MEMORY(float, z, N);
static cudaEvent_t event, second_event;
static char letters[64];
static size_t letter_count;

static int setup(void **state)
{
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&second_event, cudaEventDisableTiming));
    return make_shared(state);
}

static int teardown(void **state)
{
    hostcuda_seed(0);
    OK(cudaEventDestroy(event));
    OK(cudaEventDestroy(second_event));
    return drop_shared(state);
}

static void write_letter(void *letter)
{
    letters[letter_count++] = *(const char *)letter;
    letters[letter_count] = 0;
}

static void write_on(cudaStream_t stream, const char *letter)
{
    OK(cudaLaunchHostFunc(stream, write_letter, (void *)(uintptr_t)letter));
}

static void begin_seed(uint64_t seed)
{
    letter_count = 0;
    letters[0] = 0;
    hostcuda_seed(seed);
}

/* ---- the variable, which is read at the first call ---- */

/* How a process with this seed starts: 1: with an error, 2: well. */
static int start(void)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    return error == cudaErrorInitializationError ? 1 : error == cudaSuccess && count == 1 ? 2 : 3;
}

TEST(test_values)
{
    static const char *const bad[] = {"-1", "two", "3x", " 4", "99999999999999999999"};
    static const char *const good[] = {"", "0", "7", "18446744073709551606"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_child("HOSTCUDA_SEED", &(const struct child){bad[i], start, 1, "HOSTCUDA_SEED"});
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        expect_child("HOSTCUDA_SEED", &(const struct child){good[i], start, 2, NULL});
}

/* ---- every order ------------------------------------------------------------------------------------------------ */

static void two_streams(void)
{
    for (int i = 0; i < 3; i++) {
        write_on(a, "a");
        write_on(b, "b");
    }
    OK(cudaDeviceSynchronize());
}

static void two_chains(void)
{
    struct cudaHostNodeParams params[] = {{write_letter, (void *)(uintptr_t) "a"},
                                          {write_letter, (void *)(uintptr_t) "b"}};
    cudaGraphNode_t last[2];
    NEW_GRAPH(graph);
    for (int i = 0; i < 6; i++) {
        cudaGraphNode_t before = last[i % 2];
        OK(cudaGraphAddHostNode(&last[i % 2], graph, i < 2 ? NULL : &before, i < 2 ? 0 : 1, &params[i % 2]));
    }
    EXEC_OF(exec, graph);
    OK(cudaGraphLaunch(exec, a));
    OK(cudaStreamSynchronize(a));
}

/* Adds the word to those seen. */
static int add_word(char words[][8], int count, const char *word)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(words[i], word))
            return count;
    assert_true(count < INTERLEAVINGS); /* there are no more than these */
    strcpy(words[count], word);
    return count + 1;
}

static void expect_all_orders(void (*program)(void), const char *name)
{
    char words[INTERLEAVINGS][8];
    int count = 0;
    uint64_t seed = 0;
    while (count < INTERLEAVINGS && seed++ < SEEDS_INTERLEAVING) {
        begin_seed(seed);
        program();
        assert_int_equal(letter_count, 6);
        count = add_word(words, count, letters);
    }
    if (count != INTERLEAVINGS)
        fail_msg("%s: %d orders of %d within %d seeds", name, count, INTERLEAVINGS, SEEDS_INTERLEAVING);
    printf("%s: all %d orders within %llu seeds\n", name, INTERLEAVINGS, (unsigned long long)seed);
}

#define HOSTCUDA_SEEDS_TEST(name) TEST_F(name, setup, teardown, void *state)

HOSTCUDA_SEEDS_TEST(test_all_orders_of_two_streams)
{
    expect_all_orders(two_streams, "two streams of three operations");
}

HOSTCUDA_SEEDS_TEST(test_all_orders_of_two_chains)
{
    expect_all_orders(two_chains, "a graph of two chains of three nodes");
}

HOSTCUDA_SEEDS_TEST(test_seed_0_is_the_order_of_issue)
{
    begin_seed(0);
    two_streams();
    assert_string_equal(letters, "ababab");
    begin_seed(0);
    two_chains();
    assert_string_equal(letters, "ababab");
}

HOSTCUDA_SEEDS_TEST(test_a_seed_replays)
{
    for (uint64_t seed = 1; seed <= SEEDS_ALL; seed++) {
        char first[sizeof letters];
        begin_seed(seed);
        two_streams();
        two_chains();
        memcpy(first, letters, sizeof first);
        void *hole = malloc(seed * 64); /* other addresses */
        begin_seed(seed);
        two_streams();
        two_chains();
        free(hole);
        assert_string_equal(letters, first);
    }
}

/* What has run on one stream when the program has waited for another, or asked. */
static void expect_any_progress(void (*wait)(void))
{
    bool seen[4] = {false};
    for (uint64_t seed = 1; seed <= SEEDS_ALL; seed++) {
        begin_seed(seed);
        write_on(a, "a");
        for (int i = 0; i < 3; i++)
            write_on(b, "b");
        wait();
        size_t count = 0;
        for (size_t i = 0; i < letter_count; i++)
            count += letters[i] == 'b';
        seen[count] = true;
        OK(cudaDeviceSynchronize());
    }
    for (int i = 0; i < 4; i++)
        assert_true(seen[i]);
}

static void wait_for_stream(void)
{
    OK(cudaStreamSynchronize(a));
    assert_non_null(strchr(letters, 'a'));
}

static void wait_for_event(void)
{
    OK(cudaEventRecord(event, a));
    OK(cudaEventSynchronize(event));
    assert_non_null(strchr(letters, 'a'));
}

static void ask_stream(void)
{
    cudaError_t answer = cudaStreamQuery(a);
    assert_true(answer == (strchr(letters, 'a') ? cudaSuccess : cudaErrorNotReady));
}

HOSTCUDA_SEEDS_TEST(test_a_wait_runs_any_part_of_the_rest)
{
    expect_any_progress(wait_for_stream);
    expect_any_progress(wait_for_event);
    expect_any_progress(ask_stream);
}

/* ---- programs, right and wrong ---------------------------------------------------------------------------------- */

static void put(float *to, float value, cudaStream_t stream)
{
    OK(bgk_fill(to, value, N, stream));
}

static float get(const float *from)
{
    float value = 0;
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&value, from, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

static void order(cudaStream_t before, cudaStream_t after)
{
    OK(cudaEventRecord(event, before));
    OK(cudaStreamWaitEvent(after, event, 0));
}

static void clear_for(uint64_t seed)
{
    hostcuda_seed(0);
    put(x, 0, a);
    put(y, 0, a);
    put(z, 0, a);
    OK(cudaDeviceSynchronize());
    hostcuda_seed(seed);
}

/* z = 2 x + 3 x, the halves on two streams. */
static float fork_and_join(bool right)
{
    put(x, 1, a);
    order(a, b);
    OK(bgk_scale(y, x, 2, N, b));
    OK(bgk_scale(z, x, 3, N, a));
    if (right)
        order(b, a);
    OK(bgk_add(z, z, y, N, a));
    OK(cudaStreamSynchronize(a));
    return get(z);
}

static float join(bool right)
{
    put(x, 1, a);
    order(a, b);
    order(a, c);
    OK(bgk_scale(y, x, 2, N, b));
    OK(bgk_scale(z, x, 3, N, c));
    order(c, a);
    order(right ? b : c, a);
    OK(bgk_add(z, z, y, N, a));
    return get(z);
}

/* The event is recorded again before the stream that should have waited for its first record does. */
static float reused_event(bool right)
{
    put(x, 1, a);
    OK(cudaEventRecord(event, a));
    put(z, 3, c);
    OK(cudaEventRecord(right ? second_event : event, c));
    OK(cudaStreamWaitEvent(b, event, 0));
    if (right)
        OK(cudaStreamWaitEvent(b, second_event, 0));
    OK(bgk_scale(y, x, 2, N, b));
    OK(bgk_add(z, z, y, N, b));
    return get(z);
}

/* The same missing join inside a captured graph: nodes without an edge between them. */
static float captured(bool right)
{
    BEGIN_CAPTURE(a);
    put(x, 1, a);
    order(a, b);
    OK(bgk_scale(y, x, 2, N, b));
    OK(bgk_scale(z, x, 3, N, a));
    if (right)
        order(b, a);
    OK(bgk_add(z, z, y, N, a));
    if (!right)
        order(b, a); /* too late */
    CAPTURED(graph, a);
    EXEC_OF(exec, graph);
    OK(cudaGraphLaunch(exec, a));
    OK(cudaStreamSynchronize(a));
    return get(z);
}

static bool wrong_under(float (*program)(bool right), bool right, uint64_t seed)
{
    clear_for(seed);
    return program(right) != 5;
}

static void expect_found(float (*program)(bool right), const char *name)
{
    int window = 0, least = SEEDS_QUICK, all = 0;
    assert_false(wrong_under(program, false, 0)); /* the order of issue hides it */
    for (uint64_t seed = 1; seed <= SEEDS_ALL; seed++) {
        if (wrong_under(program, true, seed))
            fail_msg("%s: the correct program gives another result under HOSTCUDA_SEED=%llu", name,
                     (unsigned long long)seed);
        bool wrong = wrong_under(program, false, seed);
        all += wrong;
        window += wrong;
        if (seed % SEEDS_QUICK == 0) {
            least = window < least ? window : least;
            window = 0;
        }
    }
    printf("%s: found by %d seeds of %d, by %d or more in each %d\n", name, all, SEEDS_ALL, least, SEEDS_QUICK);
    assert_true(least >= 1);
}

HOSTCUDA_SEEDS_TEST(test_planted_missing_joins)
{
    expect_found(fork_and_join, "fork without a join before use");
    expect_found(join, "join on the wrong stream");
    expect_found(reused_event, "event reused too early");
    expect_found(captured, "fork without a join before use, captured");
}

/* The legacy stream orders blocking streams without an event; memory of one launch is freed by the next stream. */
static float implicit_order(cudaStream_t blocking)
{
    float *memory = NULL;
    put(x, 1, blocking);
    OK(bgk_scale(y, x, 2, N, cudaStreamLegacy));
    OK(bgk_scale(z, y, 2, N, blocking));
    OK(cudaMallocAsync((void **)&memory, N * sizeof *memory, blocking));
    OK(bgk_add(memory, z, x, N, blocking));
    OK(cudaMemcpyAsync(z, memory, N * sizeof *memory, cudaMemcpyDeviceToDevice, blocking));
    OK(cudaFreeAsync(memory, blocking));
    return get(z);
}

HOSTCUDA_SEEDS_TEST(test_implicit_order)
{
    OWNED_STREAM(blocking);
    OK(cudaStreamCreate(&blocking));
    for (uint64_t seed = 0; seed <= SEEDS_ALL; seed++) {
        clear_for(seed);
        assert_true(implicit_order(blocking) == 5);
    }
}

/* Launches of one executable graph run one after the other, whatever their streams. */
HOSTCUDA_SEEDS_TEST(test_launches_of_one_graph)
{
    for (uint64_t seed = 1; seed <= SEEDS_ALL; seed++) {
        clear_for(seed);
        put(x, 1, a);
        OK(cudaDeviceSynchronize());
        BEGIN_CAPTURE(a);
        OK(bgk_add(y, y, x, N, a));
        OK(bgk_scale(y, y, 2, N, a));
        CAPTURED(graph, a);
        EXEC_OF(exec, graph);
        OK(cudaGraphLaunch(exec, a));
        OK(cudaGraphLaunch(exec, b));
        OK(cudaGraphLaunch(exec, c));
        assert_true(get(y) == 14);
    }
}

/* A host function may wait for the thread that queued it: it never runs before that thread waits or asks. */
HOSTCUDA_SEEDS_TEST(test_host_functions_do_not_run_early)
{
    for (uint64_t seed = 1; seed <= SEEDS_ALL; seed++) {
        begin_seed(seed);
        for (int i = 0; i < 4; i++)
            write_on(a, "a");
        assert_int_equal(letter_count, 0);
        OK(cudaDeviceSynchronize());
        assert_int_equal(letter_count, 4);
    }
}
