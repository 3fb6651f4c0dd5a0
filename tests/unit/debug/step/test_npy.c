/* Dumps: what a step writes reads back equal, and is refused where something is there. */
#include "tests/support/test.h"
#include "tests/support/tools/step_support.h"

#include <cjson/cJSON.h>
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
        EXPECT_CUDA(cudaMalloc(&s->typed[d].data, sizeof bytes));
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

static int count_files(const scene *s)
{
    DIR *directory = opendir(s->directory);
    const struct dirent *entry;
    int count = 0;
    assert_non_null(directory);
    while ((entry = readdir(directory)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static int tear_down(void **state)
{
    scene *s = *state;
    int failed;
    for (bg_dtype d = BG_F32; d <= BG_BOOL; d++)
        EXPECT_CUDA(cudaFree(s->typed[d].data));
    clear(s);
    assert_int_equal(rmdir(s->directory), 0);
    failed = fixture_teardown((void **)&s->f);
    free(s);
    return failed;
}

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

static char *read_file(scene *s, const char *file, size_t *bytes)
{
    FILE *stream = fopen(in(s, file), "rb");
    char *text = calloc(1, 1 << 16);
    assert_non_null(stream);
    assert_non_null(text);
    *bytes = fread(text, 1, (1 << 16) - 1, stream);
    assert_true(*bytes < (1 << 16) - 1);
    fclose(stream);
    return text;
}

static cJSON *read_index(scene *s)
{
    size_t bytes;
    char *text = read_file(s, "index.json", &bytes);
    cJSON *index = cJSON_Parse(text);
    assert_non_null(index);
    free(text);
    return index;
}

static const char *string(const cJSON *item, const char *key)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItem(item, key));
    if (value == NULL)
        fail_msg("the entry has no string %s", key);
    return value;
}

/* The entry of a call's field. */
static const cJSON *entry_of(const cJSON *index, const char *call, const char *field)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(index, "tensors"))
    {
        if (strcmp(string(item, "call"), call) == 0 && strcmp(string(item, "field"), field) == 0)
            return item;
    }
    fail_msg("the index has no %s of %s", field, call);
    return NULL;
}

/* The bytes of an .npy file by the words of its format: magic, version, length, header, elements. */
static void expect_npy(scene *s, const char *file, const char *header, const void *elements, size_t bytes)
{
    size_t whole, length;
    char *text = read_file(s, file, &whole);
    assert_true(whole > 10);
    assert_memory_equal(text, "\x93NUMPY\x01\x00", 8);
    length = (unsigned char)text[8] + 256u * (unsigned char)text[9];
    assert_int_equal((10 + length) % 64, 0);
    assert_int_equal(whole, 10 + length + bytes);
    assert_int_equal(text[10 + length - 1], '\n');
    if (strncmp(text + 10, header, strlen(header)) != 0)
        fail_msg("%s: the header is %.*s, expected %s", file, (int)length, text + 10, header);
    for (size_t i = 10 + strlen(header); i < 10 + length - 1; i++)
        assert_int_equal(text[i], ' ');
    assert_memory_equal(text + 10 + length, elements, bytes);
    free(text);
}

static bg_graph *capture(scene *s, bg_forward pass)
{
    bg_graph *graph;
    EXPECT_OK(bg_capture_forward(&graph, pass, s, s->f->stream, NULL));
    return graph;
}

