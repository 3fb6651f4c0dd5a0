#include "op/op.h"

#include <stdlib.h>
#include <string.h>

bool bg__glob_matches(const char *pattern, size_t length, const char *text)
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

bool bg__glob_matches_numbered(const char *pattern, size_t length, const char *name)
{
    size_t stem = strcspn(name, "#");
    char *first;
    bool is = bg__glob_matches(pattern, length, name);

    if (is || name[stem] == '\0' || memchr(pattern, '#', length) != NULL || (first = strndup(name, stem)) == NULL)
        return is;
    is = bg__glob_matches(pattern, length, first);
    free(first);
    return is;
}

bool bg__pattern_list_next(bg__pattern_list *at)
{
    const char *from = at->text != NULL ? at->text + at->length : at->list;

    for (; *from != '\0'; from += strcspn(from, ",")) {
        from += strspn(from, ", ");
        at->negate = *from == '!';
        at->text = from + at->negate;
        at->length = strcspn(at->text, ",");
        while (at->length > 0 && at->text[at->length - 1] == ' ')
            at->length--;
        if (at->length > 0)
            return true;
    }
    return false;
}
