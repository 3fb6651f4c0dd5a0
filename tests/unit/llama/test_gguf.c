/* The GGUF reader on right and on broken files. Every file lies in a block of exactly its size, so that ASan and
 * valgrind see a read beyond it. */
#include "examples/llama/weights/dequantize.h"
#include "examples/llama/weights/gguf.h"
#include "tests/support/llama/gguf_writer.h"
#include "tests/support/llama/llama_support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char error[GGUF_ERROR_SIZE];

/* A file in a block of its own; NULL: it was refused. */
typedef struct opened {
    void *block;
    gguf *file;
} opened;

static void close_opened(opened *o)
{
    gguf_close(o->file);
    free(o->block);
}

static opened open_copy(const gguf_writer *w, size_t size)
{
    opened o = {.block = malloc(size ? size : 1)};
    int result;
    assert_non_null(o.block);
    memcpy(o.block, w->bytes, size);
    error[0] = 0;
    result = gguf_open_memory(&o.file, o.block, size, "test.gguf", error);
    assert_int_equal(result, o.file ? 0 : -1);
    return o;
}

/* The file must be refused, with a sentence that has all of `words`. */
static void expect_refused_size(const gguf_writer *w, size_t size, const char *words)
{
    FREED_BY(close_opened) opened o = open_copy(w, size);
    if (o.file)
        fail_msg("expected \"%s\", but the file is accepted", words);
    EXPECT_SAYS(error, words);
    EXPECT_SAYS(error, "test.gguf");
}

/* As above; frees the writer. */
static void expect_refused(gguf_writer *w, const char *words)
{
    expect_refused_size(w, w->size, words);
    free_writer(w);
}

/* The whole file, which must be right; the writer is freed. */
static opened open_right(gguf_writer *w)
{
    opened o = open_copy(w, w->size);
    if (!o.file)
        fail_msg("%s", error);
    free_writer(w);
    return o;
}

static void write_small_file(gguf_writer *w, uint32_t version)
{
    const char *const words[] = {"one", "", "three"};
    const int32_t numbers[] = {-1, 7};
    const float values[4] = {1.5f, -2.0f, 0.25f, 1e9f};
    write_header(w, version, 2, 6);
    write_key_string(w, "general.name", "small");
    write_key_u32(w, "count", 4000000000u);
    write_key(w, "ratio", 6);
    write_bytes(w, &(float){0.125f}, 4);
    write_key(w, "flag", 7);
    write_bytes(w, "\1", 1);
    write_key_strings(w, "words", words, 3);
    write_key_i32s(w, "numbers", numbers, 2);
    write_tensor(w, "b", 2, 0, 0, 32);
    write_tensor(w, "a", 2, 1, 0, 0);
    write_padding(w, 32);
    write_bytes(w, values, 8);
    write_padding(w, 32);
    write_bytes(w, values + 2, 8);
}

static void check_small_keys(const gguf *file)
{
    int64_t number;
    double ratio;
    bool flag;
    gguf_string text;
    gguf_array array;
    assert_int_equal(gguf_get_int(file, "count", 0, UINT32_MAX, &number, error), 0);
    assert_int_equal(number, 4000000000);
    assert_int_equal(gguf_get_float(file, "ratio", &ratio, error), 0);
    assert_true(ratio == 0.125);
    assert_int_equal(gguf_get_bool(file, "flag", &flag, error), 0);
    assert_true(flag);
    assert_int_equal(gguf_get_string(file, "general.name", &text, error), 0);
    assert_int_equal(text.length, 5);
    assert_memory_equal(text.text, "small", 5);
    assert_int_equal(gguf_get_array(file, "numbers", GGUF_I32, &array, error), 0);
    assert_int_equal(gguf_array_i32(&array, 0), -1);
    assert_int_equal(gguf_array_i32(&array, 1), 7);
    assert_int_equal(gguf_get_array(file, "words", GGUF_STRING, &array, error), 0);
    assert_int_equal(array.count, 3);
    assert_int_equal(gguf_next_string(&array).length, 3);
    assert_int_equal(gguf_next_string(&array).length, 0);
    assert_memory_equal(gguf_next_string(&array).text, "three", 5);
}

