/* The runners of a report: which schedules are proposed for them, what these need, and rows that are malformed. */
#include "tests/support/tools/finding_support.h"
#include "tests/support/tools/json_support.h"

#include "debug/files/json.h"
#include "debug/report/report.h"
#include "debug/report/report_data.h"
#include "debug/report/runners/runners_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row with the members that matter here. */
#define ROW(name, more)                                                                                                \
    "{\"name\": \"" name "\", \"pid\": 1, \"mode\": \"piecewise\", \"schedule\": \"8,16\", \"sizes\": [8, 16], "       \
    "\"max_tokens\": 16, \"batches\": 30, \"replayed\": 30, \"variants\": 2" more "}"
#define FAMILY(query_len, batches) "{\"query_len\": " query_len ", \"mode\": \"full\", \"batches\": [" batches "]}"
#define FAMILIES(list)             ", \"families\": [" list "]"
#define BUCKET(tokens, captured, pool, graph)                                                                          \
    "{\"query_len\": 0, \"tokens\": " tokens ", \"captured\": " captured ", \"pool_bytes\": " pool                     \
    ", \"graph_bytes\": " graph ", \"capture_ms\": 1}"
#define SIZES "[3, 10, 0], [9, 20, 0]"

static bg_report *report_of(const char *rows)
{
    bg_report *report = NULL;
    EXPECT_OK(bg__report_create(&report, "runner", "runner#0"));
    report->parts = cJSON_CreateObject();
    assert_true(cJSON_AddItemToObject(report->parts, "runners", cJSON_Parse(rows)));
    return report;
}

static const cJSON *row_of(const bg_report *report, int index)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(report->parts, "runners"), index);
}

static const cJSON *schedules_of(const bg_report *report, int row)
{
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(row_of(report, row), "schedules"), "list");
}

static const cJSON *propose(bg_report *report, double cover)
{
    EXPECT_OK(bg_report_propose_schedules(report, cover));
    return schedules_of(report, 0);
}

static void expect_sizes(const cJSON *schedule, const char *expected)
{
    char *text = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(schedule, "sizes"));
    assert_string_equal(text, expected);
    cJSON_free(text);
}

TEST(test_list)
{
    OWN_REPORT(report, report_of("[" ROW("runner#0", FAMILIES(FAMILY("0", SIZES))) "]"));

    const cJSON *list = propose(report, 100);
    assert_int_equal(cJSON_GetArraySize(list), 3); /* in use, one size, two */
    expect_sizes(cJSON_GetArrayItem(list, 0), "[8,16]");
    assert_true(cJSON_IsTrue(member(cJSON_GetArrayItem(list, 0), "now")));
    assert_true(number_of(cJSON_GetArrayItem(list, 0), "padding_rows") == 10 * 5 + 20 * 7);
    expect_sizes(cJSON_GetArrayItem(list, 1), "[9]");
    assert_true(number_of(cJSON_GetArrayItem(list, 1), "padding_rows") == 10 * 6);
    assert_true(number_of(cJSON_GetArrayItem(list, 1), "buckets") == 2); /* of two variants */
    expect_sizes(cJSON_GetArrayItem(list, 2), "[3,9]");
    assert_true(cJSON_IsTrue(member(cJSON_GetArrayItem(list, 2), "recommended")));
    list = propose(report, 30); /* again: only the small ones */
    assert_int_equal(cJSON_GetArraySize(list), 2);
    expect_sizes(cJSON_GetArrayItem(list, 1), "[3]");
    assert_true(number_of(cJSON_GetArrayItem(list, 1), "batches") == 10);
}

/* One size of 9 tokens pads fewer rows, since it leaves the batches of 3 to run eagerly. */
TEST(test_max_padding)
{
    OWN_REPORT(report, report_of("[" ROW("runner#0", ", \"max_padding\": 1.5" FAMILIES(
                                                         FAMILY("0", "[3, 10, 0], [8, 1, 0], [9, 20, 0]"))) "]"));

    const cJSON *list = propose(report, 100);
    expect_sizes(cJSON_GetArrayItem(list, 1), "[9]");
    assert_true(number_of(cJSON_GetArrayItem(list, 1), "batches") == 21);
    assert_true(number_of(cJSON_GetArrayItem(list, 1), "padding_rows") == 1);
    expect_sizes(cJSON_GetArrayItem(list, 2), "[3,9]");
    assert_true(cJSON_IsTrue(member(cJSON_GetArrayItem(list, 2), "recommended")));
}

