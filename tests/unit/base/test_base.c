/* Statuses, lists that grow, tensors, DLPack views, cuBLAS workspaces. */
#include "tests/support/support.h"

#include <breakgraph/cublas.h>
#include <breakgraph/dlpack.h>

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/text.h"

TEST(test_statuses)
{
    assert_string_equal(bg_status_name(BG_OK), "BG_OK");
    assert_string_equal(bg_status_name(BG_ERROR_SHAPE), "BG_ERROR_SHAPE");
    assert_string_equal(bg_status_name(BG_ERROR_RANKS), "BG_ERROR_RANKS");
    assert_string_equal(bg_status_name((bg_status)999), "unknown status");
    for (int status = BG_OK; status <= BG_ERROR_RANKS; status++)
        assert_true(strlen(bg_status_text((bg_status)status)) > 5);
    assert_string_equal(bg_version(), "0.2.0");
    assert_true(strcmp(bg_device_kind(), "host") == 0 || strcmp(bg_device_kind(), "cuda") == 0);
}

TEST(test_grow)
{
    size_t count = 0, capacity = 0, changes = 0;
    long *list = NULL;
    for (long i = 0; i < 1000; i++) {
        size_t before = capacity;
        EXPECT_OK(BG__ARRAY_GROW(list, count, capacity, "numbers"));
        assert_true(count < capacity);
        assert_true(capacity == before || capacity >= 2 * before);
        changes += capacity != before;
        list[count++] = i;
    }
    for (long i = 0; i < 1000; i++)
        assert_int_equal(list[i], i);
    assert_true(changes > 1 && changes < 12);
    EXPECT_OK(bg__array_grow(&list, &capacity, 5000, sizeof *list, "numbers"));
    assert_int_equal(capacity, 5000);
    assert_int_equal(list[999], 999);
    free(list);
}

/* The largest list that a process can ask for, and beyond. */
TEST(test_grow_refuses_what_overflows)
{
    static const size_t needs[] = {PTRDIFF_MAX / sizeof(long) + 1, SIZE_MAX / sizeof(long) + 2, SIZE_MAX};
    size_t capacity = 0;
    long *list = NULL, *before;
    EXPECT_OK(BG__ARRAY_GROW(list, 0, capacity, "numbers"));
    before = list;
    list[0] = 7;
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        size_t unchanged = capacity;
        EXPECT_FAILS(bg__array_grow(&list, &capacity, needs[i], sizeof *list, "numbers"), BG_ERROR_OUT_OF_MEMORY,
                     " numbers");
        assert_int_equal(capacity, unchanged);
        assert_ptr_equal(list, before);
        assert_int_equal(list[0], 7);
    }
    free(list);
}

/* text in a buffer of room bytes, as it is shown. */
static void expect_printable(const char *from, size_t room, const char *shown)
{
    char text[64], written[64] = "";
    FILE *out = fmemopen(written, sizeof written, "w");
    assert_non_null(out);
    memset(text, '#', sizeof text);
    memcpy(text, from, strlen(from) + 1);
    bg__escape_unprintable(text, room);
    assert_string_equal(text, shown);
    for (size_t i = room; i < sizeof text; i++)
        assert_int_equal(text[i], '#');
    bg__print_escaped(out, from);
    assert_int_equal(fclose(out), 0);
    if (shown[0] == '\0' || shown[strlen(shown) - 1] != '.')
        assert_string_equal(written, shown);
}