static void check_small_tensors(const gguf *file)
{
    float values[2];
    assert_int_equal(gguf_tensor_count(file), 2);
    assert_memory_equal(gguf_tensor_at(file, 0)->name.text, "a", 1);
    assert_null(gguf_find_tensor(file, "c"));
    assert_int_equal(gguf_find_tensor(file, "a")->rank, 2);
    assert_int_equal(gguf_read_tensor(file, gguf_find_tensor(file, "a"), values, error), 0);
    assert_true(values[0] == 1.5f && values[1] == -2.0f);
    assert_int_equal(gguf_read_tensor(file, gguf_find_tensor(file, "b"), values, error), 0);
    assert_true(values[0] == 0.25f && values[1] == 1e9f);
}

static opened open_small(uint32_t version)
{
    gguf_writer w = {0};
    write_small_file(&w, version);
    return open_right(&w);
}

TEST(test_reads_both_versions)
{
    for (uint32_t version = 2; version <= 3; version++) {
        FREED_BY(close_opened) opened small = open_small(version);
        check_small_keys(small.file);
        check_small_tensors(small.file);
    }
}

static void expect_key_error(int result, const char *words)
{
    assert_int_equal(result, -1);
    EXPECT_SAYS(error, words);
}

TEST(test_key_errors_name_the_key)
{
    FREED_BY(close_opened) opened small = open_small(3);
    gguf *file = small.file;
    int64_t number;
    double ratio;
    bool flag;
    gguf_string text;
    gguf_array array;
    expect_key_error(gguf_get_int(file, "absent", 0, 1, &number, error), "the key absent is missing");
    expect_key_error(gguf_get_int(file, "count", 0, 100, &number, error),
                     "the key count is out of range; it must be 0 to 100");
    expect_key_error(gguf_get_int(file, "ratio", 0, 100, &number, error), "ratio has the type f32");
    expect_key_error(gguf_get_int(file, "words", 0, 100, &number, error), "words has the type array");
    expect_key_error(gguf_get_float(file, "count", &ratio, error), "count has the type u32");
    expect_key_error(gguf_get_bool(file, "count", &flag, error), "must be a bool");
    expect_key_error(gguf_get_string(file, "count", &text, error), "must be a string");
    expect_key_error(gguf_get_array(file, "count", GGUF_I32, &array, error), "must be an array");
    expect_key_error(gguf_get_array(file, "words", GGUF_I32, &array, error), "array of string, but must be one of i32");
}

TEST(test_integers_of_every_type)
{
    static const struct {
        uint32_t type;
        size_t bytes;
        int64_t value;
    } cases[] = {{0, 1, 200},        {1, 1, -100},        {2, 2, 60000},      {3, 2, -30000},
                 {4, 4, 4000000000}, {5, 4, -2000000000}, {10, 8, 1ll << 40}, {11, 8, -(1ll << 40)}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gguf_writer w = {0};
        int64_t value = 0;
        write_header(&w, 3, 0, 1);
        write_key(&w, "n", cases[i].type);
        write_bytes(&w, &cases[i].value, cases[i].bytes); /* little-endian, as this machine */
        FREED_BY(close_opened) opened o = open_right(&w);
        assert_int_equal(gguf_get_int(o.file, "n", INT64_MIN, INT64_MAX, &value, error), 0);
        assert_int_equal(value, cases[i].value);
    }
}

TEST(test_truncated_at_every_byte)
{
    gguf_writer w = {0};
    write_small_file(&w, 3);
    for (size_t size = 0; size < w.size; size++)
        expect_refused_size(&w, size, "");
    free_writer(&w);
}

/* Opens the bytes, whatever they are, and uses what the reader lets through. */
static void use_whatever_opens(const gguf_writer *w)
{
    FREED_BY(close_opened) opened o = open_copy(w, w->size);
    if (!o.file)
        assert_true(strlen(error) > 20);
    for (size_t i = 0; o.file && i < gguf_tensor_count(o.file); i++) {
        const gguf_tensor *tensor = gguf_tensor_at(o.file, i);
        float *values = dequantize_find(tensor->type) ? malloc(tensor->elements * sizeof *values) : NULL;
        assert_int_equal(gguf_read_tensor(o.file, tensor, values, error), values ? 0 : -1);
        free(values);
    }
}

