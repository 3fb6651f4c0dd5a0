/* Which changed words are NaN of which type: by the names of kernels and by the words themselves, on the device. */
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "debug/step/elements.h"
#include "debug/step/node_list.h"

enum { BYTES = 1 << 14 };

static unsigned char now[BYTES], before[BYTES];

static const char *const opaque = "triton_poi_fused_0";

static bgk_changes count(size_t bytes, cudaStream_t stream)
{
    bgk_changes changes = bgk_changes_none();
    char *memory;
    EXPECT_CUDA(cudaMalloc((void **)&memory, 2 * BYTES + sizeof changes));
    EXPECT_CUDA(cudaMemcpy(memory, now, bytes, cudaMemcpyHostToDevice));
    EXPECT_CUDA(cudaMemcpy(memory + BYTES, before, bytes, cudaMemcpyHostToDevice));
    EXPECT_CUDA(cudaMemcpy(memory + 2 * (size_t)BYTES, &changes, sizeof changes, cudaMemcpyHostToDevice));
    EXPECT_CUDA(bgk_count_changes((void *)(memory + 2 * (size_t)BYTES), memory, memory + BYTES, bytes, stream));
    EXPECT_CUDA(cudaStreamSynchronize(stream));
    EXPECT_CUDA(cudaMemcpy(&changes, memory + 2 * (size_t)BYTES, sizeof changes, cudaMemcpyDeviceToHost));
    EXPECT_CUDA(cudaFree(memory));
    return changes;
}

static bgk_suspects suspects(size_t bytes, unsigned known, cudaStream_t stream)
{
    bgk_suspects found = bgk_suspects_none();
    char *memory;
    EXPECT_CUDA(cudaMalloc((void **)&memory, BYTES + sizeof found));
    EXPECT_CUDA(cudaMemcpy(memory, now, bytes, cudaMemcpyHostToDevice));
    EXPECT_CUDA(cudaMemcpy(memory + BYTES, &found, sizeof found, cudaMemcpyHostToDevice));
    EXPECT_CUDA(bgk_find_suspects((void *)(memory + BYTES), memory, bytes, known, stream));
    EXPECT_CUDA(cudaStreamSynchronize(stream));
    EXPECT_CUDA(cudaMemcpy(&found, memory + BYTES, sizeof found, cudaMemcpyDeviceToHost));
    EXPECT_CUDA(cudaFree(memory));
    return found;
}

/* Writes value as the index-th of elements of that size. */
static void set(size_t index, size_t size, uint64_t value)
{
    memcpy(now + index * size, &value, size);
}

static uint64_t bits_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* n numbers of a model, of a format whose exponent is that of f32, or of f16. */
static void fill_numbers(bgk_float format, size_t n)
{
    memset(now, 0, BYTES);
    memset(before, 0, BYTES);
    for (size_t i = 0; i < n; i++) {
        float value = sinf((float)i + 1);
        double wide = value;
        uint64_t bits = bits_f32(value);
        if (format == BGK_F64)
            memcpy(&bits, &wide, sizeof bits);
        if (format == BGK_BF16)
            bits >>= 16;
        if (format == BGK_F16)
            bits = (bits >> 16 & 0x8000) | (0x3800 + i % 0x300);
        set(i, bg__float_bytes(format), bits);
    }
}

static bool is_special(const fixture *f, const char *kernel, int parameter, int parameters, size_t bytes, bool nan,
                       bgk_float *format)
{
    bg__elements elements = bg__elements_parse(kernel, parameter, parameters);
    bgk_changes changes = count(bytes, f->stream);
    return bg__elements_find(&elements, &changes, nan, format);
}

static void expect_nan(const fixture *f, const char *kernel, int parameter, int parameters, size_t bytes,
                       bgk_float wanted)
{
    bgk_float format;
    if (!is_special(f, kernel, parameter, parameters, bytes, true, &format))
        fail_msg("%s: no NaN", kernel);
    assert_int_equal(format, wanted);
}

static void expect_none(const fixture *f, const char *kernel, int parameter, int parameters, size_t bytes)
{
    bgk_float format;
    if (is_special(f, kernel, parameter, parameters, bytes, true, &format))
        fail_msg("%s: NaN of format %d", kernel, format);
}

