#include "step_support.h"

#include <string.h>

int count_findings(const bg_report *report, const char *kind)
{
    int count = 0;
    for (int i = 0; i < bg_report_count(report); i++) {
        bg_finding finding = BG_FINDING_INIT;
        EXPECT_OK(bg_report_get(report, i, &finding));
        count += strcmp(finding.kind, kind) == 0;
    }
    return count;
}

bg_finding the_finding(const bg_report *report, const char *kind)
{
    bg_finding found = BG_FINDING_INIT;
    assert_int_equal(count_findings(report, kind), 1);
    for (int i = 0; i < bg_report_count(report); i++) {
        EXPECT_OK(bg_report_get(report, i, &found));
        if (strcmp(found.kind, kind) == 0)
            break;
    }
    return found;
}

void expect_clean_step(const bg_report *report)
{
    if (bg_report_count(report) > 0) {
        bg_finding finding = BG_FINDING_INIT;
        EXPECT_OK(bg_report_get(report, 0, &finding));
        fail_msg("%d findings; the first: [%s] %s", bg_report_count(report), finding.kind, finding.message);
    }
}

void expect_in(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

void read_memory(const fixture *f, float host[3 * N])
{
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemcpy(host, f->memory, 3 * N * sizeof *host, cudaMemcpyDeviceToHost));
}

void write_memory(const fixture *f, const float host[3 * N])
{
    EXPECT_CUDA(cudaMemcpy(f->memory, host, 3 * N * sizeof *host, cudaMemcpyHostToDevice));
    EXPECT_CUDA(cudaDeviceSynchronize());
}