static void dump(scene *s, bg_graph *graph)
{
    OWNED_REPORT(report);
    EXPECT_OK(bg_step_dump(graph, s->f->stream, s->directory, &report));
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
    bg_graph *graph = capture(s, typed_pass);
    cJSON *index;
    dump(s, graph);
    index = read_index(s);
    assert_string_equal(string(index, "graph"), "graph");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(index, "complete")));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(index, "tensors")), 18);
    assert_int_equal(count_files(s), 19);
    for (int i = 0; i < 9; i++) {
        bg_dtype d = in_order[i];
        char call[32], header[128], host[24 * 8];
        size_t bytes = bg_tensor_bytes(&s->typed[d]);
        snprintf(call, sizeof call, "copy#%d", (int)d);
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (2, 3, 4), }", descr[i]);
        EXPECT_CUDA(cudaMemcpy(host, s->typed[d].data, bytes, cudaMemcpyDeviceToHost));
        for (int field = 0; field < 2; field++) { /* y's memory is another's by now: the dump is of its time */
            const cJSON *entry = entry_of(index, call, field ? "y" : "x"), *shape;
            assert_string_equal(string(entry, "dtype"), bg_dtype_name(d));
            assert_string_equal(string(entry, "role"), field ? "out" : "in");
            shape = cJSON_GetObjectItem(entry, "shape");
            assert_int_equal(cJSON_GetArraySize(shape), 3);
            assert_int_equal(cJSON_GetArrayItem(shape, 2)->valueint, 4);
            assert_int_equal(cJSON_HasObjectItem(entry, "note"), d == BG_BF16);
            expect_npy(s, string(entry, "file"), header, host, bytes);
        }
    }
    assert_string_equal(string(entry_of(index, "copy#1", "x"), "file"), "0001_copy_1.x.npy");
    cJSON_Delete(index);
    bg_graph_destroy(graph);
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

/* An eager call, an array of outputs, and one call inside another: the inner one comes first. */
NPY_TEST(test_calls)
{
    static const char *const calls[] = {"wrap#0/copy#0", "wrap#0/copy#0", "wrap#0", "wrap#0", "halves#0",
                                        "halves#0",      "halves#0",      "copy#0", "copy#0"};
    float expected[N];
    OWNED_GRAPH(graph);
    cJSON *index;
    put(&s->f->x, 3);
    graph = capture(s, eager_pass);
    dump(s, graph);
    index = read_index(s);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(index, "tensors")), 9);
    for (int i = 0; i < 9; i++)
        assert_string_equal(string(cJSON_GetArrayItem(cJSON_GetObjectItem(index, "tensors"), i), "call"), calls[i]);
    for (int i = 0; i < N; i++)
        expected[i] = 3;
    expect_npy(s, string(entry_of(index, "wrap#0/copy#0", "y"), "file"),
               "{'descr': '<f4', 'fortran_order': False, 'shape': (64,), }", expected, sizeof expected);
    assert_string_equal(string(entry_of(index, "wrap#0/copy#0", "y"), "file"), "0000_wrap_0.copy_0.y.npy");
    for (int i = 0; i < N; i++)
        expected[i] = 6;
    expect_npy(s, string(entry_of(index, "halves#0", "x"), "file"), /* after the call */
               "{'descr': '<f4', 'fortran_order': False, 'shape': (64,), }", expected, sizeof expected);
    for (int i = 0; i < N; i++)
        expected[i] = 12;
    expect_npy(s, string(entry_of(index, "halves#0", "parts[1]"), "file"),
               "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 32), }", expected, sizeof expected / 2);
    cJSON_Delete(index);
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
    bg_graph *graph = capture(s, odd_pass);
    cJSON *index;
    dump(s, graph);
    index = read_index(s);
    expect_npy(s, string(entry_of(index, "odd#0", "empty"), "file"),
               "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 5), }", "", 0);
    expect_npy(s, string(entry_of(index, "odd#0", "scalar"), "file"),
               "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", &zero, sizeof zero);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(entry_of(index, "odd#0", "host"), "file")));
    assert_string_equal(string(entry_of(index, "odd#0", "host"), "note"), "not in memory that the device can access");
    assert_string_equal(string(entry_of(index, "odd#0", "none"), "note"), "no memory");
    cJSON_Delete(index);
    bg_graph_destroy(graph);
}

