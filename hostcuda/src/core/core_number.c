#include "hostcuda/src/core/core_number.h"

bool hc_number_read(const char *text, const char *end, uint64_t limit, uint64_t *number)
{
    uint64_t value = 0;
    if (text == end)
        return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (limit - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *number = value;
    return true;
}
