/* Pages of reports: whole, alone, and broken by nothing that a report holds. test_page.sh opens them in a browser. */
#include "tests/support/tools/owned.h"

#include "debug/report/report.h"

#include <cjson/cJSON.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TEXT_BYTES = 1 << 18 };

static char directory[64];
static char path[96];

static const bg__call call = {.name = (char *)"rope#3", .site = {"model.c", 42}};

static int setup(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/breakgraph-page.XXXXXX");
    if (mkdtemp(directory) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/report", directory);
    return 0;
}

/* The directory goes only where nothing is left beside the page. */
static int teardown(void **state)
{
    (void)state;
    (void)remove(path);
    return rmdir(directory);
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

static char *page_of(const bg_report *report)
{
    EXPECT_OK(bg_report_write(report, BG_HTML, path));
    return read_all();
}

static bg_report *make(void)
{
    bg_report *report;
    EXPECT_OK(bg__report_create(&report, "check", "decode"));
    bg__report_add(report, "freed", BG_FAULT, &call, NULL, "keep it", "it is gone");
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

#define REPORT_PAGE_TEST(name) TEST_F(name, setup, teardown, void *state)

/* The page holds the report as it is, and each element of the page once, whatever the report holds. */
REPORT_PAGE_TEST(test_page_escapes)
{
    static const char hostile[] =
        "</script><!-- <script> </noscript> </title> & \xe2\x80\xa8 \xe2\x80\xa9 ]]> ' \\u003c";
    OWNED_REPORT(report);
    bg_finding finding = BG_FINDING_INIT;
    EXPECT_OK(bg__report_create(&report, hostile, hostile));
    bg__report_add(report, hostile, BG_FAULT, &call, NULL, hostile, "%s", hostile);
    OWN_TEXT(page, page_of(report));
    assert_int_equal(occurrences(page, "<script"), 2);
    assert_int_equal(occurrences(page, "</script>"), 2);
    assert_int_equal(occurrences(page, "</noscript>"), 1);
    assert_int_equal(occurrences(page, "</title>"), 1);
    assert_int_equal(occurrences(page, "<!--"), 0);
    OWN_TEXT(json, between(page, "id=\"report\">", "</script>"));
    assert_null(strchr(json, '<'));
    assert_null(strstr(json, "\xe2\x80"));
    OWN_JSON(root, cJSON_Parse(json));
    assert_non_null(root);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "tool")), hostile);
    EXPECT_OK(bg_report_get(report, 0, &finding));
    assert_string_equal(finding.message, hostile);
    OWN_TEXT(text, between(page, "<noscript>", "</noscript>"));
    assert_non_null(strstr(text, "&lt;/script&gt;&lt;!-- "));
    assert_non_null(strstr(text, "at model.c:42"));
}

/* One file that asks the network for nothing. */
REPORT_PAGE_TEST(test_page_alone)
{
    OWN_REPORT(report, make());
    char *page = page_of(report), *title = between(page, "<title>\n", "\n</title>");
    assert_string_equal(title, "check of decode: 1 finding");
    assert_null(strstr(page, "src="));
    assert_null(strstr(page, "@import"));
    assert_null(strstr(page, "url("));
    assert_null(strstr(page, "https:"));
    assert_non_null(strstr(page, "default-src 'none'"));
    assert_null(strstr(page, "@REPORT@"));
    assert_null(strstr(page, "@TEXT@"));
    free(title);
    free(page);
}

REPORT_PAGE_TEST(test_page_whole_or_not)
{
    OWN_REPORT(report, make());
    FILE *file = fopen(path, "w");
    struct rlimit limit, small;
    void (*before)(int);
    assert_non_null(file);
    assert_int_equal(fputs("old", file) >= 0 && fclose(file) == 0, 1);
    before = signal(SIGXFSZ, SIG_IGN);
    assert_true(before != SIG_ERR);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 8192; /* the page begins to fit */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bg_status status = bg_report_write(report, BG_HTML, path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_true(signal(SIGXFSZ, before) != SIG_ERR);
    EXPECT_STATUS(status, BG_ERROR_IO);
    EXPECT_ERROR(path);
    OWN_TEXT(text, read_all());
    assert_string_equal(text, "old");
}
