/* bgk_move_rows against plain C: rows of all widths at all alignments, with both kinds of tails. */
#include "tests/support/support.h"

#include "kernels/library/rows.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 8192, GUARD = 0xA5 };

static uint64_t random_state;

static unsigned below(unsigned n)
{
    random_state ^= random_state >> 12; /* xorshift64*, Vigna 2016 */
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (unsigned)((random_state * 0x2545F4914F6CDD1Du >> 32) % n);
}

/* One move, between places in two device arrays of ROOM bytes each. */
typedef struct sample {
    size_t to, from;
    bgk_rows rows;
} sample;

static sample make_sample(unsigned char *target, const unsigned char *source)
{
    static const size_t elements[] = {1, 2, 4, 8};
    size_t element = elements[below(4)], row = element * (1 + below(40)), rows = below(40), tail = below(20);
    sample s = {.to = element * below(64), .from = element * below(64)};

    s.rows.kind = rows > 0 && below(2) ? BGK_TAIL_REPEAT : BGK_TAIL_PATTERN;
    s.rows.row = row;
    s.rows.copied = row * rows;
    s.rows.tail = row * tail;
    s.rows.target = target + s.to;
    s.rows.source = below(4) ? source + s.from : NULL;
    for (size_t at = 0; at < 8; at += element)
        for (size_t i = 0; i < element; i++)
            s.rows.pattern |= (unsigned long long)(0x11 * (i + 1)) << 8 * (at + i);
    if (s.rows.copied + s.rows.tail + s.to > ROOM || s.rows.copied + s.from > ROOM)
        s.rows.copied = s.rows.tail = 0;
    if (s.rows.copied == 0)
        s.rows.kind = BGK_TAIL_PATTERN;
    return s;
}

static void move_by_hand(const sample *s, unsigned char *target, const unsigned char *source)
{
    unsigned char *to = target + s->to;
    if (s->rows.source != NULL)
        memcpy(to, source + s->from, s->rows.copied);
    for (size_t i = 0; i < s->rows.tail; i++) {
        size_t at = s->rows.copied + i;
        to[at] =
            s->rows.kind == BGK_TAIL_REPEAT ? to[at - s->rows.row] : (unsigned char)(s->rows.pattern >> at % 8 * 8);
    }
}

static void check_round(cudaStream_t stream, unsigned char *device, int count)
{
    static unsigned char targets[BGK_ROWS_MAX][ROOM], found[ROOM], source[ROOM];
    bgk_rows moves[BGK_ROWS_MAX];
    unsigned char *from = device + (size_t)BGK_ROWS_MAX * ROOM;

    for (int i = 0; i < ROOM; i++)
        source[i] = (unsigned char)below(256);
    EXPECT_CUDA(cudaMemcpyAsync(from, source, ROOM, cudaMemcpyHostToDevice, stream));
    EXPECT_CUDA(cudaMemsetAsync(device, GUARD, (size_t)BGK_ROWS_MAX * ROOM, stream));
    for (int i = 0; i < count; i++) {
        sample s = make_sample(device + (size_t)i * ROOM, from);
        memset(targets[i], GUARD, ROOM);
        move_by_hand(&s, targets[i], source);
        moves[i] = s.rows;
    }
    EXPECT_CUDA(bgk_move_rows(moves, count, stream));
    for (int i = 0; i < count; i++) {
        EXPECT_CUDA(cudaMemcpyAsync(found, device + (size_t)i * ROOM, ROOM, cudaMemcpyDeviceToHost, stream));
        EXPECT_CUDA(cudaStreamSynchronize(stream));
        for (int b = 0; b < ROOM; b++)
            if (found[b] != targets[i][b])
                fail_msg("move %d of %d: byte %d is %d, not %d", i, count, b, found[b], targets[i][b]);
    }
}

FIXTURE_TEST(test_against_plain_c)
{
    const char *text = getenv("BREAKGRAPH_SEED");
    int rounds = by_size(20, 200, 200);
    OWNED_MEMORY(unsigned char, device);

    random_state = text ? strtoull(text, NULL, 0) : 20261121;
    printf("BREAKGRAPH_SEED=%llu\n", (unsigned long long)random_state);
    random_state |= 1u;
    EXPECT_CUDA(cudaMalloc((void **)&device, (size_t)(BGK_ROWS_MAX + 1) * ROOM));
    for (int i = 0; i < rounds; i++)
        check_round(f->stream, device, 1 + (int)below(BGK_ROWS_MAX));
}

/* More than one round of the grid. */
FIXTURE_TEST(test_many_bytes)
{
    enum { BYTES = 9 << 20 };
    static unsigned char source[BYTES], target[BYTES];
    bgk_rows rows = {.copied = BYTES, .row = BYTES};
    OWNED_MEMORY(unsigned char, device);

    EXPECT_CUDA(cudaMalloc((void **)&device, 2 * (size_t)BYTES));
    for (size_t i = 0; i < BYTES; i++)
        source[i] = (unsigned char)(i * 2654435761u >> 13);
    EXPECT_CUDA(cudaMemcpyAsync(device, source, BYTES, cudaMemcpyHostToDevice, f->stream));
    rows.source = device;
    rows.target = device + BYTES;
    EXPECT_CUDA(bgk_move_rows(&rows, 1, f->stream));
    EXPECT_CUDA(cudaMemcpyAsync(target, device + BYTES, BYTES, cudaMemcpyDeviceToHost, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    assert_memory_equal(source, target, BYTES);
}

FIXTURE_TEST(test_bad_counts)
{
    bgk_rows rows[BGK_ROWS_MAX + 1] = {{.target = NULL}};
    assert_int_equal(bgk_move_rows(rows, 0, f->stream), cudaErrorInvalidValue);
    assert_int_equal(bgk_move_rows(rows, BGK_ROWS_MAX + 1, f->stream), cudaErrorInvalidValue);
    EXPECT_CUDA(bgk_move_rows(rows, 1, f->stream)); /* nothing to do */
}