NPY_TEST(test_nothing_is_overwritten)
{
    bg_graph *graph = capture(s, eager_pass);
    bg_report *report;
    size_t before_bytes, after_bytes;
    char *before, *after;
    uint64_t replays;
    dump(s, graph);
    before = read_file(s, "index.json", &before_bytes);
    replays = info_of(graph).replays;
    EXPECT_STATUS(bg_step_dump(graph, s->f->stream, s->directory, &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("already has an index.json");
    assert_null(report);
    assert_int_equal(info_of(graph).replays, replays); /* refused before anything ran */
    after = read_file(s, "index.json", &after_bytes);
    assert_int_equal(before_bytes, after_bytes);
    assert_memory_equal(before, after, before_bytes);
    free(before);
    free(after);
    bg_graph_destroy(graph);
}

NPY_TEST(test_bad_directories)
{
    bg_graph *graph = capture(s, eager_pass);
    bg_report *report;
    char path[160];
    EXPECT_STATUS(bg_step_dump(graph, s->f->stream, "/nowhere/at/all", &report), BG_ERROR_IO);
    EXPECT_ERROR("/nowhere/at/all cannot be created");
    snprintf(path, sizeof path, "%.100s/file", s->directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    EXPECT_STATUS(bg_step_dump(graph, s->f->stream, path, &report), BG_ERROR_IO); /* a file is no directory */
    assert_null(report);
    assert_int_equal(remove(path), 0);
    snprintf(path, sizeof path, "%.100s/fresh", s->directory); /* is made */
    EXPECT_OK(bg_step_dump(graph, s->f->stream, path, &report));
    bg_report_destroy(report);
    snprintf(s->directory, sizeof s->directory, "%s", path);
    assert_int_equal(count_files(s), 10);
    clear(s);
    assert_int_equal(rmdir(s->directory), 0);
    *strrchr(s->directory, '/') = '\0';
    EXPECT_OK(bg_replay(graph, s->f->stream));
    bg_graph_destroy(graph);
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
    bg_graph *graph = capture(s, failing_pass);
    bg_report *report;
    cJSON *index;
    broken = true;
    EXPECT_OK(bg_step_dump(graph, s->f->stream, s->directory, &report));
    broken = false;
    assert_int_equal(count_findings(report, "fault"), 1);
    bg_report_destroy(report);
    index = read_index(s);
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(index, "complete")));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(index, "tensors")), 2);
    cJSON_Delete(index);
    bg_graph_destroy(graph);
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
    char command[2048];
    OWNED_GRAPH(graph);
    if (system("python3 -c 'import numpy' 2>/dev/null") != 0) {
        print_message("skipped: there is no python3 with numpy\n");
        skip();
    }
    graph = capture(s, typed_pass);
    dump(s, graph);
    FILE *file = fopen(in(s, "read.py"), "w");
    assert_non_null(file);
    assert_true(fputs(script, file) >= 0);
    fclose(file);
    snprintf(command, sizeof command, "python3 %s/read.py %s", s->directory, s->directory);
    assert_int_equal(system(command), 0);
}

static bg_status long_pass(void *user, cudaStream_t stream)
{
    scene *s = user;
    return BG_CALL(LONG(outer), stream, .x = s->f->x);
}

/* However long the names are, each tensor has a file, and one of its own. */
NPY_TEST(test_long_and_like_names)
{
    bg_graph *graph = capture(s, long_pass);
    cJSON *index;
    const cJSON *tensors, *tensor;
    dump(s, graph);
    index = read_index(s);
    tensors = cJSON_GetObjectItem(index, "tensors");
    assert_int_equal(cJSON_GetArraySize(tensors), 4);
    assert_int_equal(count_files(s), 5);
    cJSON_ArrayForEach(tensor, tensors)
    {
        const char *field = string(tensor, "field"), *file = string(tensor, "file");
        if (strcmp(field, "part_0_") == 0)
            assert_non_null(strstr(file, ".part_0_.npy"));
        if (strcmp(field, "part[0]") == 0)
            assert_non_null(strstr(file, ".part_0__2.npy"));
    }
    cJSON_Delete(index);
    bg_graph_destroy(graph);
}
