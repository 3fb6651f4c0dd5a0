/* Reports as files: what is written is read again, two become one, and nothing hostile gets in. */
#include "tests/support/tools/report_support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 1 << 18 };

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
#define FREED                    "{\"kind\": \"freed\", \"severity\": \"fault\", \"message\": \"m\"}"
#define REPORT_OF(version, more) "{\"report_version\": " version ", \"tool\": \"t\", \"graph\": \"g\", " more "}"
#define REPORT(more)             REPORT_OF("2", more)
#define PARTS(more)              REPORT("\"findings\": [], " more)
#define FINDING_WITH(more)                                                                                             \
    REPORT("\"findings\": [{\"kind\": \"k\", \"severity\": \"note\", \"message\": \"m\", " more "}]")

static bg_report *read_text(const char *json)
{
    bg_report *report = NULL;
    write_file(test_file, json, strlen(json));
    EXPECT_OK(bg_report_read(&report, test_file));
    assert_non_null(report);
    return report;
}

static void expect_refused(const char *json, bg_status expected, const char *why)
{
    bg_report *report = (bg_report *)test_file;
    write_file(test_file, json, strlen(json));
    EXPECT_STATUS(bg_report_read(&report, test_file), expected);
    assert_null(report);
    EXPECT_ERROR(test_file);
    EXPECT_ERROR(why);
}

static const char *json_of(const bg_report *report)
{
    return written(report, BG_JSON);
}

/* How many items the list of that name has. */
static int count_of(const bg_report *report, const char *name)
{
    OWN_JSON(root, parsed(json_of(report)));
    return cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, name));
}

static bg_report *make_full(void)
{
    bg_report *report = make_report();
    static const char *const names[] = {"comparisons", "trials", "timings"};
    static const char *const items[] = {COMPARISON, TRIAL, TIMING};
    bg__report_add(report, "note-kind", BG_NOTE, NULL, NULL, "", "worth knowing");
    bg__report_add(report, "freed", BG_FAULT, &rope_call, (void *)0x1000, "keep it",
                   "a \"quoted\" \\ line\nand \xc3\xa9");
    bg__report_add(report, "odd", BG_WARNING, NULL, (void *)UINTPTR_MAX, "look", "<b>");
    EXPECT_OK(bg__report_set_outline(report, parsed(OUTLINE)));
    for (int i = 0; i < 3; i++)
        assert_true(cJSON_AddItemToArray(bg__report_part(report, names[i]), parsed(items[i])));
    return report;
}

FILE_TEST(test_round_trip)
{
    OWN_REPORT(report, make_full());
    OWNED_REPORT(again);
    const char *first = json_of(report);
    EXPECT_OK(bg_report_read(&again, test_file));
    assert_int_equal(bg_report_count(again), 3);
    EXPECT_IS(finding_of(again, 0), .kind = "freed", .severity = BG_FAULT, .call = "rope#3", .file = "model.c",
              .line = 42, .address = (void *)0x1000, .advice = "keep it");
    assert_string_equal(first, json_of(again));
}

/* A finding about several calls has their names in JSON, and the first of them in text. */
FILE_TEST(test_others)
{
    static const char *const names[] = {"rope#0", "host function#1", "rope#2", "rope#3", "rope#4"};
    OWN_REPORT(report, make_report());
    OWNED_REPORT(again);
    bg__finding_calls about = {.calls = NULL};
    bg__call calls[5];

    for (int i = 0; i < 10; i++) { /* each twice */
        calls[i % 5] = (bg__call){.name = (char *)(uintptr_t)names[i % 5]};
        EXPECT_OK(bg__finding_calls_add(&about, &calls[i % 5]));
    }
    bg__report_add_for_calls(report, "freed", BG_FAULT, &about, NULL, "keep it", "the block is gone");
    EXPECT_IN(json_of(report), "[\"host function#1\", \"rope#2\", \"rope#3\", \"rope#4\"]");
    EXPECT_OK(bg_report_read(&again, test_file));
    assert_string_equal(finding_of(again, 0).others, "host function#1, rope#2, rope#3, rope#4");
    EXPECT_IN(written(again, BG_TEXT), "rope#0, host function#1, rope#2, rope#3 and 1 more: the block is gone");
    bg__finding_calls_free(&about);
    expect_refused("{\"breakgraph\": \"0\", \"report_version\": 2, \"tool\": \"check\", \"graph\": \"g\", \"lost\": 0, "
                   "\"findings\": [{\"kind\": \"freed\", \"severity\": \"fault\", \"call\": \"\", \"file\": \"\", "
                   "\"line\": 0, \"address\": null, \"message\": \"\", \"advice\": \"\", \"others\": 1}]}",
                   BG_ERROR_IO, "others");
}