TEST(test_any_byte_wrong)
{
    static const unsigned char wrong[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
    gguf_writer w = {0};
    write_small_file(&w, 3);
    for (size_t at = 0; at < w.size; at++) {
        unsigned char right = w.bytes[at];
        for (size_t i = 0; i < sizeof wrong; i++) {
            w.bytes[at] = wrong[i];
            use_whatever_opens(&w);
        }
        w.bytes[at] = right;
    }
    free_writer(&w);
}

TEST(test_header_errors)
{
    static const struct {
        uint32_t version;
        uint64_t tensors, keys;
        const char *words;
    } cases[] = {
        {1, 0, 0, "version 1 is not supported; supported are 2 and 3"},
        {4, 0, 0, "version 4"},
        {0x03000000, 0, 0, "big-endian"},
        {3, UINT64_MAX, 0, "the number of tensors is 18446744073709551615, more than a file of 24 bytes can hold"},
        {3, 0, 1000, "the number of keys is 1000"}};
    gguf_writer w = {0};
    write_bytes(&w, "GGML                        ", 28);
    expect_refused(&w, "not a GGUF file");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_header(&w, cases[i].version, cases[i].tensors, cases[i].keys);
        expect_refused(&w, cases[i].words);
    }
}

TEST(test_key_table_errors)
{
    gguf_writer w = {0};
    write_header(&w, 3, 0, 1);
    write_u64(&w, UINT64_MAX);
    write_padding(&w, 64);
    expect_refused(&w, "byte 24: a key's name is 18446744073709551615 bytes long");
    write_header(&w, 3, 0, 1);
    write_key(&w, "k", 13);
    write_u64(&w, 0);
    expect_refused(&w, "a key's type is 13");
    write_header(&w, 3, 0, 2);
    write_key_u32(&w, "same", 1);
    write_key_u32(&w, "same", 2);
    expect_refused(&w, "the key same occurs twice");
    write_header(&w, 3, 0, 1);
    write_key(&w, "k", 8);
    write_u64(&w, UINT64_MAX - 7);
    expect_refused(&w, "a string value needs");
}

TEST(test_array_errors)
{
    static const uint32_t elements[] = {0, 5, 8, 9, 12};
    gguf_writer w = {0};
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++)
        for (int shift = 64; shift >= 58; shift--) { /* counts whose size in bytes overflows, and some that do not */
            write_header(&w, 3, 0, 1);
            write_key(&w, "k", 9);
            write_u32(&w, elements[i]);
            write_u64(&w, UINT64_MAX >> (64 - shift));
            write_u64(&w, 0);
            expect_refused(&w, "does not fit into");
        }
    write_header(&w, 3, 0, 1);
    write_key(&w, "k", 9);
    for (int depth = 0; depth < 40; depth++) {
        write_u32(&w, 9);
        write_u64(&w, 1);
    }
    expect_refused(&w, "nested more than 8 deep");
}

/* A file with one tensor entry and 64 bytes of data. */
static void write_one_tensor(gguf_writer *w, uint64_t columns, uint64_t rows, uint32_t type, uint64_t offset)
{
    write_header(w, 3, 1, 0);
    write_tensor(w, "weights", columns, rows, type, offset);
    write_padding(w, 32);
    for (int i = 0; i < 8; i++)
        write_u64(w, 0);
}

TEST(test_tensor_errors)
{
    static const struct {
        uint64_t columns, rows;
        uint32_t type;
        uint64_t offset;
        const char *words;
    } cases[] = {{17, 0, 0, 0, "tensor weights: its data runs past the end of the file"},
                 {16, 0, 0, 64, "runs past the end"},
                 {16, 0, 0, UINT64_MAX - 31, "runs past the end"},
                 {4, 0, 0, 4, "not a multiple of general.alignment"},
                 {1ull << 33, 1ull << 33, 0, 0, "the product of its dimensions overflows"},
                 {1ull << 62, 0, 0, 0, "its size overflows"},
                 {0, 0, 0, 0, "a dimension is 0"},
                 {33, 0, 2, 0, "not a whole number of blocks"}};
    gguf_writer w = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_one_tensor(&w, cases[i].columns, cases[i].rows, cases[i].type, cases[i].offset);
        expect_refused(&w, cases[i].words);
    }
    write_header(&w, 3, 1, 0);
    write_string(&w, "t");
    write_u32(&w, 5);
    write_padding(&w, 128);
    expect_refused(&w, "tensor t: its rank is not 1 to 4");
    write_header(&w, 3, 2, 0);
    write_tensor(&w, "t", 1, 0, 0, 0);
    write_tensor(&w, "t", 1, 0, 0, 0);
    write_padding(&w, 128);
    expect_refused(&w, "tensor t: another tensor has the same name");
    write_header(&w, 3, 1, 0);
    write_string(&w, "a name of more than the 64 bytes that the format allows for a tensor");
    write_padding(&w, 128);
    expect_refused(&w, "more than the allowed 64");
}

