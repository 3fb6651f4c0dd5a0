/* Reports as files: what is written is read again, two become one, and nothing hostile gets in. */
#include "tests/support/tools/owned.h"

#include "debug/report/report.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 1 << 18 };

static char directory[64];
static char path[96];

static const bg__call call = {.name = (char *)"rope#3", .site = {"model.c", 42}};

/* All members of all parts. */
#define OUTLINE                                                                                                        \
    "{\"name\": \"decode\", \"breaks\": 1, \"capture_ms\": 3.5, \"instantiate_ms\": null, "                            \
    "\"segments\": [{\"nodes\": 2, \"kernel_nodes\": 1}], "                                                            \
    "\"steps\": [{\"kind\": \"launch\", \"segment\": 0}, {\"kind\": \"call\", \"call\": \"rope#3\"}], "                \
    "\"calls\": [{\"name\": \"rope#3\", \"op\": \"rope\", \"file\": \"model.c\", \"line\": 42, \"eager\": true, "      \
    "\"segment\": -1}], "                                                                                              \
    "\"nodes\": [{\"segment\": 0, \"node\": 1, \"kind\": \"kernel\", \"kernel\": \"k\", \"call\": \"\", \"lane\": 0, " \
    "\"after\": [0]}]}"
#define COMPARISON                                                                                                     \
    "{\"call\": \"rope#3\", \"field\": \"x\", \"file\": \"model.c\", \"line\": 42, \"against\": \"eager\", "           \
    "\"dtype\": \"f32\", \"elements\": 576, \"differing\": 3, \"beyond\": 2, \"first\": 17, \"absolute\": 0.5, "       \
    "\"relative\": null, \"ulp\": 1e19, \"nan\": [0, 3], \"infinite\": [0, 0], \"digest\": [\"1f\", \"8a\"]}"
#define TRIAL                    "{\"eager\": [\"rope#3\"], \"all\": false, \"why\": \"search\", \"verdict\": \"good\", \"seconds\": 0.25}"
#define TIMING                   "{\"what\": \"segment 0\", \"cpu_us\": 3.5, \"gpu_us\": 12.5}"
#define FINDING                  "{\"kind\": \"freed\", \"severity\": \"fault\", \"message\": \"m\"}"
#define REPORT_OF(version, more) "{\"report_version\": " version ", \"tool\": \"t\", \"graph\": \"g\", " more "}"
#define REPORT(more)             REPORT_OF("2", more)
#define PARTS(more)              REPORT("\"findings\": [], " more)
#define FINDING_WITH(more)                                                                                             \
    REPORT("\"findings\": [{\"kind\": \"k\", \"severity\": \"note\", \"message\": \"m\", " more "}]")

static int setup(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/breakgraph-read.XXXXXX");
    if (mkdtemp(directory) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/report", directory);
    return 0;
}

/* The directory goes only where nothing is left beside the report. */
static int teardown(void **state)
{
    (void)state;
    (void)remove(path);
    return rmdir(directory);
}

static void write_bytes(const char *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* What the file holds; the caller frees it. */
static char *read_all(void)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, TEXT_BYTES);
    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, TEXT_BYTES - 1, file) < TEXT_BYTES - 1);
    assert_int_equal(fclose(file), 0);
    return text;
}

static bg_report *read_text(const char *json)
{
    bg_report *report = NULL;
    write_bytes(json, strlen(json));
    EXPECT_OK(bg_report_read(&report, path));
    assert_non_null(report);
    return report;
}

static void expect_refused(const char *json, bg_status expected, const char *why)
{
    bg_report *report = (bg_report *)path;
    write_bytes(json, strlen(json));
    EXPECT_STATUS(bg_report_read(&report, path), expected);
    assert_null(report);
    EXPECT_ERROR(path);
    EXPECT_ERROR(why);
}

static char *json_of(const bg_report *report)
{
    EXPECT_OK(bg_report_write(report, BG_JSON, path));
    return read_all();
}

static char *page_of(const bg_report *report)
{
    EXPECT_OK(bg_report_write(report, BG_HTML, path));
    return read_all();
}

static cJSON *parsed(const char *text)
{
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    return root;
}

