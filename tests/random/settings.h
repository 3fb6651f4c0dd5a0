/* What the programs of this folder share: their words on the command line, and their last ones. */
#ifndef RANDOM_SETTINGS_H
#define RANDOM_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct settings {
    int programs;
    uint64_t seed;
    bool verbose;
} settings;

/* Over what s holds. False, with the usage on stderr: they are wrong. */
bool read_settings(settings *s, const char *program, int count, char **words);

/* A random program that ends the process is named, too. */
bool prepare_last_words(void);
void set_last_words(uint64_t seed);

#endif
