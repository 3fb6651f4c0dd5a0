/* Kernels, their launches, and the memory that the threads of a block share. */
#ifndef HCC_KERNELS_H
#define HCC_KERNELS_H

#include "edits.h"
#include "scopes.h"

/* Rewrites the body of a kernel so that the body launches the kernel when host code calls it. The body opens at token
 * `brace` in the given scope. Returns false, with a message, if the declaration cannot be read. */
bool hcc_define_kernel(const struct hcc_source *source, struct hcc_edits *edits, const struct hcc_scopes *scopes,
                       size_t head, size_t brace);

/* Rewrites the launch whose <<< is token `less`. Returns false, with a message, if it cannot be read as a launch. */
bool hcc_rewrite_launch(const struct hcc_source *source, struct hcc_edits *edits, size_t less);

/* The extern __shared__ declarations that stand outside of functions in a file. Device functions may use their
 * names. */
struct hcc_shared {
    struct {
        size_t token;
        char *scope; /* the enclosing namespaces */
    } * items;
    size_t count, capacity;
};

/* Rewrites the declaration whose __shared__ is token i. Returns false, with a message, if it cannot be read. */
bool hcc_rewrite_shared(const struct hcc_source *source, struct hcc_edits *edits, const struct hcc_scopes *scopes,
                        size_t i, struct hcc_shared *outside);

/* Declares, inside a function, the shared arrays that the function uses. The function's declaration begins at token
 * `head`, and its body opens at token `brace`. The body is the innermost scope. */
void hcc_declare_shared(const struct hcc_source *source, struct hcc_edits *edits, const struct hcc_scopes *scopes,
                        const struct hcc_shared *outside, size_t head, size_t brace);
void hcc_shared_free(struct hcc_shared *outside);

#endif
