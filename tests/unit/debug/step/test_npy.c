/* Dumps: what a step writes reads back equal, and is refused where something is there. */
#include "tests/support/test.h"
#include "tests/support/tools/file_support.h"
#include "tests/support/tools/step_support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

BG_OP(copy, BG_IN(x), BG_OUT(y))
{
    return from_cuda(
        cudaMemcpyAsync(args->y.data, args->x.data, bg_tensor_bytes(&args->y), cudaMemcpyDeviceToDevice, stream));
}

BG_EAGER_OP(halves, BG_INOUT(x), BG_OUTS(parts, 2), BG_VALUE(int, unused))
{
    bg_status status = from_cuda(bgk_scale(args->x.data, args->x.data, 2, N, stream));
    for (int i = 0; i < 2 && status == BG_OK; i++)
        status = from_cuda(bgk_scale(args->parts[i].data, args->x.data, (float)(i + 1), N / 2, stream));
    return status;
}

BG_OP(odd, BG_IN(empty), BG_IN(host), BG_IN(none), BG_OUT(scalar))
{
    return from_cuda(cudaMemsetAsync(args->scalar.data, 0, bg_tensor_bytes(&args->scalar), stream));
}

BG_OP(wrap, BG_IN(x), BG_OUT(y))
{
    return BG_CALL(copy, stream, .x = args->x, .y = args->y);
}

/* 90 letters, and fields whose files would have one name. */
#define LONG(end) a_name_of_many_words_that_tells_all_there_is_to_be_told_of_what_it_stands_for_and_then_some_##end
BG_OP(LONG(inner), BG_IN(LONG(x)), BG_IN(part_0_), BG_OUTS(part, 1))
{
    return from_cuda(cudaMemsetAsync(args->part[0].data, 0, bg_tensor_bytes(&args->part[0]), stream));
}
BG_OP(LONG(outer), BG_IN(x))
{
    return BG_CALL(LONG(inner), stream, .LONG(x) = args->x, .part_0_ = args->x, .part = {args->x});
}

typedef struct scene {
    fixture *f;
    bg_tensor typed[BG_BOOL + 1]; /* 2 x 3 x 4 elements of each dtype, whose bytes count up */
    char directory[160], path[600];
} scene;

static int set_up(void **state)
{
    scene *s = calloc(1, sizeof *s);
    unsigned char bytes[24 * 8];
    if (s == NULL || fixture_setup((void **)&s->f))
        return 1;
    for (bg_dtype d = BG_F32; d <= BG_BOOL; d++) {
        s->typed[d] = (bg_tensor){NULL, d, 3, {2, 3, 4}};
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = d == BG_BOOL ? i % 2 : (unsigned char)(i * 5 % 64 + d);
        s->typed[d].data = allocate(sizeof bytes);
        EXPECT_CUDA(cudaMemcpy(s->typed[d].data, bytes, sizeof bytes, cudaMemcpyHostToDevice));
    }
    snprintf(s->directory, sizeof s->directory, "/tmp/breakgraph-dump-XXXXXX");
    assert_non_null(mkdtemp(s->directory));
    *state = s;
    return 0;
}

static const char *in(scene *s, const char *file)
{
    snprintf(s->path, sizeof s->path, "%s/%s", s->directory, file);
    return s->path;
}

static void clear(scene *s)
{
    DIR *directory = opendir(s->directory);
    const struct dirent *entry;
    assert_non_null(directory);
    while ((entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.')
            assert_int_equal(remove(in(s, entry->d_name)), 0);
    closedir(directory);
}

static int tear_down(void **state)
{
    scene *s = *state;
    for (bg_dtype d = BG_F32; d <= BG_BOOL; d++)
        EXPECT_CUDA(cudaFree(s->typed[d].data));
    clear(s);
    assert_int_equal(rmdir(s->directory), 0);
    int failed = fixture_teardown((void **)&s->f);
    free(s);
    return failed;
}

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

/* The entry of a call's field. */
static const cJSON *entry_of(const cJSON *index, const char *call, const char *field)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, member(index, "tensors"))
    {
        if (strcmp(string_of(item, "call"), call) == 0 && strcmp(string_of(item, "field"), field) == 0)
            return item;
    }
    fail_msg("the index has no %s of %s", field, call);
    return NULL;
}