/* Sizes that were not captured are taken to need what lies between two that were; the pool is that of the largest. */
TEST(test_memory)
{
    OWN_REPORT(report,
               report_of("[" ROW(
                   "runner#0",
                   FAMILIES(FAMILY("0", "[4, 1, 0], [12, 1, 0], [16, 1, 0]")) ", \"buckets\": [" BUCKET(
                       "16", "true", "1600",
                       "10") ", " BUCKET("8", "true", "800", "6") ", " BUCKET("12", "false", "9999", "9999") "]") "]"));

    const cJSON *list = propose(report, 100);
    assert_true(number_of(cJSON_GetArrayItem(list, 0), "pool_bytes") == 1600);
    assert_true(number_of(cJSON_GetArrayItem(list, 0), "graph_bytes") == 2 * (10 + 6));
    expect_sizes(cJSON_GetArrayItem(list, 3), "[4,12,16]");
    assert_true(number_of(cJSON_GetArrayItem(list, 3), "pool_bytes") == 1600);
    assert_true(number_of(cJSON_GetArrayItem(list, 3), "graph_bytes") == 2 * (6 + 8 + 10));
    assert_true(number_of(cJSON_GetArrayItem(list, 3), "capture_ms") == 2 * 3);
    list = propose(report, 60);
    expect_sizes(cJSON_GetArrayItem(list, 1), "[12]");
    assert_true(number_of(cJSON_GetArrayItem(list, 1), "pool_bytes") == 1200);
}

/* All ranks must have the same schedule; runners of other names have their own. */
TEST(test_ranks)
{
    OWN_REPORT(
        report,
        report_of("[" ROW("runner#0", ", \"rank\": 0, \"ranks\": 2" FAMILIES(FAMILY("0", "[3, 10, 0]"))) ", " ROW(
            "runner#1",
            ", \"rank\": 0, \"ranks\": 2" FAMILIES(
                FAMILY("0", "[5, 1, 0]"))) ", " ROW("runner#0",
                                                    ", \"rank\": 1, \"ranks\": 2" FAMILIES(FAMILY("0", SIZES))) "]"));

    EXPECT_OK(bg_report_propose_schedules(report, 100));
    expect_sizes(cJSON_GetArrayItem(schedules_of(report, 0), 2), "[3,9]");
    assert_true(number_of(cJSON_GetArrayItem(schedules_of(report, 0), 2), "batches") == 40);
    expect_sizes(cJSON_GetArrayItem(schedules_of(report, 1), 1), "[5]");
    assert_null(schedules_of(report, 2));
}

static void expect_why(const char *rows, const char *why)
{
    OWN_REPORT(report, report_of(rows));
    EXPECT_OK(bg_report_propose_schedules(report, 100));
    assert_string_equal(string_of(member(row_of(report, 0), "schedules"), "why"), why);
}

TEST(test_none)
{
    expect_why("[{\"mode\": \"none\", \"batches\": 5, \"max_tokens\": 8}]",
               "the runner has mode none, which has no buckets; choose another mode");
    expect_why("[{}]", "no batch has run yet");
    expect_why("[" ROW("runner#0", FAMILIES(FAMILY("0", "[3, 10, 10]"))) "]",
               "all batches ran eagerly for other reasons than their size");
}

TEST(test_arguments)
{
    static const double covers[] = {0, -1, 100.1};
    OWN_REPORT(report, report_of("[]"));
    OWNED_REPORT(other);

    for (size_t i = 0; i < sizeof covers / sizeof *covers; i++) {
        EXPECT_STATUS(bg_report_propose_schedules(report, covers[i]), BG_ERROR_INVALID_ARGUMENT);
        EXPECT_ERROR("allowed are numbers above 0, up to 100");
    }
    EXPECT_STATUS(bg_report_propose_schedules(NULL, 100), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_report_propose_schedules(report, 100), BG_ERROR_NOT_FOUND);
    EXPECT_OK(bg__report_create(&other, "check", ""));
    EXPECT_STATUS(bg_report_propose_schedules(other, 100), BG_ERROR_NOT_FOUND);
}

