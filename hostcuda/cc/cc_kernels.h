/* Kernels, their launches, and the memory that the threads of a block share. */
#ifndef HCC_KERNELS_H
#define HCC_KERNELS_H

#include "edits.h"
#include "scopes.h"

/* The body of a kernel opens at token `brace`, in the scope around it: called by host code, it is to be launched.
 * Returns false, with a message, if the declaration cannot be read. */
bool hcc_define_kernel(const struct hcc_source *source, struct hcc_edits *edits, const struct hcc_scopes *scopes,
                       size_t head, size_t brace);

/* Token `less` is <<<. Returns false, with a message, if it is no launch that can be read. */
bool hcc_rewrite_launch(const struct hcc_source *source, struct hcc_edits *edits, size_t less);

/* extern __shared__ declarations of a file, outside of functions: names that functions of the device may use. */
struct hcc_shared {
    struct {
        size_t token;
        char *scope; /* the namespaces around it */
    } * items;
    size_t count, capacity;
};

/* Token i is __shared__. Returns false, with a message, if its declaration cannot be read. */
bool hcc_rewrite_shared(const struct hcc_source *source, struct hcc_edits *edits, const struct hcc_scopes *scopes,
                        size_t i, struct hcc_shared *outside);

/* Gives the function whose body opens at token `brace`, the innermost scope, and whose declaration begins at `head`,
 * those of the names that it uses. */
void hcc_declare_shared(const struct hcc_source *source, struct hcc_edits *edits, const struct hcc_scopes *scopes,
                        const struct hcc_shared *outside, size_t head, size_t brace);
void hcc_shared_free(struct hcc_shared *outside);

#endif