TEST(test_printable_text)
{
    expect_printable("", 1, "");
    expect_printable("plain", 6, "plain");
    expect_printable("\033[2Jx", 32, "\\x1b[2Jx");
    expect_printable("a\nb\tc\rd\177", 32, "a\\x0ab\\x09c\\x0dd\\x7f");
    expect_printable("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", 32,
                     "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
    expect_printable("\xc2\x9b"
                     "2J",
                     32, "\\xc2\\x9b2J"); /* U+009B: ESC [ in one character */
    expect_printable("\x9b"
                     "2J",
                     32, "\\x9b2J");                                                      /* the same in Latin-1 */
    expect_printable("\xe2\x80\xae|\xe2\x81\xa6", 32, "\\xe2\\x80\\xae|\\xe2\\x81\\xa6"); /* from right to left */
    expect_printable("\xc0\x80\xed\xa0\x80", 32, "\\xc0\\x80\\xed\\xa0\\x80");            /* too long; a surrogate */
    expect_printable("cut \xe2\x82", 32, "cut \\xe2\\x82");
}

/* What does not fit ends with dots, at the end of a character. */
TEST(test_printable_text_is_cut)
{
    expect_printable("\033\033", 9, "\\x1b\\x1b");
    expect_printable("\033\033", 8, "\\x1b...");
    expect_printable("\033\033", 7, "...");
    expect_printable("\033", 4, "...");
    expect_printable("\033", 2, ".");
    expect_printable("abcdefgh\033", 12, "abcdefgh...");
    expect_printable("\n\xe2\x82\xac\xe2\x82\xac", 13, "\\x0a\xe2\x82\xac\xe2\x82\xac");
    expect_printable("\n\xe2\x82\xac\xe2\x82\xac", 10, "\\x0a...");
    expect_printable("\033 \xc3\xbc\xc3\xbc\xc3\xbc\n", 14, "\\x1b \xc3\xbc\xc3\xbc...");
}

TEST(test_sentences_are_printable)
{
    char name[1200];
    EXPECT_STATUS(bg__fail(BG_ERROR_IO, "%s is not there", "a\033]0;title\007b"), BG_ERROR_IO);
    assert_string_equal(bg_last_error(), "a\\x1b]0;title\\x07b is not there");
    bg__error_add_location("at \033[31m");
    assert_string_equal(bg_last_error(), "at \\x1b[31m: a\\x1b]0;title\\x07b is not there");
    bg__error_set_text("kept\n");
    assert_string_equal(bg_last_error(), "kept\\x0a");
    memset(name, '\033', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    EXPECT_STATUS(bg__fail(BG_ERROR_IO, "what happened"), BG_ERROR_IO);
    bg__error_add_location("%s", name);
    EXPECT_ERROR("\\x1b...: what happened");
    EXPECT_STATUS(bg_report_failure(BG_ERROR_OP, name, "e", "a"), BG_ERROR_OP);
    assert_null(strchr(bg_last_error(), '\033'));
}

TEST(test_tensors)
{
    float data = 0;
    bg_tensor t = bg_tensor_2d(&data, BG_BF16, 3, 5);
    assert_int_equal(t.rank, 2);
    assert_int_equal(t.dim[0], 3);
    assert_int_equal(t.dim[1], 5);
    assert_int_equal(bg_tensor_bytes(&t), 30);
    t = bg_tensor_1d(NULL, BG_F64, 0);
    assert_int_equal(bg_tensor_bytes(&t), 0);
    t.rank = 0; /* one element */
    assert_int_equal(bg_tensor_bytes(&t), 8);
    t = bg_tensor_2d(NULL, BG_F32, INT64_MAX, 2);
    assert_int_equal(bg_tensor_bytes(&t), 0);
    t = bg_tensor_1d(NULL, BG_F32, -1);
    assert_int_equal(bg_tensor_bytes(&t), 0);
    t.rank = 9;
    assert_int_equal(bg_tensor_bytes(&t), 0);
    assert_int_equal(bg_tensor_bytes(NULL), 0);
    assert_int_equal(bg_dtype_bytes(BG_BOOL), 1);
    assert_int_equal(bg_dtype_bytes((bg_dtype)99), 0);
    assert_string_equal(bg_dtype_name(BG_I64), "i64");
}

TEST(test_dlpack)
{
    int64_t shape[BG_MAX_RANK], strides[2] = {1, 3};
    DLTensor view;
    char memory[64];
    for (int dtype = BG_F32; dtype <= BG_BOOL; dtype++) {
        bg_tensor t = bg_tensor_2d(memory, (bg_dtype)dtype, 3, 4), back;
        EXPECT_OK(bg_tensor_to_dlpack(&t, 1, shape, &view));
        assert_int_equal(view.device.device_type, kDLCUDA);
        assert_int_equal(view.device.device_id, 1);
        assert_int_equal(view.ndim, 2);
        assert_int_equal(view.dtype.bits, 8 * bg_dtype_bytes((bg_dtype)dtype));
        EXPECT_OK(bg_tensor_from_dlpack(&back, &view));
        assert_memory_equal(&t, &back, sizeof t);
    }
    view.byte_offset = 8;
    bg_tensor back;
    EXPECT_OK(bg_tensor_from_dlpack(&back, &view));
    assert_ptr_equal(back.data, memory + 8);
    view.strides = strides;
    EXPECT_STATUS(bg_tensor_from_dlpack(&back, &view), BG_ERROR_UNSUPPORTED);
    strides[0] = 4, strides[1] = 1;
    EXPECT_OK(bg_tensor_from_dlpack(&back, &view));
    view.dtype.lanes = 2;
    EXPECT_STATUS(bg_tensor_from_dlpack(&back, &view), BG_ERROR_DTYPE);
    view.ndim = 9;
    EXPECT_STATUS(bg_tensor_from_dlpack(&back, &view), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_tensor_to_dlpack(NULL, 0, shape, &view), BG_ERROR_INVALID_ARGUMENT);
}

/* ---- cuBLAS ---- */

static cublasHandle_t handle;

BG_OP(square_matmul, BG_IN(a), BG_IN(b), BG_OUT(c))
{
    const float one = 1, zero = 0;
    const int n = 8;
    TRY_BG(bg_cublas_bind(handle, stream, NULL));
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, args->a.data, n, args->b.data, n, &zero,
                       args->c.data, n) == CUBLAS_STATUS_SUCCESS
               ? BG_OK
               : BG_ERROR_CUBLAS;
}

FIXTURE_PASS(matmuls)
{
    for (int i = 0; i < 4; i++)
        BG_CALL(square_matmul, stream, .a = f->x, .b = f->y, .c = f->z);
    return BG_OK;
}

FIXTURE_TEST(test_cublas_bind)
{
    void *workspace, *again;
    assert_int_equal(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    EXPECT_OK(matmuls(f, f->stream)); /* cuBLAS loads its kernels */
    bg_graph *graph = CAPTURED_BY(matmuls, f, f->stream, NULL);
    assert_int_equal(info_of(graph).segments, 1);
    assert_true(info_of(graph).nodes >= 4);
    assert_int_equal(info_of(graph).nodes, info_of(graph).kernel_nodes); /* no memory nodes */
    put(&f->y, 3);
    EXPECT_REPLAY(graph, f->stream, &f->x, 2, &f->z, 8 * 2 * 3);
    bg_graph_destroy(graph);

    EXPECT_OK(bg_workspace(handle, BG_CUBLAS_WORKSPACE_BYTES, &workspace));
    EXPECT_OK(bg_workspace(handle, 1024, &again));
    assert_ptr_equal(workspace, again);
    EXPECT_STATUS(bg_workspace(handle, 2 * BG_CUBLAS_WORKSPACE_BYTES, &again), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_workspace(NULL, 1, &again), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_workspace(handle, 0, &again), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_FAILS(bg_cublas_bind(NULL, f->stream, NULL), BG_ERROR_INVALID_ARGUMENT, "handle is NULL");
    EXPECT_FAILS(bg_cublas_bind(handle, NULL, NULL), BG_ERROR_INVALID_ARGUMENT, "stream is NULL");
    assert_int_equal(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
    bg_workspace_release(handle);
    bg_workspace_release(handle);
    EXPECT_OK(bg_workspace(handle, 1024, &again)); /* it is gone: a smaller one is made */
    EXPECT_STATUS(bg_workspace(handle, 2048, &workspace), BG_ERROR_INVALID_ARGUMENT);
    bg_workspace_release(handle);
}

/* One workspace for each handle and pool, a kept block. */
FIXTURE_TEST(test_cublas_bind_in_a_pool)
{
    bg_pool_stats stats = BG_POOL_STATS_INIT;
    cublasHandle_t handles[2];
    void *own, *pooled, *other;
    bg_pool *pool;

    EXPECT_OK(bg_pool_create(&pool, NULL));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cublasCreate(&handles[i]), CUBLAS_STATUS_SUCCESS);
        EXPECT_OK(bg_cublas_bind(handles[i], f->stream, pool));
        EXPECT_OK(bg_cublas_bind(handles[i], f->stream, pool));
    }
    EXPECT_OK(bg_pool_get_stats(pool, &stats));
    assert_int_equal(stats.in_use, 2 * BG_CUBLAS_WORKSPACE_BYTES);
    EXPECT_OK(bg_workspace(handles[0], 1024, &own));
    EXPECT_OK(bg_workspace_in(handles[0], pool, 1024, &pooled));
    EXPECT_OK(bg_workspace_in(handles[1], pool, 1024, &other));
    assert_true(own != pooled && own != other && pooled != other);
    bg_workspace_release(handles[0]);
    EXPECT_OK(bg_pool_get_stats(pool, &stats));
    assert_int_equal(stats.in_use, BG_CUBLAS_WORKSPACE_BYTES);
    bg_pool_destroy(pool);
    bg_workspace_release(handles[1]); /* it went with the pool */
    for (int i = 0; i < 2; i++)
        assert_int_equal(cublasDestroy(handles[i]), CUBLAS_STATUS_SUCCESS);
}

static const char *guess_single(uint32_t bits)
{
    static char text[BG__REAL_BYTES];
    return bg__format_if_real(&bits, sizeof bits, text) ? text : "";
}

static const char *guess_double(uint64_t bits)
{
    static char text[BG__REAL_BYTES];
    return bg__format_if_real(&bits, sizeof bits, text) ? text : "";
}

/* What is a float is told from counts, sizes, indices, masks and addresses. */
TEST(test_guessed_reals)
{
    static const uint32_t integers[] = {0,           1,           7,           64,          4096,        1u << 20,
                                        0x80000000u, 0xffffffffu, 0xfffffff0u, 0x7fffffffu, 0x7fc00000u, 0x01010101u,
                                        123456789,   16777217,    1000000000,  800000000,   0xc4653600u};
    static const uint64_t words[] = {0, 1, 1u << 30, 0xffffffffffffffffu, 0x00007f1234567890u, 0x0000550123456780u};
    char text[BG__REAL_BYTES] = "unchanged";
    assert_string_equal(guess_single(0x3f800000u), "1.0");
    assert_string_equal(guess_single(0x3fc00000u), "1.5");
    assert_string_equal(guess_single(0xc0000000u), "-2.0");
    assert_string_equal(guess_single(0x3dcccccdu), "0.1");
    assert_string_equal(guess_single(0x40000000u), "2.0"); /* 1 GiB too, which is rarer */
    assert_string_equal(guess_single(0x3f800001u), "1.0000001");
    assert_string_equal(guess_single(0xff800000u), "-inf");
    assert_string_equal(guess_single(0xff7fffffu), "-3.4028235e+38");
    assert_string_equal(guess_single(0xf149f2cau), "-1e+30"); /* a mask of attention */
    assert_string_equal(guess_double(0x3ff8000000000000u), "1.5");
    assert_string_equal(guess_double(0x3fb999999999999au), "0.1");
    assert_string_equal(guess_double(0x7ff0000000000000u), "inf");
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        assert_string_equal(guess_single(integers[i]), "");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_string_equal(guess_double(words[i]), "");
    assert_false(bg__format_if_real("\0\0\200\077\0\0\200", 2, text));
    assert_string_equal(text, "unchanged");
}