/* How many items the list of that name has. */
static int count_of(const bg_report *report, const char *name)
{
    char *text = json_of(report);
    cJSON *root = parsed(text);
    int count = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, name));
    cJSON_Delete(root);
    free(text);
    return count;
}

static const char *graph_of_outline(const cJSON *root)
{
    return cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(root, "outline"), "name"));
}

static bg_report *make(void)
{
    bg_report *report;
    EXPECT_OK(bg__report_create(&report, "check", "decode"));
    return report;
}

static bg_report *make_full(void)
{
    bg_report *report = make();
    static const char *const names[] = {"comparisons", "trials", "timings"};
    static const char *const items[] = {COMPARISON, TRIAL, TIMING};
    bg__report_add(report, "note-kind", BG_NOTE, NULL, NULL, "", "worth knowing");
    bg__report_add(report, "freed", BG_FAULT, &call, (void *)0x1000, "keep it", "a \"quoted\" \\ line\nand \xc3\xa9");
    bg__report_add(report, "odd", BG_WARNING, NULL, (void *)UINTPTR_MAX, "look", "<b>");
    EXPECT_OK(bg__report_set_outline(report, parsed(OUTLINE)));
    for (int i = 0; i < 3; i++)
        assert_true(cJSON_AddItemToArray(bg__report_part(report, names[i]), parsed(items[i])));
    return report;
}

#define REPORT_READ_TEST(name) TEST_F(name, setup, teardown, void *state)

REPORT_READ_TEST(test_round_trip)
{
    bg_report *report = make_full(), *again = NULL;
    char *first = json_of(report), *second;
    bg_finding finding = BG_FINDING_INIT;
    EXPECT_OK(bg_report_read(&again, path));
    assert_int_equal(bg_report_count(again), 3);
    EXPECT_OK(bg_report_get(again, 0, &finding));
    assert_string_equal(finding.kind, "freed");
    assert_int_equal(finding.severity, BG_FAULT);
    assert_string_equal(finding.call, "rope#3");
    assert_string_equal(finding.file, "model.c");
    assert_int_equal(finding.line, 42);
    assert_ptr_equal(finding.address, (void *)0x1000);
    assert_string_equal(finding.advice, "keep it");
    second = json_of(again);
    assert_string_equal(first, second);
    free(first);
    free(second);
    bg_report_destroy(report);
    bg_report_destroy(again);
}

/* A finding about several calls has their names in JSON, and the first of them in text. */
REPORT_READ_TEST(test_others)
{
    static const bg__call calls[] = {{.name = (char *)"rope#0"},
                                     {.name = (char *)"host function#1"},
                                     {.name = (char *)"rope#2"},
                                     {.name = (char *)"rope#3"},
                                     {.name = (char *)"rope#4"}};
    bg_report *report = make(), *again = NULL;
    bg_finding finding = BG_FINDING_INIT;
    bg__about about = {.calls = NULL};

    for (int i = 0; i < 10; i++) /* each twice */
        EXPECT_OK(bg__about_add(&about, &calls[i % 5]));
    bg__report_add_about(report, "freed", BG_FAULT, &about, NULL, "keep it", "the block is gone");
    char *text = json_of(report);
    assert_non_null(strstr(text, "[\"host function#1\", \"rope#2\", \"rope#3\", \"rope#4\"]"));
    free(text);
    EXPECT_OK(bg_report_read(&again, path));
    EXPECT_OK(bg_report_get(again, 0, &finding));
    assert_string_equal(finding.others, "host function#1, rope#2, rope#3, rope#4");
    EXPECT_OK(bg_report_write(again, BG_TEXT, path));
    text = read_all();
    assert_non_null(strstr(text, "rope#0, host function#1, rope#2, rope#3 and 1 more: the block is gone"));
    free(text);
    bg__about_free(&about);
    bg_report_destroy(report);
    bg_report_destroy(again);
    expect_refused("{\"breakgraph\": \"0\", \"report_version\": 2, \"tool\": \"check\", \"graph\": \"g\", \"lost\": 0, "
                   "\"findings\": [{\"kind\": \"freed\", \"severity\": \"fault\", \"call\": \"\", \"file\": \"\", "
                   "\"line\": 0, \"address\": null, \"message\": \"\", \"advice\": \"\", \"others\": 1}]}",
                   BG_ERROR_IO, "others");
}