static void expect_elements(const char *name, int parameter, int parameters, bg__element_source source,
                            unsigned formats)
{
    bg__elements elements = bg__elements_parse(name, parameter, parameters);
    if (elements.source != source || (source != BG__ELEMENTS_OTHER && elements.formats != formats))
        fail_msg("%s, parameter %d: source %d, formats %x", name, parameter, elements.source, elements.formats);
}

TEST(test_names)
{
    const unsigned f32 = 1u << BGK_F32, f64 = 1u << BGK_F64, f16 = 1u << BGK_F16, bf16 = 1u << BGK_BF16;
    const unsigned any = f32 | f64 | f16 | bf16;
    assert_int_equal(bg__elements_parse(NULL, 0, 1).source, BG__ELEMENTS_UNKNOWN);
    assert_int_equal(bg__elements_parse(NULL, 0, 1).formats, any);
    expect_elements("triton_poi_fused_add_0", 0, 3, BG__ELEMENTS_UNKNOWN, any);
    expect_elements("scale(float*, float const*, int)", 0, 3, BG__ELEMENTS_CERTAIN, f32);
    expect_elements("scale(float*, float const*, int)", 1, 3, BG__ELEMENTS_CERTAIN, f32);
    assert_false(bg__elements_parse("scale(float*, float const*, int)", 0, 3).read_only);
    assert_true(bg__elements_parse("scale(float*, float const*, int)", 1, 3).read_only);
    assert_true(bg__elements_parse("norm(float const* __restrict__)", 0, 1).read_only);
    expect_elements("scale(float*, float const*, int)", 2, 3, BG__ELEMENTS_NAMED, f32);
    expect_elements("scale(float*, float const*, int)", 0, 4, BG__ELEMENTS_NAMED, f32);
    expect_elements("argmax(int*, float const*, int)", 0, 3, BG__ELEMENTS_OTHER, 0);
    expect_elements("count(unsigned long long*, double)", 0, 2, BG__ELEMENTS_OTHER, 0);
    expect_elements("void norm<c10::Half>(c10::Half const*, void*)", 0, 2, BG__ELEMENTS_CERTAIN, f16);
    expect_elements("void norm<c10::Half>(c10::Half const*, void*)", 1, 2, BG__ELEMENTS_NAMED, f16);
    expect_elements("f(__nv_bfloat16*, std::pair<int, double>*)", 0, 2, BG__ELEMENTS_CERTAIN, bf16);
    expect_elements("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
                    "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
                    2, 3, BG__ELEMENTS_NAMED, f32);
    expect_elements("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<long>, "
                    "std::array<char*, 1ul> >(int, at::native::FillFunctor<long>, std::array<char*, 1ul>)",
                    2, 3, BG__ELEMENTS_OTHER, 0);
    expect_elements("void k<(int)4, (bool)1>(void*)", 0, 1, BG__ELEMENTS_UNKNOWN, any);
    expect_elements("void softmax<c10::BFloat16, float>(void*, int)", 0, 2, BG__ELEMENTS_NAMED, f32 | bf16);
    expect_elements("ampere_bf16_s16816gemm_bf16_128x64_ldg8_stages_32x6_tn", 0, 1, BG__ELEMENTS_NAMED, bf16);
    expect_elements("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32", 0, 1, BG__ELEMENTS_NAMED, f32);
    expect_elements("volta_sgemm_128x64_tn", 0, 1, BG__ELEMENTS_NAMED, f32);
    expect_elements("hash_buf32_kernel", 0, 1, BG__ELEMENTS_UNKNOWN, any);
    expect_elements(")(", 0, 1, BG__ELEMENTS_UNKNOWN, any);
    expect_elements("f(((", 0, 1, BG__ELEMENTS_UNKNOWN, any);
    expect_elements("", 0, 0, BG__ELEMENTS_UNKNOWN, any);
}