FILE_TEST(test_text_again)
{
    OWN_REPORT(report, read_text(REPORT("\"findings\": [" FREED "], \"lost\": 2")));
    assert_string_equal(written(report, BG_TEXT),
                        "t of g: 1 finding\nfault [freed]: m\n2 more findings were lost: out of host memory\n");
}

/* What a newer writer may have added is ignored; of two members of a name the first counts. */
FILE_TEST(test_unknown_members)
{
    OWN_REPORT(report, read_text(REPORT("\"tool\": 7, \"newer\": [[[{}]]], \"findings\": [{\"kind\": \"freed\", "
                                        "\"severity\": \"fault\", \"message\": \"m\", \"newer\": 1, \"kind\": 2}], "
                                        "\"trials\": [{\"verdict\": \"bad\"}], \"trials\": 7, \"outline\": {}")));
    const char *text = json_of(report);
    EXPECT_NOT_IN(text, "newer");
    EXPECT_IN(text, "\"tool\":\t\"t\"|\"freed\"");
    assert_int_equal(count_of(report, "trials"), 1);
}

/* What only the page reads goes there as it is, whatever it is; with others it becomes one report. */
FILE_TEST(test_parts_of_any_form)
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
    OWN_REPORT(all, make_report());
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char json[400];
        snprintf(json, sizeof json, PARTS("%s"), parts[i]);
        OWN_REPORT(report, read_text(json));
        (void)written(report, BG_HTML);
        EXPECT_OK(bg_report_merge(all, report));
    }
    assert_int_equal(count_of(all, "comparisons"), 5);
    assert_int_equal(count_of(all, "trials"), 3);
    assert_int_equal(count_of(all, "timings"), 2);
}

FILE_TEST(test_versions)
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

FILE_TEST(test_no_json)
{
    static const char cut[] = "{\"report_version\": 2,\n\"tool\": \"t\",\n\"gra";
    static const char inside[] = "{\0\"report_version\": 2, \"tool\": \"t\", \"graph\": \"g\", \"findings\": []}";
    bg_report *report = NULL;
    OWN_TEXT(deep, malloc(TEXT_BYTES + 1));
    expect_refused("", BG_ERROR_IO, "not JSON");
    expect_refused(cut, BG_ERROR_IO, "(line 3)");
    expect_refused(REPORT("\"findings\": []") " {}", BG_ERROR_IO, "not JSON");
    write_file(test_file, inside, sizeof inside - 1);
    EXPECT_STATUS(bg_report_read(&report, test_file), BG_ERROR_IO);
    assert_non_null(deep);
    memset(deep, '[', TEXT_BYTES);
    deep[TEXT_BYTES] = '\0';
    expect_refused(deep, BG_ERROR_IO, "not JSON");
    for (int i = 0; i < TEXT_BYTES; i += 5)
        memcpy(deep + i, "{\"a\":", i + 5 <= TEXT_BYTES ? 5 : TEXT_BYTES - i);
    expect_refused(deep, BG_ERROR_IO, "not JSON");
}

FILE_TEST(test_no_file)
{
    bg_report *report = (bg_report *)test_file;
    EXPECT_STATUS(bg_report_read(&report, test_file), BG_ERROR_IO);
    assert_null(report);
    EXPECT_ERROR("No such file");
    EXPECT_STATUS(bg_report_read(&report, test_directory), BG_ERROR_IO);
    EXPECT_ERROR("directory");
    EXPECT_STATUS(bg_report_read(&report, "/dev/zero"), BG_ERROR_IO);
    EXPECT_ERROR("/dev/zero cannot be read: it is a device, not a file; name a regular file");
    write_file(test_file, "", 0);
    assert_int_equal(truncate(test_file, ((off_t)256 << 20) + 1), 0);
    EXPECT_STATUS(bg_report_read(&report, test_file), BG_ERROR_IO);
    EXPECT_ERROR("larger than 256 MiB");
    EXPECT_STATUS(bg_report_read(NULL, test_file), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_report_read(&report, NULL), BG_ERROR_INVALID_ARGUMENT);
}

