/* Declarations, read without knowing any type: which name is declared, and where its parameters are. */
#ifndef HCC_DECLARATION_H
#define HCC_DECLARATION_H

#include "edits.h"

/* Finds the parameter list in the declaration that begins at token `first` and ends, or has its body, at `end`. Returns
 * its ( token; `end` if it declares no function. */
size_t hcc_find_parameters(const struct hcc_source *source, size_t first, size_t end);

/* Returns the < of the declaration's last template<...>; `end` if there is none. */
size_t hcc_find_template(const struct hcc_source *source, size_t first, size_t end);
/* Returns the first token behind the template<...> prefixes; `first` if there are none. */
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

/* Reads the parameters of a function or a template between the brackets `open` and `close`. Parameters without a name
 * get one. */
void hcc_read_names(const struct hcc_source *source, struct hcc_edits *edits, size_t open, size_t close,
                    struct hcc_names *names);
void hcc_names_free(struct hcc_names *names);

/* Returns the next token from `from` on that has this text and stands outside of all brackets, or `end`. */
size_t hcc_find_outside(const struct hcc_source *source, size_t from, size_t end, const char *text);

#endif
