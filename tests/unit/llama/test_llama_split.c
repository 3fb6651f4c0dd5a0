/* How ranks share a model: the parts cover it without overlap, and a rank's device holds its part and no more. */
#include "examples/llama/device.h"
#include "tests/support/llama/llama_support.h"
#include "tests/support/support.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- the parts ---------------------------------------------------------------------------------- */

static llama_part part_of(const llama_config *config, int rank, int ranks)
{
    llama_part part;
    EXPECT_OK(llama_split(&part, config, rank, ranks));
    assert_int_equal(part.rank, rank);
    assert_int_equal(part.ranks, ranks);
    assert_int_equal(part.group, config->heads / config->kv_heads);
    return part;
}

/* Where the ranges so far end, this one begins; it has the average's count, rounded one way or the other. */
static void expect_next(llama_range range, int *end, int total, int ranks)
{
    assert_int_equal(range.first, *end);
    assert_in_range(range.count, total / ranks, (total + ranks - 1) / ranks);
    assert_true(range.count >= 1);
    *end += range.count;
}

/* Every query head finds, among the rank's key heads, the one that it has in the whole model, and each of these is
 * read. */
static void expect_key_heads(const llama_part *part)
{
    int first = llama_first_in_group(part), last = -1;
    for (int h = 0; h < part->heads.count; h++) {
        int local = (first + h) / part->group;
        assert_int_equal(part->kv_heads.first + local, (part->heads.first + h) / part->group);
        assert_in_range(local, last < 0 ? 0 : last, last + 1);
        last = local;
    }
    assert_int_equal(last, part->kv_heads.count - 1);
}

static void check_split(const llama_config *config, int ranks)
{
    int heads = 0, hidden = 0, kv_heads = 0;
    for (int rank = 0; rank < ranks; rank++) {
        llama_part part = part_of(config, rank, ranks);
        llama_config own = llama_part_config(config, &part);
        expect_next(part.heads, &heads, config->heads, ranks);
        expect_next(part.hidden, &hidden, config->hidden, ranks);
        expect_key_heads(&part);
        assert_true(part.kv_heads.first <= kv_heads);
        kv_heads = part.kv_heads.first + part.kv_heads.count;
        assert_int_equal(own.heads, part.heads.count);
        assert_int_equal(own.kv_heads, part.kv_heads.count);
        assert_int_equal(own.hidden, part.hidden.count);
        assert_int_equal(own.width, config->width);
        assert_int_equal(own.vocabulary, config->vocabulary);
    }
    assert_int_equal(heads, config->heads);
    assert_int_equal(hidden, config->hidden);
    assert_int_equal(kv_heads, config->kv_heads);
}

TEST(test_covers_without_overlap)
{
    int splits = 0;
    for (int kv_heads = 1; kv_heads <= 9; kv_heads++)
        for (int group = 1; group <= 7; group++)
            for (int hidden = 1; hidden <= 130; hidden += 43) {
                llama_config config = llama_small;
                config.kv_heads = kv_heads;
                config.heads = kv_heads * group;
                config.hidden = hidden;
                for (int ranks = 1; ranks <= config.heads && ranks <= hidden; ranks++, splits++)
                    check_split(&config, ranks);
            }
    printf("%d splits\n", splits);
}

static void expect_range(const llama_part *part, const char *what, llama_range range, llama_range expected)
{
    if (range.first != expected.first || range.count != expected.count)
        fail_msg("rank %d of %d has %d %s from %d on, expected %d from %d on", part->rank, part->ranks, range.count,
                 what, range.first, expected.count, expected.first);
}

TEST(test_known_models)
{
    static const struct {
        const llama_config *config;
        int rank, ranks;
        llama_range heads, kv_heads, hidden;
    } parts[] = {
        {&llama_smollm2, 0, 2, {0, 5}, {0, 2}, {0, 768}},   {&llama_smollm2, 1, 2, {5, 4}, {1, 2}, {768, 768}},
        {&llama_smollm2, 0, 4, {0, 3}, {0, 1}, {0, 384}},   {&llama_smollm2, 1, 4, {3, 2}, {1, 1}, {384, 384}},
        {&llama_smollm2, 2, 4, {5, 2}, {1, 2}, {768, 384}}, {&llama_smollm2, 3, 4, {7, 2}, {2, 1}, {1152, 384}},
        {&llama_small, 0, 2, {0, 4}, {0, 2}, {0, 256}},     {&llama_small, 1, 2, {4, 4}, {2, 2}, {256, 256}}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        llama_part part = part_of(parts[i].config, parts[i].rank, parts[i].ranks);
        expect_range(&part, "heads", part.heads, parts[i].heads);
        expect_range(&part, "key heads", part.kv_heads, parts[i].kv_heads);
        expect_range(&part, "hidden units", part.hidden, parts[i].hidden);
    }
}

