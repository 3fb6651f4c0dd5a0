/* Whether a program that goes on and on takes more and more memory. */
#ifndef TESTS_GROWTH_H
#define TESTS_GROWTH_H

#include <stdbool.h>
#include <stddef.h>

typedef struct growth_look {
    size_t resident, heap, device; /* bytes in use */
} growth_look;

/* False after a line on stderr. */
bool growth_take(growth_look *look);

/* Libraries may move by a few pages: of host memory, growth by less is none. */
extern const growth_look growth_slack;

/* Prints both, and whether any has grown beyond that. */
bool growth_tell(const growth_look *first, const growth_look *last);

#endif