REPORT_READ_TEST(test_text_again)
{
    OWN_REPORT(report, read_text(REPORT("\"findings\": [" FINDING "], \"lost\": 2")));
    EXPECT_OK(bg_report_write(report, BG_TEXT, path));
    OWN_TEXT(text, read_all());
    assert_string_equal(text, "t of g: 1 finding\nfault [freed]: m\n2 more findings were lost: out of host memory\n");
}

/* What a newer writer may have added is ignored; of two members of a name the first counts. */
REPORT_READ_TEST(test_unknown_members)
{
    OWN_REPORT(report, read_text(REPORT("\"tool\": 7, \"newer\": [[[{}]]], \"findings\": [{\"kind\": \"freed\", "
                                        "\"severity\": \"fault\", \"message\": \"m\", \"newer\": 1, \"kind\": 2}], "
                                        "\"trials\": [{\"verdict\": \"bad\"}], \"trials\": 7, \"outline\": {}")));
    OWN_TEXT(text, json_of(report));
    assert_null(strstr(text, "newer"));
    assert_non_null(strstr(text, "\"tool\":\t\"t\""));
    assert_non_null(strstr(text, "\"freed\""));
    assert_int_equal(count_of(report, "trials"), 1);
}

/* What only the page reads goes there as it is, whatever it is; with others it becomes one report. */
REPORT_READ_TEST(test_parts_of_any_form)
{
    static const char *const parts[] = {
        "\"outline\": {\"breaks\": -1, \"capture_ms\": {}, \"name\": [], \"segments\": [{\"nodes\": \"2\"}, null]}",
        "\"outline\": {\"steps\": [{\"kind\": \"launch\", \"segment\": 0}, {}, {\"segment\": 1e300}, 7]}",
        "\"outline\": {\"segments\": 7, \"steps\": {}, \"calls\": null, \"nodes\": \"\"}",
        "\"outline\": {\"calls\": [{\"name\": \"a\", \"eager\": 1}, {\"name\": [[]]}, null]}",
        "\"outline\": {\"segments\": [{}], \"nodes\": [{\"segment\": 1, \"node\": 0, \"after\": [\"1\"]}, null]}",
        "\"comparisons\": [{}, {\"nan\": [0]}, {\"nan\": [0, -1]}, {\"absolute\": \"0.5\"}, {\"digest\": [7]}]",
        "\"trials\": [{\"verdict\": \"good\"}, {\"verdict\": \"ugly\", \"eager\": \"all\"}, {\"verdict\": {}}]",
        "\"timings\": [{}, {\"what\": null, \"cpu_us\": [1]}]",
    };
    OWN_REPORT(all, make());
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char *json = malloc(strlen(parts[i]) + 100), *page;
        assert_non_null(json);
        sprintf(json, PARTS("%s"), parts[i]);
        OWN_REPORT(report, read_text(json));
        page = page_of(report);
        EXPECT_OK(bg_report_merge(all, report));
        free(page);
        free(json);
    }
    assert_int_equal(count_of(all, "comparisons"), 5);
    assert_int_equal(count_of(all, "trials"), 3);
    assert_int_equal(count_of(all, "timings"), 2);
}

REPORT_READ_TEST(test_versions)
{
    expect_refused(REPORT_OF("1", "\"findings\": []"), BG_ERROR_UNSUPPORTED, "version 1,");
    expect_refused(REPORT_OF("3", "\"breakgraph\": \"9.8.7\", \"findings\": 7"), BG_ERROR_UNSUPPORTED, "(9.8.7)");
    EXPECT_ERROR("reads version 2");
    expect_refused(REPORT_OF("1e999", "\"findings\": []"), BG_ERROR_UNSUPPORTED, "version inf");
    expect_refused(REPORT_OF("2.5", "\"findings\": []"), BG_ERROR_UNSUPPORTED, "version 2.5");
    expect_refused(REPORT_OF("\"2\"", "\"findings\": []"), BG_ERROR_IO, "report_version");
    expect_refused("{\"findings\": []}", BG_ERROR_IO, "report_version");
    expect_refused("[2]", BG_ERROR_IO, "report_version");
    expect_refused("2", BG_ERROR_IO, "report_version");
}