TEST(test_alignment)
{
    static const uint32_t wrong[] = {0, 1, 12, 24, UINT32_MAX};
    gguf_writer w = {0};
    float value;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        write_header(&w, 3, 0, 1);
        write_key_u32(&w, "general.alignment", wrong[i]);
        expect_refused(&w, "the key general.alignment");
    }
    write_header(&w, 3, 1, 1);
    write_key_u32(&w, "general.alignment", 256);
    write_tensor(&w, "t", 1, 0, 0, 256);
    write_padding(&w, 256);
    while (w.size < 512)
        write_bytes(&w, "", 1);
    write_bytes(&w, &(float){3.5f}, 4);
    FREED_BY(close_opened) opened o = open_right(&w);
    assert_int_equal(gguf_read_tensor(o.file, gguf_find_tensor(o.file, "t"), &value, error), 0);
    assert_true(value == 3.5f);
}

TEST(test_unsupported_type)
{
    gguf_writer w = {0};
    float out[16];
    write_one_tensor(&w, 16, 0, 19, 0);
    FREED_BY(close_opened) opened o = open_right(&w);
    assert_int_equal(gguf_read_tensor(o.file, gguf_find_tensor(o.file, "weights"), out, error), -1);
    EXPECT_SAYS(error, "tensor weights has the type number 19");
    EXPECT_SAYS(error, "Q4_1");
}

/* ---- the encodings ------------------------------------------------------------------------------ */

/* binary16 of a number that it holds exactly: a small integer times a power of two. */
static void put_half(unsigned char *at, double value)
{
    int exponent;
    double mantissa = frexp(fabs(value), &exponent); /* 0.5 <= mantissa < 1 */
    unsigned bits = value == 0 ? 0 : ((unsigned)(exponent + 14) << 10 | ((unsigned)(mantissa * 2048) & 1023u));
    bits |= value < 0 ? 0x8000u : 0;
    at[0] = (unsigned char)bits;
    at[1] = (unsigned char)(bits >> 8);
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void check_block(const char *name, const unsigned char *block, const double *expected)
{
    float out[256];
    for (uint32_t id = 0; id < 64; id++) {
        const dequantize_type *type = dequantize_find(id);
        if (!type || strcmp(type->name, name) != 0)
            continue;
        type->block(block, out);
        for (unsigned i = 0; i < type->elements; i++) {
            if (out[i] != (float)expected[i])
                print_error("%s: element %u is %.9g, not %.9g\n", name, i, (double)out[i], expected[i]);
            assert_true(out[i] == (float)expected[i]);
        }
        return;
    }
    fail_msg("no type %s", name);
}

/* 32 quants of 4 or 5 bits: the low four bits of quant i in byte i % 16, the fifth in bit i of a 32-bit word. */
static void pack(unsigned char *low, unsigned char *fifth, const unsigned *quants)
{
    memset(low, 0, 16);
    if (fifth)
        memset(fifth, 0, 4);
    for (int i = 0; i < 32; i++) {
        low[i % 16] |= (unsigned char)((quants[i] & 15) << (i < 16 ? 0 : 4));
        if (fifth)
            fifth[i / 8] |= (unsigned char)((quants[i] >> 4) << (i % 8));
    }
}

static void check_small_blocks(uint32_t *random)
{
    const double scale = 0.0625, minimum = -1.75;
    unsigned char block[64];
    unsigned quants[32];
    double expected[32];
    for (int bits = 4; bits <= 5; bits++) {
        for (int i = 0; i < 32; i++)
            quants[i] = next_random(random) % (1u << bits);
        put_half(block, scale);
        for (int i = 0; i < 32; i++)
            expected[i] = scale * ((int)quants[i] - (1 << (bits - 1)));
        pack(block + (bits == 4 ? 2 : 6), bits == 4 ? NULL : block + 2, quants);
        check_block(bits == 4 ? "Q4_0" : "Q5_0", block, expected);
        put_half(block + 2, minimum);
        for (int i = 0; i < 32; i++)
            expected[i] = scale * quants[i] + minimum;
        pack(block + (bits == 4 ? 4 : 8), bits == 4 ? NULL : block + 4, quants);
        check_block(bits == 4 ? "Q4_1" : "Q5_1", block, expected);
    }
    for (int i = 0; i < 32; i++) {
        int quant = (int)(next_random(random) % 256) - 128;
        block[2 + i] = (unsigned char)quant;
        expected[i] = scale * quant;
    }
    check_block("Q8_0", block, expected);
}

/* 256 quants of 6 bits. Quant i of half h lies in run r = i / 32: its low bits in byte 64 h + 32 (r mod 2) + i mod 32,
 * the high nibble for r >= 2; its high bits in byte 32 h + i mod 32, at bit 2 r. */
static void check_q6_k(uint32_t *random)
{
    unsigned char block[210] = {0};
    double expected[256];
    put_half(block + 208, 0.125);
    for (int i = 0; i < 16; i++)
        block[192 + i] = (unsigned char)next_random(random);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, run = i % 128 / 32;
        unsigned quant = next_random(random) % 64;
        block[64 * half + 32 * (run % 2) + i % 32] |= (unsigned char)((quant & 15) << (run >= 2 ? 4 : 0));
        block[128 + 32 * half + i % 32] |= (unsigned char)((quant >> 4) << (2 * run));
        expected[i] = 0.125 * (int8_t)block[192 + i / 16] * ((int)quant - 32);
    }
    check_block("Q6_K", block, expected);
}

