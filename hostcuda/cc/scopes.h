/* Where a token stands: which braces are open around it. */
#ifndef HCC_SCOPES_H
#define HCC_SCOPES_H

#include "source.h"

enum hcc_scope_kind { HCC_NAMESPACE, HCC_CLASS, HCC_FUNCTION, HCC_BLOCK };

struct hcc_scope {
    enum hcc_scope_kind kind;
    bool device;             /* code that only kernels run */
    bool in_expression;      /* the brace stands inside parentheses: the declaration around it goes on behind it */
    size_t head;             /* first token of the current declaration or statement in here */
    size_t parentheses;      /* open in here */
    size_t opened;           /* the token {; 0 for the file */
    size_t name, name_count; /* tokens of a namespace's name */
};

struct hcc_scopes {
    struct hcc_scope *items;
    size_t count, capacity;
};

void hcc_scopes_begin(struct hcc_scopes *scopes);
void hcc_scopes_free(struct hcc_scopes *scopes);

/* The innermost scope; valid until the next call of hcc_scopes_pass. */
struct hcc_scope *hcc_scope(const struct hcc_scopes *scopes);

/* Goes on past token i. Returns true where it is a brace that opens a scope, which is the innermost one then. */
bool hcc_scopes_pass(struct hcc_scopes *scopes, const struct hcc_source *source, size_t i);

/* Whether the innermost scope is one of statements. */
bool hcc_in_function(const struct hcc_scopes *scopes);

/* Returns the names of the namespaces around, each behind "::". */
char *hcc_scopes_name(const struct hcc_scopes *scopes, const struct hcc_source *source);

#endif