/* The entry's .npy file by the words of its format: magic, version, length, header, elements. */
static void expect_npy(scene *s, const cJSON *entry, const char *descr, const char *shape, const void *elements,
                       size_t bytes)
{
    size_t whole, length;
    char header[128];
    OWN_TEXT(text, read_file(in(s, string_of(entry, "file")), &whole));
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    assert_true(whole > 10);
    assert_memory_equal(text, "\x93NUMPY\x01\x00", 8);
    length = (unsigned char)text[8] + 256u * (unsigned char)text[9];
    assert_int_equal((10 + length) % 64, 0);
    assert_int_equal(whole, 10 + length + bytes);
    assert_int_equal(text[10 + length - 1], '\n');
    if (strncmp(text + 10, header, strlen(header)) != 0)
        fail_msg("%s: the header is %.*s, expected %s", s->path, (int)length, text + 10, header);
    for (size_t i = 10 + strlen(header); i < 10 + length - 1; i++)
        assert_int_equal(text[i], ' ');
    assert_memory_equal(text + 10 + length, elements, bytes);
}

static bg_graph *capture(scene *s, bg_forward pass)
{
    return capture_of(pass, s, s->f->stream, NULL);
}

/* The index of a graph's dump; of that of a new one. */
static cJSON *dump(scene *s, bg_graph *graph)
{
    OWNED_REPORT(report);
    EXPECT_OK(bg_step_dump(graph, s->f->stream, s->directory, &report));
    return parse_file(in(s, "index.json"));
}

static cJSON *dump_pass(scene *s, bg_forward pass)
{
    OWN_GRAPH(graph, capture(s, pass));
    return dump(s, graph);
}

/* ---- tests --------------------------------------------------------------------------------------------------------
 */

static bg_status typed_pass(void *user, cudaStream_t stream)
{
    scene *s = user;
    for (bg_dtype d = BG_F32; d <= BG_BOOL; d++) {
        bg_tensor y = s->typed[d];
        y.data = s->f->memory;
        BG_CALL(copy, stream, .x = s->typed[d], .y = y);
    }
    return BG_OK;
}

#define NPY_TEST(name) TEST_F(name, set_up, tear_down, scene *s)

NPY_TEST(test_dtypes)
{
    static const char *const descr[] = {"<f4", "<f2", "<u2", "<f8", "|i1", "|u1", "<i4", "<i8", "|b1"};
    static const bg_dtype in_order[] = {BG_F32, BG_F16, BG_BF16, BG_F64, BG_I8, BG_U8, BG_I32, BG_I64, BG_BOOL};
    OWN_JSON(index, dump_pass(s, typed_pass));
    assert_string_equal(string_of(index, "graph"), "graph");
    assert_true(cJSON_IsTrue(member(index, "complete")));
    assert_int_equal(size_of(index, "tensors"), 18);
    assert_int_equal(count_files(s->directory), 19);
    for (int i = 0; i < 9; i++) {
        bg_dtype d = in_order[i];
        char call[32], host[24 * 8];
        size_t bytes = bg_tensor_bytes(&s->typed[d]);
        snprintf(call, sizeof call, "copy#%d", (int)d);
        EXPECT_CUDA(cudaMemcpy(host, s->typed[d].data, bytes, cudaMemcpyDeviceToHost));
        for (int field = 0; field < 2; field++) { /* y's memory is another's by now: the dump is of its time */
            const cJSON *entry = entry_of(index, call, field ? "y" : "x");
            assert_string_equal(string_of(entry, "dtype"), bg_dtype_name(d));
            assert_string_equal(string_of(entry, "role"), field ? "out" : "in");
            assert_int_equal(size_of(entry, "shape"), 3);
            assert_int_equal(element(entry, "shape", 2)->valueint, 4);
            assert_int_equal(has_member(entry, "note"), d == BG_BF16);
            expect_npy(s, entry, descr[i], "(2, 3, 4)", host, bytes);
        }
    }
    assert_string_equal(string_of(entry_of(index, "copy#1", "x"), "file"), "0001_copy_1.x.npy");
}

