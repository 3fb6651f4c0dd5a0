/* Reports of several graphs: what is of each of them stays apart when reports become one. */
#include "tests/support/tools/report_support.h"

#include "debug/report/report_data.h"

#include <stdlib.h>
#include <string.h>

/* A report with a finding, an outline of that many breaks, a comparison and a timing. */
static bg_report *make(const char *graph, int breaks)
{
    char outline[160];
    bg_report *report;
    snprintf(
        outline, sizeof outline,
        "{\"name\": \"%s\", \"capture_ms\": 1, \"steps\": [{\"kind\": \"launch\", \"segment\": %d}], \"calls\": []}",
        graph, breaks);
    EXPECT_OK(bg__report_create(&report, "shadow", graph));
    bg__report_add(report, "race", BG_WARNING, &rope_call, NULL, "join it", "a race");
    EXPECT_OK(bg__report_set_outline(report, parsed(outline)));
    assert_true(cJSON_AddItemToArray(bg__report_part(report, "comparisons"), parsed("{\"call\": \"rope#3\"}")));
    assert_true(cJSON_AddItemToArray(bg__report_part(report, "timings"), parsed("{\"what\": \"segment 0\"}")));
    return report;
}

static void merge(bg_report *report, bg_report *from)
{
    EXPECT_OK(bg_report_merge(report, from));
    bg_report_destroy(from);
}

/* The graphs of the items of a list, "" for the report's own: "decode 8, decode 16". */
static void expect_graphs(const bg_report *report, const char *part, const char *member, const char *expected)
{
    cJSON *root = NULL, *item;
    char text[200] = "";
    const char *between = "";
    EXPECT_OK(bg__report_to_json(report, &root));
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, part))
    {
        const char *graph = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, member));
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", between, graph != NULL ? graph : "own");
        between = ", ";
    }
    assert_string_equal(text, expected);
    cJSON_Delete(root);
}

static void expect_parts(const bg_report *report, const char *expected)
{
    expect_graphs(report, "findings", "graph", expected);
    expect_graphs(report, "comparisons", "graph", expected);
    expect_graphs(report, "timings", "graph", expected);
}

/* The same finding on the same call of another graph is another finding. */
TEST(test_apart)
{
    OWN_REPORT(report, make("decode 1", 1));
    bg_report *two = make("decode 8", 1);
    merge(two, make("decode 16", 1));
    merge(report, two);
    expect_parts(report, "own, decode 8, decode 16");
    expect_graphs(report, "outlines", "name", "decode 8, decode 16");
    assert_string_equal(finding_of(report, 0).graph, "decode 1");
    assert_string_equal(finding_of(report, 2).graph, "decode 16");
}

/* A row of the report's own graph, from a report of another one, is the report's own again. */
TEST(test_back)
{
    OWN_REPORT(report, make("decode 1", 1));
    bg_report *two = make("decode 8", 1);
    merge(two, make("decode 1", 1));
    merge(report, two);
    expect_graphs(report, "comparisons", "graph", "own, decode 8, own");
    expect_graphs(report, "findings", "graph", "own, decode 8");
    expect_graphs(report, "outlines", "name", "decode 8");
}

/* Graphs that the program gave no names. */
TEST(test_same_name)
{
    OWN_REPORT(report, make("graph", 1));
    merge(report, make("graph", 2));
    merge(report, make("graph", 1));
    merge(report, make("graph", 3));
    merge(report, make("graph", 2));
    expect_graphs(report, "outlines", "name", "graph (2), graph (3)");
    expect_graphs(report, "comparisons", "graph", "own, graph (2), own, graph (3), graph (2)");
    expect_graphs(report, "findings", "graph", "own, graph (2), graph (3)");
}

/* A graph that an earlier merge has numbered is one that the report has without a number. */
TEST(test_numbered)
{
    OWN_REPORT(report, make("graph", 2));
    bg_report *merged = make("graph", 1);
    merge(merged, make("graph", 2));
    merge(merged, make("graph", 3));
    merge(report, merged);
    expect_graphs(report, "outlines", "name", "graph (2), graph (3)");
    expect_graphs(report, "comparisons", "graph", "own, graph (2), own, graph (3)");
}

TEST(test_no_graph)
{
    OWN_REPORT(report, make("decode 1", 1));
    bg_report *broken;
    EXPECT_OK(bg__report_create(&broken, "capture", ""));
    bg__report_add(broken, "capture-broken", BG_WARNING, NULL, NULL, "", "a capture broke");
    merge(report, broken);
    expect_graphs(report, "findings", "graph", "own, ");
    assert_string_equal(finding_of(report, 1).graph, "");
}

FILE_TEST(test_files)
{
    OWN_TEXT(first, NULL);
    OWN_TEXT(second, NULL);
    OWN_TEXT(text, NULL);
    OWN_REPORT(report, make("decode 1", 1));
    OWNED_REPORT(again);
    size_t bytes;
    merge(report, make("decode 8", 2));
    EXPECT_OK(bg_report_write(report, BG_JSON, test_file));
    EXPECT_OK(bg_report_read(&again, test_file));
    EXPECT_OK(bg__report_json_text(report, false, &first));
    EXPECT_OK(bg__report_json_text(again, false, &second));
    assert_string_equal(first, second);
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    bg__report_print(again, out);
    assert_int_equal(fclose(out), 0);
    EXPECT_IN(text, "rope#3 at model.c:42: a race|rope#3 at model.c:42, graph decode 8: a race");
}
