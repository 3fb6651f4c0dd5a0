/* Writes the pages of docs/records that show the conformance table. Each is written whole or not at all. */
#include "guide.h"

static bool write_page(const struct expected *expected, const struct case_page *page, char *problem)
{
    char fresh[EXPECTED_PROBLEM_MAX];
    snprintf(fresh, sizeof fresh, "%s.new", page->file);
    snprintf(problem, EXPECTED_PROBLEM_MAX, "%s cannot be written", page->file);
    FILE *file = fopen(fresh, "w");
    if (!file)
        return false;
    bool written = guide_write(expected, page, file, problem);
    if (fclose(file) != 0)
        written = false;
    return written && rename(fresh, page->file) == 0;
}

int main(void)
{
    struct expected expected;
    char problem[EXPECTED_PROBLEM_MAX];
    bool written = true;
    if (!expected_read(&expected, EXPECTED_FILE, problem)) {
        fprintf(stderr, "document: %s\n", problem);
        return 1;
    }
    for (size_t p = 0; written && p < case_page_count; p++)
        written = write_page(&expected, &case_pages[p], problem);
    if (!written)
        fprintf(stderr, "document: %s\n", problem);
    expected_free(&expected);
    return written ? 0 : 1;
}
