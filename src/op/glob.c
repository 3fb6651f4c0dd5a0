#include "op/op.h"

bool bg__glob(const char *pattern, size_t length, const char *text)
{
    const char *end = pattern + length, *star = NULL, *resume = NULL;
    while (*text != '\0') {
        if (pattern < end && *pattern == '*') {
            star = ++pattern;
            resume = text;
        } else if (pattern < end && *pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*')
        pattern++;
    return pattern == end;
}
