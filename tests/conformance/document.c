/* Writes docs/records/capture-rules.md to the standard output. */
#include "guide.h"

int main(void)
{
    struct expected expected;
    char problem[EXPECTED_PROBLEM_MAX];
    if (!expected_read(&expected, EXPECTED_FILE, problem)) {
        fprintf(stderr, "document: %s\n", problem);
        return 1;
    }
    bool written = guide_write(&expected, stdout, problem);
    if (!written)
        fprintf(stderr, "document: %s\n", problem);
    expected_free(&expected);
    return written && fflush(stdout) == 0 ? 0 : 1;
}