static void expect_refused(const llama_config *config, int rank, int ranks, const char *words)
{
    llama_part part;
    EXPECT_STATUS(llama_split(&part, config, rank, ranks), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR(words);
}

TEST(test_refuses)
{
    llama_config few = llama_small, uneven = llama_small;
    few.hidden = 3;
    uneven.kv_heads = 3;
    expect_refused(&llama_small, 0, 9, "9 ranks cannot share 8 query heads and 512 hidden units");
    expect_refused(&few, 0, 4, "4 ranks cannot share 8 query heads and 3 hidden units");
    expect_refused(&uneven, 0, 2, "not a multiple of the key heads");
    expect_refused(&llama_small, 2, 2, "give a rank from 0 to ranks - 1");
    expect_refused(&llama_small, -1, 2, "give a rank from 0 to ranks - 1");
    expect_refused(&llama_small, 0, 0, "give a rank from 0 to ranks - 1");
}

/* ---- the weights -------------------------------------------------------------------------------- */

static const llama_config nine_heads = ODD_SHAPE(.width = 92, .heads = 9, .kv_heads = 3);

/* tensor holds these rows and columns of a matrix that has `all` columns. */
static void expect_cut(const bg_tensor *tensor, const float *whole, int all, llama_range rows, llama_range columns)
{
    size_t width = (size_t)columns.count * sizeof(float);
    FREED_BY(free_block) float *part = malloc(bg_tensor_bytes(tensor));
    assert_non_null(part);
    assert_int_equal(tensor->dim[0], rows.count);
    assert_int_equal(tensor->dim[1], columns.count);
    EXPECT_CUDA(cudaMemcpy(part, tensor->data, bg_tensor_bytes(tensor), cudaMemcpyDeviceToHost));
    for (int r = 0; r < rows.count; r++)
        assert_memory_equal(part + (size_t)r * columns.count,
                            whole + (size_t)(rows.first + r) * all + (size_t)columns.first, width);
}

static llama_range times(llama_range range, int factor)
{
    return (llama_range){range.first * factor, range.count * factor};
}

static void expect_layer(const llama_device_layer *l, const llama_layer_weights *w, const llama_config *c,
                         const llama_part *part)
{
    const llama_range width = {0, c->width}, query = times(part->heads, c->head_dim),
                      kv = times(part->kv_heads, c->head_dim);
    expect_cut(&l->query, w->query, c->width, query, width);
    expect_cut(&l->key, w->key, c->width, kv, width);
    expect_cut(&l->value, w->value, c->width, kv, width);
    expect_cut(&l->attention_out, w->attention_out, c->heads * c->head_dim, width, query);
    expect_cut(&l->gate, w->gate, c->width, part->hidden, width);
    expect_cut(&l->up, w->up, c->width, part->hidden, width);
    expect_cut(&l->down, w->down, c->hidden, width, part->hidden);
}

/* What every rank has of a model whose output matrix is its own. */
static size_t replicated_bytes(const llama_config *c)
{
    size_t norms = (1 + 2 * (size_t)c->layers) * c->width, tables = 2 * (size_t)c->vocabulary * c->width;
    return (norms + tables) * sizeof(float);
}

/* slack: how much more than the average of what is shared a rank may have: heads and hidden units do not divide, and
 * key heads are there twice. */
static void check_weights(const llama_config *config, uint64_t seed, int ranks, double slack)
{
    FREED_BY(llama_weights_free) llama_weights weights = random_weights(config, seed);
    llama_device_weights device;
    size_t replicated = replicated_bytes(config), whole;
    EXPECT_OK(llama_device_weights_create(&device, &weights, NULL));
    whole = device.memory.bytes;
    llama_device_weights_free(&device);
    for (int rank = 0; rank < ranks; rank++) {
        llama_part part = part_of(config, rank, ranks);
        double most = (double)(whole - replicated) / ranks * (1 + slack) + (double)replicated;
        EXPECT_OK(llama_device_weights_create_part(&device, &weights, &part, NULL, NULL));
        printf("rank %d of %d: %zu bytes of %zu, %zu on all ranks; allowed %.0f\n", rank, ranks, device.memory.bytes,
               whole, replicated, most);
        assert_true((double)device.memory.bytes <= most);
        for (int i = 0; i < config->layers; i++)
            expect_layer(&device.layer[i], &weights.layer[i], config, &part);
        llama_device_weights_free(&device);
        assert_int_equal(device.memory.bytes, 0);
    }
}

TEST(test_weights_of_parts)
{
    const uint64_t seed = 5;
    printf("seed %llu\n", (unsigned long long)seed);
    check_weights(&llama_small, seed, 1, 0);
    check_weights(&llama_small, seed, 2, 0);
    check_weights(&llama_small, seed, 4, 0);
    check_weights(&llama_small, seed, 8, 0.13); /* each key head twice */
    check_weights(&nine_heads, seed, 2, 0.13);
    check_weights(&nine_heads, seed, 4, 0.3);
    check_weights(&nine_heads, seed, 9, 0.36);
}