/* A row that cannot be judged says so; the others have their schedules. */
TEST(test_malformed)
{
    static const char *const rows[] = {
        ROW("runner#0", FAMILIES(FAMILY("0", "[17, 1, 0]"))),   /* above max_tokens */
        ROW("runner#0", FAMILIES(FAMILY("0", "[1, 1, 2]"))),    /* more of them than there are */
        ROW("runner#0", FAMILIES(FAMILY("0", "[1, 1e18, 0]"))), /* too many to add up */
        ROW("runner#0", FAMILIES(FAMILY("0", "[1, \"2\", 0]"))),
        ROW("runner#0", FAMILIES(FAMILY("0", "7"))),
        ROW("runner#0", FAMILIES(FAMILY("17", "[3, 1, 0]"))),
        ROW("runner#0", ", \"padding_rows\": 1e999" FAMILIES(FAMILY("0", SIZES))),
        ROW("runner#0", ", \"largest\": 1e300" FAMILIES(FAMILY("0", SIZES))),
        ROW("runner#0", FAMILIES(FAMILY("0", SIZES)) ", \"buckets\": [" BUCKET("8", "true", "-1", "0") "]"),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        snprintf(text, sizeof text, "[%s, %s]", rows[i], ROW("runner#1", FAMILIES(FAMILY("0", SIZES))));
        OWN_REPORT(report, report_of(text));
        EXPECT_OK(bg_report_propose_schedules(report, 100));
        assert_null(schedules_of(report, 0));
        EXPECT_IN(string_of(member(row_of(report, 0), "schedules"), "why"), "the report's runner#0 has");
        assert_int_equal(cJSON_GetArraySize(schedules_of(report, 1)), 3);
    }
}

/* Padded up to the batches of other ranks, decode batches are no whole requests; above 12 tokens no bucket for
 * 4 tokens a request holds them, but a mixed one. */
TEST(test_across_ranks)
{
    OWN_REPORT(report, report_of("[{\"name\": \"runner#0\", \"mode\": \"full_and_piecewise\", \"sizes\": [5, 14], "
                                 "\"max_tokens\": 14, \"batches\": 18" FAMILIES(
                                     FAMILY("0", "[2, 5, 0]") ", " FAMILY("4", "[5, 10, 0], [13, 3, 0]")) "}]"));

    const cJSON *list = propose(report, 100);
    assert_true(number_of(cJSON_GetArrayItem(list, 0), "batches") == 18);
    assert_true(number_of(cJSON_GetArrayItem(list, 0), "padding_rows") == 5 * 3 + 10 * 3 + 3 * 1);
    expect_sizes(cJSON_GetArrayItem(list, cJSON_GetArraySize(list) - 1), "[2,8,13]");
    assert_true(number_of(cJSON_GetArrayItem(list, cJSON_GetArraySize(list) - 1), "padding_rows") == 10 * 3);
}

/* Two jobs in one directory: each has its own schedules, whether their configurations differ or not. */
TEST(test_jobs)
{
#define RANK(rank, more) ROW("runner#0", ", \"rank\": " rank ", \"ranks\": 2" FAMILIES(FAMILY("0", "[3, 1, 0]")) more)
    static const char *const others[] = {"", ", \"max_padding\": 3"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[2048];
        snprintf(text, sizeof text, "[%s, %s, %s%s}, %s%s}]", RANK("0", ""), RANK("1", ""),
                 "{\"name\": \"runner#0\", \"rank\": 1, \"ranks\": 2, \"mode\": \"piecewise\", \"sizes\": [8, 16], "
                 "\"max_tokens\": 16, \"batches\": 7, \"variants\": 2" FAMILIES(FAMILY("0", "[3, 7, 0]")),
                 others[i],
                 "{\"name\": \"runner#0\", \"rank\": 0, \"ranks\": 2, \"mode\": \"piecewise\", \"sizes\": [8, 16], "
                 "\"max_tokens\": 16, \"batches\": 9, \"variants\": 2" FAMILIES(FAMILY("0", "[3, 9, 0]")),
                 others[i]);
        OWN_REPORT(report, report_of(text));
        EXPECT_OK(bg_report_propose_schedules(report, 100));
        assert_true(number_of(cJSON_GetArrayItem(schedules_of(report, 0), 0), "batches") == 2);
        assert_null(schedules_of(report, 1));
        assert_true(number_of(cJSON_GetArrayItem(schedules_of(report, 2), 0), "batches") == 16);
        assert_null(schedules_of(report, 3));
    }
}

