/* Pages of reports: whole, alone, and broken by nothing that a report holds. test_page.sh opens them in a browser. */
#include "tests/support/tools/report_support.h"

#include <stdlib.h>
#include <string.h>

static bg_report *make(void)
{
    bg_report *report = make_report();
    bg__report_add(report, "freed", BG_FAULT, &rope_call, NULL, "keep it", "it is gone");
    return report;
}

/* What stands between the two in text; the caller frees it. */
static char *between(const char *text, const char *before, const char *after)
{
    const char *from = strstr(text, before), *to;
    assert_non_null(from);
    from += strlen(before);
    to = strstr(from, after);
    assert_non_null(to);
    return strndup(from, (size_t)(to - from));
}

static int occurrences(const char *text, const char *of)
{
    int count = 0;
    while ((text = strstr(text, of)) != NULL) {
        count++;
        text += strlen(of);
    }
    return count;
}

/* The page holds the report as it is, and each element of the page once, whatever the report holds. */
FILE_TEST(test_page_escapes)
{
    static const char hostile[] =
        "</script><!-- <script> </noscript> </title> & \xe2\x80\xa8 \xe2\x80\xa9 ]]> ' \\u003c";
    OWNED_REPORT(report);
    EXPECT_OK(bg__report_create(&report, hostile, hostile));
    bg__report_add(report, hostile, BG_FAULT, &rope_call, NULL, hostile, "%s", hostile);
    const char *page = written(report, BG_HTML);
    assert_int_equal(occurrences(page, "<script"), 2);
    assert_int_equal(occurrences(page, "</script>"), 2);
    assert_int_equal(occurrences(page, "</noscript>"), 1);
    assert_int_equal(occurrences(page, "</title>"), 1);
    EXPECT_NOT_IN(page, "<!--");
    OWN_TEXT(json, between(page, "id=\"report\">", "</script>"));
    EXPECT_NOT_IN(json, "<|\xe2\x80");
    OWN_JSON(root, parsed(json));
    assert_string_equal(string_of(root, "tool"), hostile);
    assert_string_equal(finding_of(report, 0).message, hostile);
    OWN_TEXT(text, between(page, "<noscript>", "</noscript>"));
    EXPECT_IN(text, "&lt;/script&gt;&lt;!-- |at model.c:42");
}

/* One file that asks the network for nothing. */
FILE_TEST(test_page_alone)
{
    OWN_REPORT(report, make());
    const char *page = written(report, BG_HTML);
    OWN_TEXT(title, between(page, "<title>\n", "\n</title>"));
    assert_string_equal(title, "check of decode: 1 finding");
    EXPECT_NOT_IN(page, "src=|@import|url(|https:|@REPORT@|@TEXT@");
    EXPECT_IN(page, "default-src 'none'");
}

FILE_TEST(test_page_whole_or_not)
{
    OWN_REPORT(report, make());
    write_file(test_file, "old", 3);
    EXPECT_STATUS(write_limited(report, BG_HTML, 8192), BG_ERROR_IO); /* the page begins to fit */
    EXPECT_ERROR(test_file);
    OWN_TEXT(text, read_file(test_file, NULL));
    assert_string_equal(text, "old");
}