/* Every pattern that is computed, and one number beside it, in every format. */
FIXTURE_TEST(test_nan)
{
    static const struct {
        bgk_float format;
        const char *kernel;
        uint64_t bits[3];
    } cases[] = {
        {BGK_F32, "void f<float>(void*)", {0x7fffffff, 0x7fc00000, 0xffc00000}},
        {BGK_F64, "void f<double>(void*)", {0x7fffffffffffffff, 0x7ff8000000000000, 0xfff8000000000000}},
        {BGK_F16, "void f<__half>(void*)", {0x7fff, 0x7e00, 0xfe00}},
        {BGK_BF16, "void f<c10::BFloat16>(void*)", {0x7fff, 0x7fc0, 0xffc0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int k = 0; k < 3; k++) {
            size_t size = bg__float_bytes(cases[i].format);
            memset(now, 0, BYTES);
            memset(before, 0, BYTES);
            set(77, size, cases[i].bits[k]); /* alone */
            expect_nan(f, cases[i].kernel, 0, 1, BYTES, cases[i].format);
            expect_none(f, opaque, 0, 1, BYTES);
            fill_numbers(cases[i].format, BYTES / size);
            expect_none(f, cases[i].kernel, 0, 1, BYTES);
            expect_none(f, opaque, 0, 1, BYTES);
            set(77, size, cases[i].bits[k]);
            expect_nan(f, cases[i].kernel, 0, 1, BYTES, cases[i].format);
            expect_nan(f, opaque, 0, 1, BYTES, cases[i].bits[k] == 0x7fff ? BGK_BF16 : cases[i].format);
            bgk_suspects found = suspects(BYTES, 0, f->stream);
            assert_int_equal(found.nan[cases[i].format], 1);
            assert_int_equal(found.first_nan[cases[i].format], 77);
            memcpy(before, now, BYTES); /* it was there */
            expect_none(f, cases[i].kernel, 0, 1, BYTES);
        }
}

/* Integers with every pattern that floats call NaN. */
FIXTURE_TEST(test_integers)
{
    static const char *const kernels[] = {"triton_poi_fused_0", "fill(int*)", "void fill<long>(void*)",
                                          "argmax(int*, float const*)"};
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        int parameters = k == 3 ? 2 : 1;
        memset(before, 0, BYTES);
        memset(now, 0xff, BYTES); /* -1, and bits that are all set */
        expect_none(f, kernels[k], 0, parameters, BYTES);
        for (size_t i = 0; i < BYTES / 4; i++)
            set(i, 4, INT32_MAX);
        expect_none(f, kernels[k], 0, parameters, BYTES);
        for (size_t i = 0; i < BYTES / 4; i++)
            set(i, 4, i % 7 == 0 ? INT32_MAX : i);
        expect_none(f, kernels[k], 0, parameters, BYTES);
        for (size_t i = 0; i < BYTES / 8; i++)
            set(i, 8, i % 5 == 0 ? INT64_MAX : i);
        expect_none(f, kernels[k], 0, parameters, BYTES);
        for (size_t i = 0; i < BYTES / 2; i++)
            set(i, 2, i % 5 == 0 ? INT16_MAX : i % 9000);
        expect_none(f, kernels[k], 0, parameters, BYTES);
        srand(1);
        for (size_t i = 0; i < BYTES; i++) /* packed weights, hashes */
            now[i] = (unsigned char)(rand() >> 7);
        expect_none(f, kernels[k], 0, parameters, BYTES);
        assert_int_equal(suspects(BYTES, 0, f->stream).nan[BGK_F32], 0);
    }
    /* But where the type is certain, as of memory that HOSTCUDA_MEMORY=poison has filled. */
    memset(now, 0xff, BYTES);
    expect_nan(f, "scale(float*)", 0, 1, BYTES, BGK_F32);
    expect_none(f, "scale(int*)", 0, 1, BYTES);
    /* A kernel of floats that writes places: small integers, and the largest for none. */
    for (size_t i = 0; i < BYTES / 4; i++)
        set(i, 4, i % 7 == 0 ? INT32_MAX : i);
    expect_none(f, "void nearest<float>(void*)", 0, 1, BYTES);
    for (size_t i = 0; i < BYTES / 8; i++)
        set(i, 8, i % 7 == 0 ? INT64_MAX : i);
    expect_none(f, "void nearest<float>(void*)", 0, 1, BYTES);
}

/* NaN among other bits that were there before: in memory of floats, and in halves of floats. */
FIXTURE_TEST(test_suspects)
{
    fill_numbers(BGK_F32, BYTES / 4);
    for (size_t i = 0; i < BYTES / 4; i += 40)
        set(i, 4, 0x3fff7fff); /* 1.996, whose lower half is a NaN of 16 bits */
    assert_int_equal(suspects(BYTES, 0, f->stream).nan[BGK_F16], 0);
    assert_int_equal(suspects(BYTES, 0, f->stream).nan[BGK_BF16], 0);
    assert_int_equal(suspects(BYTES, 0, f->stream).nan[BGK_F32], 0);
    for (size_t i = 0; i < BYTES / 4; i++) /* -1 in other 256 bytes does not hide it */
        if (i % 128 < 64)
            set(i, 4, UINT32_MAX);
    set(100, 4, 0x7fffffff);
    assert_int_equal(suspects(BYTES, 0, f->stream).nan[BGK_F32], 1);
    assert_int_equal(suspects(BYTES, 0, f->stream).first_nan[BGK_F32], 100);
    memset(now, 0, BYTES); /* small numbers of f16 beside common ones */
    for (size_t i = 0; i < BYTES / 2; i++)
        set(i, 2, i % 3 == 0 ? 0x0100 : 0x3c00);
    set(50, 2, 0x7fff);
    assert_int_equal(suspects(BYTES, 0, f->stream).nan[BGK_F16], 0);
    assert_int_equal(suspects(BYTES, 1u << BGK_F16, f->stream).nan[BGK_F16], 1);
}

/* -inf in a mask is no NaN, and is found as what it is. */
FIXTURE_TEST(test_infinities)
{
    bgk_float format;
    fill_numbers(BGK_F32, BYTES / 4);
    for (size_t i = 0; i < BYTES / 4; i += 3)
        set(i, 4, bits_f32(-INFINITY));
    for (size_t i = 1; i < BYTES / 4; i += 9)
        set(i, 4, 0xff7fffff); /* -FLT_MAX */
    expect_none(f, "mask(float*)", 0, 1, BYTES);
    expect_none(f, opaque, 0, 1, BYTES);
    assert_true(is_special(f, opaque, 0, 1, BYTES, false, &format) && format == BGK_F32);
    assert_true(is_special(f, "mask(float*)", 0, 1, BYTES, false, &format) && format == BGK_F32);
    assert_false(is_special(f, "mask(int*)", 0, 1, BYTES, false, &format));
}

/* The last bytes, and only those that changed. */
FIXTURE_TEST(test_places)
{
    fill_numbers(BGK_F32, BYTES / 4);
    memcpy(before, now, BYTES);
    assert_true(count(BYTES, f->stream).first == UINT64_MAX);
    set(1000, 4, 0x7fffffff);
    set(1001, 4, bits_f32(2));
    bgk_changes changes = count(BYTES, f->stream);
    assert_int_equal(changes.words[BGK_F32].nan, 1);
    assert_int_equal(changes.words[BGK_F32].positive, 1);
    assert_int_equal(changes.words[BGK_F32].first_nan, 1000);
    assert_int_equal(changes.first, 4000);
    assert_int_equal(changes.end, 4008);
    now[4010] ^= 1;
    changes = count(4011, f->stream); /* not a multiple of a word */
    assert_int_equal(changes.end, 4011);
    changes = count(4010, f->stream); /* what lies behind is not looked at */
    assert_int_equal(changes.end, 4008);
}

/* A word of 4 bytes that can be a float is one first; integers, addresses and halves stay words. */
TEST(test_parameters)
{
    static const struct {
        size_t bytes;
        uint64_t value;
    } parameters[] = {{8, 0x00007f0012345600u}, {4, 0x3fc00000u}, {4, 128}, {2, 0x3c00},
                      {8, 0x3f8000003f800000u}, {4, 0xff800000u}};
    bg__step_kernel kernel = {.name = "scale", .grid = {1, 1, 1}, .block = {64, 1, 1}};
    size_t used = 0;
    char text[512];
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        kernel.part[kernel.parts].offset = 8 * i;
        kernel.part[kernel.parts++].bytes = parameters[i].bytes;
        memcpy(kernel.bytes + used, &parameters[i].value, parameters[i].bytes);
        used += parameters[i].bytes;
    }
    assert_string_equal(bg__step_kernel_text(&kernel, text, sizeof text),
                        "; grid 1 x 1 x 1, block 64 x 1 x 1, parameters +0 0x00007f0012345600, +8 1.5 (0x3fc00000), "
                        "+16 0x00000080, +24 0x3c00, +32 0x3f8000003f800000, +40 -inf (0xff800000)");
}