static bool has_recommended(const bg_report *report)
{
    const cJSON *schedule;
    cJSON_ArrayForEach(schedule, schedules_of(report, 0))
    {
        if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(schedule, "recommended")))
            return true;
    }
    return false;
}

/* A row of the sizes 1 to `now`, with batches of the sizes 1 to `small`, `each` times, and of 100, 200 to large * 100.
 */
static bg_report *make_row(int now, int small, int each, int large, double max_padding)
{
    bg_report *report =
        report_of("[{\"name\": \"runner#0\", \"mode\": \"piecewise\", \"max_tokens\": 10000, \"batches\": 9, "
                  "\"families\": [{\"query_len\": 0, \"mode\": \"piecewise\", \"batches\": []}]}]");
    cJSON *row = cJSON_GetObjectItem(report->parts, "runners")->child, *sizes = cJSON_AddArrayToObject(row, "sizes");
    cJSON *batches = cJSON_GetObjectItem(cJSON_GetObjectItem(row, "families")->child, "batches");

    cJSON_AddNumberToObject(row, "max_padding", max_padding);
    for (int i = 1; i <= now; i++)
        cJSON_AddItemToArray(sizes, cJSON_CreateNumber(i));
    for (int i = 1; i <= small; i++)
        cJSON_AddItemToArray(batches, cJSON_CreateIntArray((int[]){i, each, 0}, 3));
    for (int i = 1; i <= large; i++)
        cJSON_AddItemToArray(batches, cJSON_CreateIntArray((int[]){100 * i, 1, 0}, 3));
    return report;
}

/* Longer than any that is looked for, and without padding: none is better. */
TEST(test_long_now)
{
    OWN_REPORT(report, make_row(600, 600, 1, 0, 0));
    assert_true(number_of(cJSON_GetArrayItem(propose(report, 100), 0), "padding_rows") == 0);
    assert_false(has_recommended(report));
}

/* The sizes that pad least leave many small batches to run eagerly, which the schedule in use does not. */
TEST(test_fewer_batches)
{
    OWN_REPORT(report, make_row(20, 20, 10, 70, 1.01));
    assert_true(number_of(cJSON_GetArrayItem(propose(report, 100), 0), "batches") == 200);
    assert_false(has_recommended(report));
    EXPECT_OK(bg_report_propose_schedules(report, 10)); /* so much is all that is asked for */
    assert_true(has_recommended(report));
}

/* A decode batch whose own bucket pads too much goes to a mixed one: 4 tokens to 5, not to 8. */
TEST(test_decode_in_mixed)
{
    OWN_REPORT(
        report,
        report_of("[{\"name\": \"runner#0\", \"mode\": \"full_and_piecewise\", \"sizes\": [5, 12], \"max_tokens\": 12, "
                  "\"batches\": 4, \"max_padding\": 1.3" FAMILIES(FAMILY("0", "") ", " FAMILY("4", "[4, 4, 0]")) "}]"));

    assert_true(number_of(cJSON_GetArrayItem(propose(report, 100), 0), "batches") == 4);
}

/* What was never captured is told by what it is; a malformed list does no harm. */
TEST(test_misses)
{
    OWN_REPORT(report,
               report_of("[" ROW("runner#0",
                                 ", \"missed\": [{\"query_len\": 3, \"variant\": 2, \"batches\": 12}, {\"variant\": 1, "
                                 "\"batches\": 1}, 7, \"x\"]" FAMILIES("")) "]"));
    OWN_TEXT(text, NULL);
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    assert_non_null(out);
    bg__runners_print(cJSON_GetObjectItem(report->parts, "runners"), out);
    assert_int_equal(fclose(out), 0);
    EXPECT_IN(text, "\n    never captured: 12 batches of query length 3 (max_query_len), variant 2 (variants)\n|"
                    "\n    never captured: 1 batch of variant 1 (variants)\n");
}
