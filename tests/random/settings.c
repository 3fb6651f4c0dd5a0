#include "settings.h"

#include "run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_number(const char *text, uint64_t *number)
{
    char *end;
    if (text == NULL || *text < '0' || *text > '9')
        return false;
    *number = strtoull(text, &end, 10);
    return *end == '\0';
}

static bool read_settings(settings *s, const char *program, int count, char **words)
{
    uint64_t number;
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--verbose") == 0) {
            s->verbose = true;
        } else if (strcmp(words[i], "--plant-rules") == 0) {
            s->plant_rules = true;
        } else if (strcmp(words[i], "--seed") == 0 && read_number(words[i + 1], &number)) {
            s->seed = number;
            i++;
        } else if (strcmp(words[i], "--programs") == 0 && read_number(words[i + 1], &number) && number > 0 &&
                   number <= 10000000) {
            s->programs = (int)number;
            i++;
        } else {
            fprintf(stderr, "usage: %s [--programs N] [--seed S] [--plant-rules] [--verbose]\n", program);
            return false;
        }
    }
    return true;
}

static char last_words[80];

static void say_last_words(int number)
{
    ssize_t written = write(STDOUT_FILENO, last_words, strlen(last_words));
    (void)written;
    raise(number); /* the default action, now that the handler is reset */
}

static bool prepare_last_words(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE};
    struct sigaction action = {.sa_handler = say_last_words, .sa_flags = (int)SA_RESETHAND};
    bool good = true;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        good &= sigaction(signals[i], &action, NULL) == 0;
    return good;
}

void set_last_words(uint64_t seed)
{
    snprintf(last_words, sizeof last_words, "seed %llu ends the process\n", (unsigned long long)seed);
}

int begin(settings *s, const char *program, int count, char **words)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!read_settings(s, program, count, words))
        return 2;
    if (unsetenv("BG_DEBUG") || unsetenv("BG_EAGER_OPS") || unsetenv("BG_BREAKABLE") || unsetenv("BG_FOREIGN_INLINE"))
        return 2;
    return prepare_last_words() && machine_open() ? 0 : 1;
}
