#include "base/base.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool bg__number_read(const char *text, double *number)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    char *end = NULL;
    double parsed = 0;

    if (plain == (locale_t)0)
        return false;
    if (text[0] != '\0' && strspn(text, "0123456789.eE+-") == strlen(text))
        parsed = strtod_l(text, &end, plain);
    freelocale(plain);
    *number = parsed;
    return end != NULL && *end == '\0' && isfinite(parsed);
}

uint64_t bg__text_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}
