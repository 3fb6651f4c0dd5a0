/* Declarations, read without knowing any type: which name is declared, and where its parameters are. */
#ifndef HCC_DECLARATION_H
#define HCC_DECLARATION_H

#include "edits.h"

/* Returns the ( of a function's parameters in the declaration that begins at token `first` and whose body, or end, is
 * at `end`; `end` if it declares no function. */
size_t hcc_find_parameters(const struct hcc_source *source, size_t first, size_t end);

/* Returns the < of the declaration's last template<...>; `end` where there is none. */
size_t hcc_find_template(const struct hcc_source *source, size_t first, size_t end);
/* Returns the first token behind it; `first` where there is none. */
size_t hcc_skip_templates(const struct hcc_source *source, size_t first, size_t end);

/* Names of parameters, and whether each is a pack. */
struct hcc_name {
    char *name;
    bool pack;
};

struct hcc_names {
    struct hcc_name *items;
    size_t count, capacity;
};

/* Reads the parameters of a function, or of a template, between the brackets `open` and `close`. Those that have no
 * name get one. */
void hcc_read_names(const struct hcc_source *source, struct hcc_edits *edits, size_t open, size_t close,
                    struct hcc_names *names);
void hcc_names_free(struct hcc_names *names);

/* Returns the next token from `from` at which this stands outside of all brackets, or `end`. */
size_t hcc_find_outside(const struct hcc_source *source, size_t from, size_t end, const char *text);

#endif
