/* Tracks which braces are open around a token. */
#ifndef HCC_SCOPES_H
#define HCC_SCOPES_H

#include "source.h"

enum hcc_scope_kind { HCC_NAMESPACE, HCC_CLASS, HCC_FUNCTION, HCC_BLOCK };

struct hcc_innermost_scope {
    enum hcc_scope_kind kind;
    bool device;             /* code that runs only in kernels */
    bool in_expression;      /* the brace is inside parentheses, so the declaration around it continues behind it */
    size_t head;             /* first token of the current declaration or statement */
    size_t parentheses;      /* number of open parentheses */
    size_t opened;           /* the { token; 0 for the file */
    size_t name, name_count; /* the tokens of a namespace's name */
};

struct hcc_scopes {
    struct hcc_innermost_scope *items;
    size_t count, capacity;
};

void hcc_scopes_begin(struct hcc_scopes *scopes);
void hcc_scopes_free(struct hcc_scopes *scopes);

/* Returns the innermost scope; valid until the next call of hcc_scopes_advance. */
struct hcc_innermost_scope *hcc_innermost_scope(const struct hcc_scopes *scopes);

/* Moves past token i. Returns true if it is a brace that opens a scope, which is then the innermost one. */
bool hcc_scopes_advance(struct hcc_scopes *scopes, const struct hcc_source *source, size_t i);

/* Whether the innermost scope contains statements. */
bool hcc_in_function(const struct hcc_scopes *scopes);

/* Returns the names of the enclosing namespaces, each followed by "::". */
char *hcc_scopes_namespace(const struct hcc_scopes *scopes, const struct hcc_source *source);

#endif
