/* What the programs of this folder share: their words on the command line, and their last ones. */
#ifndef RANDOM_SETTINGS_H
#define RANDOM_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct settings {
    int programs;
    uint64_t seed;
    bool verbose;
    bool plant_rules; /* --plant-rules */
} settings;

/* Reads the words over what s holds, and opens the machine, for a process whose environment sets nothing. 0; or the
 * exit status, after a sentence on stderr. */
int begin(settings *s, const char *program, int count, char **words);

/* A random program that ends the process is named, too. */
void set_last_words(uint64_t seed);

#endif