FILE_TEST(test_wrong_forms)
{
    static const struct {
        const char *json, *why;
    } cases[] = {
        {REPORT("\"lost\": 0"), "findings is not a list of objects"},
        {REPORT("\"findings\": {}"), "findings is not a list of objects"},
        {REPORT("\"findings\": [" FREED ", 7]"), "findings is not a list of objects"},
        {REPORT("\"findings\": [], \"lost\": \"2\""), "lost is not a whole number"},
        {REPORT("\"findings\": [], \"lost\": 1e300"), "lost is not a whole number"},
        {"{\"report_version\": 2, \"graph\": \"g\", \"findings\": []}", "tool is missing"},
        {"{\"report_version\": 2, \"tool\": null, \"graph\": \"g\", \"findings\": []}", "tool is not a string"},
        {"{\"report_version\": 2, \"tool\": \"t\", \"graph\": [], \"findings\": []}", "graph is not a string"},
        {REPORT("\"findings\": [{\"kind\": \"k\", \"severity\": \"fault\"}]"), "findings[0].message is missing"},
        {REPORT("\"findings\": [{\"kind\": 1}]"), "findings[0].kind is not a string"},
        {REPORT("\"findings\": [" FREED ", {\"kind\": \"k\"}]"), "findings[1].severity is missing"},
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
FILE_TEST(test_damaged)
{
    OWN_REPORT(full, make_full());
    OWN_TEXT(json, strdup(json_of(full)));
    bg_report *report;
    size_t size = strlen(json);
    int good = 0, refused = 0;
    for (size_t i = 0; i < size; i++) {
        for (int way = 0; way < 3; way++) {
            char kept = json[i];
            json[i] = "0\"["[way];
            write_file(test_file, json, size);
            json[i] = kept;
            if (bg_report_read(&report, test_file) != BG_OK) {
                assert_null(report);
                refused++;
                continue;
            }
            if (good++ % 16 == 0) /* a file takes its time */
                (void)written(report, BG_HTML);
            bg_report_destroy(report);
        }
        write_file(test_file, json, i);
        EXPECT_STATUS(bg_report_read(&report, test_file),
                      i + 1 < size ? BG_ERROR_IO : BG_OK); /* the last is a newline */
        bg_report_destroy(report);
    }
    assert_true(good > 0 && refused > 0);
}

FILE_TEST(test_merge)
{
    OWN_REPORT(report, make_report());
    bg_report *from = make_full();
    const char *before = json_of(from);
    bg__report_add(report, "freed", BG_FAULT, &rope_call, (void *)0x1000, "keep it",
                   "a \"quoted\" \\ line\nand \xc3\xa9");
    for (int i = 0; i < 2; i++) {
        EXPECT_OK(bg_report_merge(report, from));
        assert_int_equal(bg_report_count(report), 3); /* one of them was there */
    }
    assert_int_equal(count_of(report, "comparisons"), 2);
    assert_int_equal(count_of(report, "trials"), 2);
    assert_int_equal(count_of(report, "timings"), 2);
    assert_string_equal(before, json_of(from)); /* as it was */
    bg_report_destroy(from);                    /* nothing of it is lent */
    EXPECT_IN(json_of(report), "worth knowing|rope#3");
}

FILE_TEST(test_merge_outline)
{
    OWN_REPORT(report, make_report());
    OWN_REPORT(from, make_full());
    OWN_REPORT(other, make_report());
    EXPECT_OK(bg__report_set_outline(other, parsed("{\"name\": \"other\"}")));
    EXPECT_OK(bg_report_merge(report, from));
    EXPECT_OK(bg_report_merge(report, other));
    OWN_JSON(root, parsed(json_of(report)));
    assert_string_equal(string_of(member(root, "outline"), "name"), "decode");
    EXPECT_STATUS(bg_report_merge(report, report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_report_merge(NULL, from), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_report_merge(report, NULL), BG_ERROR_INVALID_ARGUMENT);
}

FILE_TEST(test_merge_lost)
{
    OWN_REPORT(report, read_text(REPORT("\"findings\": [], \"lost\": 2147483647")));
    OWN_REPORT(from, read_text(REPORT("\"findings\": [], \"lost\": 2")));
    EXPECT_OK(bg_report_merge(from, report));
    EXPECT_IN(json_of(from), "\t2147483647");
}