TEST(test_encodings)
{
    uint32_t seed = 20, random = seed;
    printf("seed %u\n", seed);
    for (int round = 0; round < 50; round++) {
        check_small_blocks(&random);
        check_q6_k(&random);
    }
}

TEST(test_floats)
{
    static const struct {
        unsigned char bytes[2];
        double half, brain;
    } cases[] = {
        {{0x00, 0x3C}, 1.0, 0x1p-7},       {{0x00, 0xC0}, -2.0, -2.0}, {{0x01, 0x00}, 0x1p-24, 0x1p-133},
        {{0xFF, 0x7B}, 65504, 0x1.FEp120}, {{0x00, 0x80}, 0, 0},       {{0xFF, 0x03}, 0x1.FF8p-15, 0x1.FEp-120}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_block("F16", cases[i].bytes, &cases[i].half);
        check_block("BF16", cases[i].bytes, &cases[i].brain);
    }
    check_block("F16", (const unsigned char[]){0x00, 0x7C}, &(double){INFINITY});
    check_block("F32", (const unsigned char[]){0x00, 0x00, 0x20, 0xC1}, &(double){-10.0});
}

/* ---- files -------------------------------------------------------------------------------------- */

TEST(test_file_errors)
{
    gguf *file;
    char path[] = "/tmp/breakgraph-gguf-XXXXXX";
    int descriptor = mkstemp(path);
    gguf_writer w = {0};
    assert_true(descriptor >= 0);
    assert_int_equal(gguf_open(&file, "/nonexistent/model.gguf", error), -1);
    EXPECT_SAYS(error, "No such file");
    assert_int_equal(gguf_open(&file, "/tmp", error), -1);
    EXPECT_SAYS(error, "not a regular file");
    assert_int_equal(gguf_open(&file, path, error), -1);
    EXPECT_SAYS(error, "has 0 bytes");
    write_small_file(&w, 3);
    assert_int_equal(write(descriptor, w.bytes, w.size), (ssize_t)w.size);
    assert_int_equal(gguf_open(&file, path, error), 0);
    check_small_tensors(file);
    gguf_close(file);
    gguf_close(NULL);
    free_writer(&w);
    close(descriptor);
    unlink(path);
}

TEST(test_real_file)
{
    gguf *file;
    int64_t layers;
    if (gguf_open(&file, need_real_model(false), error))
        fail_msg("%s", error);
    assert_int_equal(gguf_get_int(file, "llama.block_count", 1, 100, &layers, error), 0);
    assert_int_equal(layers, 30);
    assert_int_equal(gguf_tensor_count(file), 272);
    for (size_t i = 0; i < gguf_tensor_count(file); i++)
        assert_non_null(dequantize_find(gguf_tensor_at(file, i)->type));
    gguf_close(file);
}
