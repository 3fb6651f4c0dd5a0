/* What the soaks share: their command lines, and how they fail. */
#ifndef TESTS_SOAK_SOAK_H
#define TESTS_SOAK_SOAK_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <breakgraph/breakgraph.h>

/* Growth is from the first look, a tenth into the run, to the last. */
enum { LOOKS = 10 };

static inline bool soak_number(const char *text, long least, long most, long *number)
{
    char *end;
    errno = 0;
    *number = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *number >= least && *number <= most;
}

/* A defect, to see that it is found: one of these, which end with NULL. */
static inline bool soak_plant(const char *text, const char *const *plants, const char **plant)
{
    while (*plants != NULL && strcmp(text, *plants) != 0)
        plants++;
    *plant = *plants;
    return *plant != NULL;
}

/* A line on stderr where it does. */
static inline bool soak_fails(const char *what, long run, bg_status status)
{
    if (status != BG_OK)
        fprintf(stderr, "%s: %s, run %ld: %s: %s\n", program_invocation_short_name, what, run, bg_status_name(status),
                bg_last_error());
    return status != BG_OK;
}

/* [--plant DEFECT] [RUNS], from LOOKS on. */
static inline bool soak_parse(int argc, char **argv, const char *const *plants, const char **plant, long *runs)
{
    for (int i = 1; i < argc; i++) {
        bool good = strcmp(argv[i], "--plant") == 0 && i + 1 < argc ? soak_plant(argv[++i], plants, plant)
                                                                    : soak_number(argv[i], LOOKS, LONG_MAX, runs);
        if (!good)
            return false;
    }
    return true;
}

#endif
