/* Reports. What is read is in bounds, and the same when it was written and read again; its page holds no markup of the
 * report's. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "debug/report/report.h"
#include "debug/report/report_data.h"

static void expect_findings(const bg_report *report)
{
    bg_finding finding = BG_FINDING_INIT;
    bg_severity last = BG_FAULT;
    int count = bg_report_count(report);
    FUZZ_EXPECT(count >= 0);
    for (int i = 0; i < count; i++) {
        FUZZ_EXPECT(bg_report_get(report, i, &finding) == BG_OK);
        FUZZ_EXPECT(finding.severity >= BG_NOTE && finding.severity <= last); /* faults first */
        FUZZ_EXPECT(finding.kind && finding.call && finding.file && finding.message && finding.advice);
        last = finding.severity;
    }
    FUZZ_EXPECT(bg_report_get(report, count, &finding) == BG_ERROR_NOT_FOUND);
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        count++;
    return count;
}

static void expect_page(const bg_report *report)
{
    static size_t scripts; /* of any page */
    char *page = NULL;
    size_t bytes;
    FILE *memory = open_memstream(&page, &bytes);
    FUZZ_EXPECT(memory != NULL && bg__report_write_page(report, memory) == BG_OK && fclose(memory) == 0);
    FUZZ_EXPECT(strlen(page) == bytes);
    if (scripts == 0)
        scripts = count_of(page, "<script") + count_of(page, "</script") + count_of(page, "<!--");
    FUZZ_EXPECT(count_of(page, "<script") + count_of(page, "</script") + count_of(page, "<!--") == scripts);
    free(page);
}

static void expect_merged(bg_report *report)
{
    bg_report *all = NULL;
    int count;
    FUZZ_EXPECT(bg__report_create(&all, "fuzz", "merged") == BG_OK);
    FUZZ_EXPECT(bg_report_merge(all, report) == BG_OK);
    count = bg_report_count(all);
    FUZZ_EXPECT(count == bg_report_count(report) && bg_report_merge(all, report) == BG_OK);
    FUZZ_EXPECT(bg_report_count(all) == count); /* it has them */
    bg_report_destroy(all);
}

static void expect_same_again(const bg_report *report)
{
    char *first = NULL, *second = NULL;
    bg_report *again = NULL;
    FUZZ_EXPECT(bg__report_json_text(report, true, &first) == BG_OK);
    FUZZ_EXPECT(bg_report_read(&again, fuzz_file((const uint8_t *)first, strlen(first))) == BG_OK);
    FUZZ_EXPECT(bg__report_json_text(again, true, &second) == BG_OK);
    FUZZ_EXPECT(strcmp(first, second) == 0);
    free(first);
    free(second);
    bg_report_destroy(again);
}

/* Again is the same; a row that cannot be read is refused. */
static void expect_schedules(bg_report *report)
{
    char *first = NULL, *second = NULL;
    if (bg_report_propose_schedules(report, 100) != BG_OK)
        return;
    FUZZ_EXPECT(bg__report_json_text(report, true, &first) == BG_OK);
    FUZZ_EXPECT(bg_report_propose_schedules(report, 100) == BG_OK &&
                bg__report_json_text(report, true, &second) == BG_OK);
    FUZZ_EXPECT(strcmp(first, second) == 0);
    free(first);
    free(second);
    expect_page(report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bg_report *report = NULL;
    bg_status status;

    fuzz_forget_error();
    status = bg_report_read(&report, fuzz_file(data, size));
    if (status != BG_OK) {
        fuzz_expect_refused(status);
        FUZZ_EXPECT(report == NULL && (status == BG_ERROR_IO || status == BG_ERROR_UNSUPPORTED));
        return 0;
    }
    expect_findings(report);
    expect_page(report);
    expect_same_again(report);
    expect_merged(report);
    expect_schedules(report);
    bg_report_destroy(report);
    return 0;
}