REPORT_READ_TEST(test_no_json)
{
    static const char cut[] = "{\"report_version\": 2,\n\"tool\": \"t\",\n\"gra";
    static const char inside[] = "{\0\"report_version\": 2, \"tool\": \"t\", \"graph\": \"g\", \"findings\": []}";
    bg_report *report = NULL;
    OWN_TEXT(deep, malloc(TEXT_BYTES + 1));
    expect_refused("", BG_ERROR_IO, "not JSON");
    expect_refused(cut, BG_ERROR_IO, "(line 3)");
    expect_refused(REPORT("\"findings\": []") " {}", BG_ERROR_IO, "not JSON");
    write_bytes(inside, sizeof inside - 1);
    EXPECT_STATUS(bg_report_read(&report, path), BG_ERROR_IO);
    assert_non_null(deep);
    memset(deep, '[', TEXT_BYTES);
    deep[TEXT_BYTES] = '\0';
    expect_refused(deep, BG_ERROR_IO, "not JSON");
    for (int i = 0; i < TEXT_BYTES; i += 5)
        memcpy(deep + i, "{\"a\":", i + 5 <= TEXT_BYTES ? 5 : TEXT_BYTES - i);
    expect_refused(deep, BG_ERROR_IO, "not JSON");
}

REPORT_READ_TEST(test_no_file)
{
    bg_report *report = (bg_report *)path;
    EXPECT_STATUS(bg_report_read(&report, path), BG_ERROR_IO);
    assert_null(report);
    EXPECT_ERROR("No such file");
    EXPECT_STATUS(bg_report_read(&report, directory), BG_ERROR_IO);
    EXPECT_ERROR("directory");
    EXPECT_STATUS(bg_report_read(&report, "/dev/zero"), BG_ERROR_IO);
    EXPECT_ERROR("/dev/zero cannot be read: it is a device, not a file; name a regular file");
    write_bytes("", 0);
    assert_int_equal(truncate(path, ((off_t)256 << 20) + 1), 0);
    EXPECT_STATUS(bg_report_read(&report, path), BG_ERROR_IO);
    EXPECT_ERROR("larger than 256 MiB");
    EXPECT_STATUS(bg_report_read(NULL, path), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_report_read(&report, NULL), BG_ERROR_INVALID_ARGUMENT);
}

