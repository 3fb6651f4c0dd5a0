#include "report_support.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

const bg__call rope_call = {.name = (char *)"rope#3", .site = {"model.c", 42}};

bg_report *make_report(void)
{
    bg_report *report;
    EXPECT_OK(bg__report_create(&report, "check", "decode"));
    return report;
}

const char *written(const bg_report *report, bg_format format)
{
    static char *texts[5];
    static int next;
    next = (next + 1) % 5;
    free(texts[next]);
    texts[next] = NULL;
    EXPECT_OK(bg_report_write(report, format, test_file));
    return texts[next] = read_file(test_file, NULL);
}

void expect_is(bg_finding finding, const bg_finding *expected, const char *file, int line)
{
    const char *const pairs[][2] = {{finding.kind, expected->kind},     {finding.call, expected->call},
                                    {finding.file, expected->file},     {finding.message, expected->message},
                                    {finding.advice, expected->advice}, {finding.graph, expected->graph},
                                    {finding.others, expected->others}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][1] != NULL)
            _assert_string_equal(pairs[i][0], pairs[i][1], file, line);
    _assert_int_equal(finding.severity, expected->severity, file, line);
    _assert_int_equal((uintmax_t)finding.line, (uintmax_t)expected->line, file, line);
    _assert_int_equal((uintptr_t)finding.address, (uintptr_t)expected->address, file, line);
}

bg_status write_limited(const bg_report *report, bg_format format, unsigned bytes)
{
    struct rlimit limit;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_true(before != SIG_ERR);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    struct rlimit small = {.rlim_cur = bytes, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bg_status status = bg_report_write(report, format, test_file);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_true(signal(SIGXFSZ, before) != SIG_ERR);
    return status;
}