static bg_status eager_pass(void *user, cudaStream_t stream)
{
    scene *s = user;
    float *z = s->f->z.data;
    BG_CALL(wrap, stream, .x = s->f->x, .y = s->f->y);
    BG_CALL(halves, stream, .x = s->f->y,
            .parts = {bg_tensor_1d(z, BG_F32, N / 2), bg_tensor_2d(z + N / 2, BG_F32, 1, N / 2)});
    return BG_CALL(copy, stream, .x = s->f->z, .y = s->f->y);
}

/* All elements of the file are value. */
static void expect_filled(scene *s, const cJSON *entry, const char *shape, float value, size_t count)
{
    float expected[N];
    for (size_t i = 0; i < count; i++)
        expected[i] = value;
    expect_npy(s, entry, "<f4", shape, expected, count * sizeof *expected);
}

/* An eager call, an array of outputs, and one call inside another: the inner one comes first. */
NPY_TEST(test_calls)
{
    static const char *const calls[] = {"wrap#0/copy#0", "wrap#0/copy#0", "wrap#0", "wrap#0", "halves#0",
                                        "halves#0",      "halves#0",      "copy#0", "copy#0"};
    put(&s->f->x, 3);
    OWN_JSON(index, dump_pass(s, eager_pass));
    assert_int_equal(size_of(index, "tensors"), 9);
    for (int i = 0; i < 9; i++)
        assert_string_equal(string_of(element(index, "tensors", i), "call"), calls[i]);
    expect_filled(s, entry_of(index, "wrap#0/copy#0", "y"), "(64,)", 3, N);
    assert_string_equal(string_of(entry_of(index, "wrap#0/copy#0", "y"), "file"), "0000_wrap_0.copy_0.y.npy");
    expect_filled(s, entry_of(index, "halves#0", "x"), "(64,)", 6, N); /* after the call */
    expect_filled(s, entry_of(index, "halves#0", "parts[1]"), "(1, 32)", 12, N / 2);
}

static bg_status odd_pass(void *user, cudaStream_t stream)
{
    static float host[4];
    scene *s = user;
    return BG_CALL(odd, stream, .empty = bg_tensor_2d(s->f->memory, BG_F32, 0, 5),
                   .host = bg_tensor_1d(host, BG_F32, 4), .scalar = {s->f->memory, BG_F64, 0, {0}});
}

NPY_TEST(test_odd_tensors)
{
    const double zero = 0;
    OWN_JSON(index, dump_pass(s, odd_pass));
    expect_npy(s, entry_of(index, "odd#0", "empty"), "<f4", "(0, 5)", "", 0);
    expect_npy(s, entry_of(index, "odd#0", "scalar"), "<f8", "()", &zero, sizeof zero);
    assert_true(cJSON_IsNull(member(entry_of(index, "odd#0", "host"), "file")));
    assert_string_equal(string_of(entry_of(index, "odd#0", "host"), "note"),
                        "not in memory that the device can access");
    assert_string_equal(string_of(entry_of(index, "odd#0", "none"), "note"), "no memory");
}