REPORT_READ_TEST(test_wrong_forms)
{
    static const struct {
        const char *json, *why;
    } cases[] = {
        {REPORT("\"lost\": 0"), "findings is not a list of objects"},
        {REPORT("\"findings\": {}"), "findings is not a list of objects"},
        {REPORT("\"findings\": [" FINDING ", 7]"), "findings is not a list of objects"},
        {REPORT("\"findings\": [], \"lost\": \"2\""), "lost is not a whole number"},
        {REPORT("\"findings\": [], \"lost\": 1e300"), "lost is not a whole number"},
        {"{\"report_version\": 2, \"graph\": \"g\", \"findings\": []}", "tool is missing"},
        {"{\"report_version\": 2, \"tool\": null, \"graph\": \"g\", \"findings\": []}", "tool is not a string"},
        {"{\"report_version\": 2, \"tool\": \"t\", \"graph\": [], \"findings\": []}", "graph is not a string"},
        {REPORT("\"findings\": [{\"kind\": \"k\", \"severity\": \"fault\"}]"), "findings[0].message is missing"},
        {REPORT("\"findings\": [{\"kind\": 1}]"), "findings[0].kind is not a string"},
        {REPORT("\"findings\": [" FINDING ", {\"kind\": \"k\"}]"), "findings[1].severity is missing"},
        {REPORT("\"findings\": [{\"kind\": \"k\", \"severity\": \"Fault\"}]"), "findings[0].severity is not a known"},
        {REPORT("\"findings\": [{\"kind\": \"k\", \"severity\": 2}]"), "findings[0].severity is not a string"},
        {FINDING_WITH("\"line\": 1.5"), "findings[0].line is not a whole number"},
        {FINDING_WITH("\"line\": 3000000000"), "findings[0].line"},
        {FINDING_WITH("\"call\": {}"), "findings[0].call"},
        {FINDING_WITH("\"file\": null"), "findings[0].file"},
        {FINDING_WITH("\"advice\": 7"), "findings[0].advice"},
        {FINDING_WITH("\"address\": 7"), "findings[0].address is not a string"},
        {FINDING_WITH("\"address\": \"0xzz\""), "findings[0].address is not an address"},
        {FINDING_WITH("\"address\": \"-1\""), "findings[0].address is not an address"},
        {FINDING_WITH("\"address\": \"0xfffffffffffffffff\""), "findings[0].address is not an address"},
        {PARTS("\"outline\": []"), "outline is not an object"},
        {PARTS("\"comparisons\": 7"), "comparisons is not a list of objects"},
        {PARTS("\"trials\": [{}, null]"), "trials is not a list of objects"},
        {PARTS("\"timings\": {}"), "timings is not a list of objects"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_refused(cases[i].json, BG_ERROR_IO, cases[i].why);
}

/* A full report with one byte changed, or cut anywhere: refused or read, and what is read can be written. */
REPORT_READ_TEST(test_damaged)
{
    bg_report *report = make_full();
    char *json = json_of(report), *page;
    size_t size = strlen(json);
    int good = 0, refused = 0;
    bg_report_destroy(report);
    for (size_t i = 0; i < size; i++) {
        for (int way = 0; way < 3; way++) {
            char kept = json[i];
            json[i] = "0\"["[way];
            write_bytes(json, size);
            json[i] = kept;
            if (bg_report_read(&report, path) != BG_OK) {
                assert_null(report);
                refused++;
                continue;
            }
            if (good++ % 16 == 0) { /* a file takes its time */
                page = page_of(report);
                free(page);
            }
            bg_report_destroy(report);
        }
        write_bytes(json, i);
        EXPECT_STATUS(bg_report_read(&report, path), i + 1 < size ? BG_ERROR_IO : BG_OK); /* the last is a newline */
        bg_report_destroy(report);
    }
    assert_true(good > 0 && refused > 0);
    free(json);
}

REPORT_READ_TEST(test_merge)
{
    bg_report *report = make(), *from = make_full();
    char *before = json_of(from), *text;
    bg__report_add(report, "freed", BG_FAULT, &call, (void *)0x1000, "keep it", "a \"quoted\" \\ line\nand \xc3\xa9");
    EXPECT_OK(bg_report_merge(report, from));
    assert_int_equal(bg_report_count(report), 3); /* one of them was there */
    EXPECT_OK(bg_report_merge(report, from));
    assert_int_equal(bg_report_count(report), 3);
    assert_int_equal(count_of(report, "comparisons"), 2);
    assert_int_equal(count_of(report, "trials"), 2);
    assert_int_equal(count_of(report, "timings"), 2);
    text = json_of(from); /* as it was */
    assert_string_equal(before, text);
    free(text);
    bg_report_destroy(from); /* nothing of it is lent */
    text = json_of(report);
    assert_non_null(strstr(text, "worth knowing"));
    assert_non_null(strstr(text, "rope#3"));
    free(text);
    free(before);
    bg_report_destroy(report);
}

REPORT_READ_TEST(test_merge_outline)
{
    bg_report *report = make(), *from = make_full(), *other = make();
    EXPECT_OK(bg__report_set_outline(other, parsed("{\"name\": \"other\"}")));
    EXPECT_OK(bg_report_merge(report, from));
    EXPECT_OK(bg_report_merge(report, other));
    char *text = json_of(report);
    cJSON *root = parsed(text);
    assert_string_equal(graph_of_outline(root), "decode");
    cJSON_Delete(root);
    free(text);
    EXPECT_STATUS(bg_report_merge(report, report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_report_merge(NULL, from), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_report_merge(report, NULL), BG_ERROR_INVALID_ARGUMENT);
    bg_report_destroy(report);
    bg_report_destroy(from);
    bg_report_destroy(other);
}

REPORT_READ_TEST(test_merge_lost)
{
    OWN_REPORT(report, read_text(REPORT("\"findings\": [], \"lost\": 2147483647")));
    OWN_REPORT(from, read_text(REPORT("\"findings\": [], \"lost\": 2")));
    EXPECT_OK(bg_report_merge(from, report));
    OWN_TEXT(text, json_of(from));
    assert_non_null(strstr(text, "\t2147483647"));
}
