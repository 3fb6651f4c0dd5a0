/* docs/findings.md has each kind of findings, in the order of the list in the code, and no other. */
#include "tests/support/support.h"

#include "debug/report/kinds.h"

#include <stdio.h>
#include <string.h>

#define COMMA(kind, rank) kind,
static const char *const kinds[] = {BG__FINDING_KINDS(COMMA)};

enum { COUNT = sizeof kinds / sizeof *kinds };

TEST(test_page)
{
    char line[1024];
    size_t found = 0;
    int shown = 1; /* examples since the last heading */
    FILE *page = fopen("docs/findings.md", "rb");
    if (page == NULL)
        fail_msg("%s", "docs/findings.md: run this from the top of the tree");
    while (fgets(line, sizeof line, page) != NULL) {
        char expected[100];
        if (strncmp(line, "```c", 4) == 0)
            shown++;
        if (strncmp(line, "## `", 4) != 0)
            continue;
        if (found == COUNT || shown == 0)
            fail_msg("docs/findings.md: %.60s", found == COUNT ? line : "a kind has no example");
        snprintf(expected, sizeof expected, "## `%s`\n", kinds[found++]);
        assert_string_equal(line, expected);
        shown = 0;
    }
    assert_int_equal(fclose(page), 0);
    if (found < COUNT || shown == 0)
        fail_msg("docs/findings.md ends before %s", found < COUNT ? kinds[found] : "the last example");
}

TEST(test_unique)
{
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(kinds[i], kinds[k]);
}