NPY_TEST(test_nothing_is_overwritten)
{
    OWN_GRAPH(graph, capture(s, eager_pass));
    bg_report *report;
    cJSON_Delete(dump(s, graph));
    OWN_TEXT(before, read_file(in(s, "index.json"), NULL));
    uint64_t replays = info_of(graph).replays;
    EXPECT_STATUS(bg_step_dump(graph, s->f->stream, s->directory, &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("already has an index.json");
    assert_null(report);
    assert_int_equal(info_of(graph).replays, replays); /* refused before anything ran */
    OWN_TEXT(after, read_file(in(s, "index.json"), NULL));
    assert_string_equal(before, after);
}

NPY_TEST(test_bad_directories)
{
    OWN_GRAPH(graph, capture(s, eager_pass));
    bg_report *report;
    char path[160];
    EXPECT_STATUS(bg_step_dump(graph, s->f->stream, "/nowhere/at/all", &report), BG_ERROR_IO);
    EXPECT_ERROR("/nowhere/at/all cannot be created");
    snprintf(path, sizeof path, "%.100s/file", s->directory);
    write_file(path, "", 0);
    EXPECT_STATUS(bg_step_dump(graph, s->f->stream, path, &report), BG_ERROR_IO); /* a file is no directory */
    assert_null(report);
    assert_int_equal(remove(path), 0);
    snprintf(path, sizeof path, "%.100s/fresh", s->directory); /* is made */
    EXPECT_OK(bg_step_dump(graph, s->f->stream, path, &report));
    bg_report_destroy(report);
    snprintf(s->directory, sizeof s->directory, "%s", path);
    assert_int_equal(count_files(s->directory), 10);
    clear(s);
    assert_int_equal(rmdir(s->directory), 0);
    *strrchr(s->directory, '/') = '\0';
    EXPECT_OK(bg_replay(graph, s->f->stream));
}

static bool broken;

BG_EAGER_OP(breaks)
{
    (void)args;
    (void)stream;
    return broken ? BG_ERROR_TIMEOUT : BG_OK;
}

static bg_status failing_pass(void *user, cudaStream_t stream)
{
    scene *s = user;
    BG_CALL(copy, stream, .x = s->f->x, .y = s->f->y);
    BG_CALL(breaks, stream);
    return BG_CALL(copy, stream, .x = s->f->y, .y = s->f->z);
}

/* After a fault the index lists what was written before. */
NPY_TEST(test_after_a_failure)
{
    OWN_GRAPH(graph, capture(s, failing_pass));
    OWNED_REPORT(report);
    broken = true;
    EXPECT_OK(bg_step_dump(graph, s->f->stream, s->directory, &report));
    broken = false;
    EXPECT_THE(report, "fault");
    OWN_JSON(index, parse_file(in(s, "index.json")));
    assert_true(cJSON_IsFalse(member(index, "complete")));
    assert_int_equal(size_of(index, "tensors"), 2);
}

/* Where there is Python with NumPy, it has the last word. */
NPY_TEST(test_numpy_reads_them)
{
    static const char script[] =
        "import sys, json, numpy as n; d = sys.argv[1]; i = json.load(open(d + '/index.json'))\n"
        "names = dict(f32='f4', f16='f2', bf16='u2', f64='f8', i8='i1', u8='u1', i32='i4', i64='i8', bool='?')\n"
        "for t in i['tensors']:\n"
        "    a = n.load(d + '/' + t['file'])\n"
        "    assert list(a.shape) == t['shape'] and a.dtype == n.dtype(names[t['dtype']]), t\n"
        "x = [n.load(d + '/' + t['file']) for t in i['tensors'] if t['call'] == 'copy#4']\n"
        "assert x[0].tobytes() == x[1].tobytes() and x[0][1, 2, 3] == (23 * 5 % 64 + 4), x\n";
    if (run_command("python3 -c 'import numpy' 2>/dev/null") != 0) {
        print_message("skipped: there is no python3 with numpy\n");
        skip();
    }
    cJSON_Delete(dump_pass(s, typed_pass));
    write_file(in(s, "read.py"), script, strlen(script));
    assert_int_equal(run_command("python3 %s/read.py %s", s->directory, s->directory), 0);
}

static bg_status long_pass(void *user, cudaStream_t stream)
{
    scene *s = user;
    return BG_CALL(LONG(outer), stream, .x = s->f->x);
}

/* However long the names are, each tensor has a file, and one of its own. */
NPY_TEST(test_long_and_like_names)
{
    OWN_JSON(index, dump_pass(s, long_pass));
    const cJSON *tensor;
    assert_int_equal(size_of(index, "tensors"), 4);
    assert_int_equal(count_files(s->directory), 5);
    cJSON_ArrayForEach(tensor, member(index, "tensors"))
    {
        const char *field = string_of(tensor, "field");
        if (strcmp(field, "part_0_") == 0)
            EXPECT_IN(string_of(tensor, "file"), ".part_0_.npy");
        if (strcmp(field, "part[0]") == 0)
            EXPECT_IN(string_of(tensor, "file"), ".part_0__2.npy");
    }
}
