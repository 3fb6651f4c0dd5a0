#include "bisection.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *const cli_trial_purpose_names[] = {"as it is", "without a graph", "all eager",
                                               "search",   "in series",       "confirmation"};

cli_status cli_bisect_set_sentence(cli_bisection *b, cli_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(b->sentence, sizeof b->sentence, format, arguments);
    va_end(arguments);
    return status;
}

const char *cli_bisect_good_word(const cli_bisection *b)
{
    return b->compiled ? "not fused" : "eager";
}

const char *cli_bisect_bad_word(const cli_bisection *b)
{
    return b->compiled ? "fused" : "captured";
}

int cli_bisect_log2(size_t n)
{
    int steps = 0;
    while (((size_t)1 << steps) < n)
        steps++;
    return steps;
}

char *cli_eager_patterns(const cli_bisection *b, const bool *eager)
{
    char *list = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&list, &bytes);
    const char *comma = b->base[0] != '\0' ? "," : "";

    if (out == NULL)
        return NULL;
    fputs(b->base, out);
    for (size_t i = 0; eager != NULL && i < b->name_count; i++)
        if (eager[i]) {
            fprintf(out, "%s%s%s", comma, b->compiled ? "!" : "", b->names[i]);
            comma = ",";
        }
    if (fclose(out) == 0)
        return list;
    free(list);
    return NULL;
}
