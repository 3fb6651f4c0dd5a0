#include "finding_support.h"

#include <string.h>
#include <unistd.h>

static void print_all(const bg_report *report)
{
    for (int i = 0; i < bg_report_count(report); i++) {
        bg_finding finding = BG_FINDING_INIT;
        EXPECT_OK(bg_report_get(report, i, &finding));
        print_error("[%s] %s at %s:%d: %s\n", finding.kind, finding.call, finding.file, finding.line, finding.message);
    }
}

static bool is_expected(const bg_finding *finding, const char *kind, const char *call, int at, const char *text,
                        const char *file)
{
    bool placed = at == 0 || (finding->line == at && strcmp(finding->file, file) == 0);
    return strcmp(finding->kind, kind) == 0 && strcmp(finding->call, call) == 0 && placed &&
           strstr(finding->message, text) != NULL;
}

void expect_finding(bg_report *report, const char *kind, const char *call, int at, const char *text, const char *file,
                    int line)
{
    bg_finding finding = BG_FINDING_INIT;
    bool good = bg_report_count(report) == 1 && bg_report_get(report, 0, &finding) == BG_OK &&
                is_expected(&finding, kind, call, at, text, file);
    if (!good) {
        print_error("expected one finding, [%s] %s at line %d: ...%s...; found %d:\n", kind, call, at, text,
                    bg_report_count(report));
        print_all(report);
    }
    bg_report_destroy(report);
    if (!good)
        _fail(file, line);
}

void expect_no_finding(bg_report *report, const char *file, int line)
{
    int count = bg_report_count(report);
    if (count > 0) {
        print_error("expected no finding, found %d:\n", count);
        print_all(report);
    }
    bg_report_destroy(report);
    if (count > 0)
        _fail(file, line);
}

static int kept;

FILE *keep_errors(void)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    kept = dup(STDERR_FILENO);
    fflush(stderr);
    assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    return file;
}

char *kept_errors(FILE *file, char *text, size_t bytes)
{
    size_t length;
    fflush(stderr);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    assert_int_equal(close(kept), 0);
    rewind(file);
    length = fread(text, 1, bytes - 1, file);
    text[length] = '\0';
    assert_int_equal(fclose(file), 0);
    return text;
}
