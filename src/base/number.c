#include "base/base.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

bool bg__parse_number(const char *text, double *number)
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

static int write_digits(double real, bool single, char text[BG__REAL_BYTES])
{
    enum { DIGITS_EXACT = 17 };
    int digits = 3;
    for (; digits <= DIGITS_EXACT; digits++) {
        snprintf(text, BG__REAL_BYTES, "%.*g", digits, real);
        if ((single ? (double)strtof(text, NULL) : strtod(text, NULL)) == real)
            break;
    }
    return digits;
}

const char *bg__format_real(double real, bool single, char text[BG__REAL_BYTES])
{
    (void)write_digits(real, single, text);
    return text;
}

/* A constant of a program, such as 1e30, has few digits; an integer rarely has the bits of such a constant. */
static bool is_constant(double real, bool single, int digits)
{
    double size = fabs(real), least = single ? (double)FLT_MIN : DBL_MIN, most = single ? (double)FLT_MAX : DBL_MAX;
    return isinf(real) || size == most || (size >= least && digits == 3);
}

/* Counts and sizes of up to three digits and zeros, such as 1000000000, are rarely the bits of a float. */
static bool is_round(const void *value)
{
    int32_t number;
    memcpy(&number, value, sizeof number);
    while (number != 0 && number % 10 == 0)
        number /= 10;
    return number > -1000 && number < 1000;
}

bool bg__format_if_real(const void *value, size_t bytes, char text[BG__REAL_BYTES])
{
    bool single = bytes == sizeof(float);
    char found[BG__REAL_BYTES];
    double real = 0;
    float of_single;
    int digits;

    if (!single && bytes != sizeof real)
        return false;
    memcpy(single ? (void *)&of_single : (void *)&real, value, bytes);
    real = single ? (double)of_single : real;
    if (isnan(real) || real == 0)
        return false;
    digits = write_digits(real, single, found);
    if ((fabs(real) <= 1e-12 || fabs(real) >= 1e12) && !is_constant(real, single, digits))
        return false;
    if (single && digits > 3 && is_round(value))
        return false;
    snprintf(text, BG__REAL_BYTES, "%.*s%s", BG__REAL_BYTES - 4, found,
             found[strspn(found, "-0123456789")] == '\0' ? ".0" : "");
    return true;
}

uint64_t bg__text_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}
