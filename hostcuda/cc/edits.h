/* Changes to a source: text before and after its tokens, tokens left out, and launches. Lines stay lines. */
#ifndef HCC_EDITS_H
#define HCC_EDITS_H

#include "source.h"

#include <stdio.h>

struct hcc_edit {
    char *before, *after; /* NULL: nothing */
    bool dropped;
    size_t launch; /* of launches, plus 1, whose first token this is; 0: none */
};

/* KERNEL<<<CONFIGURATION>>>(ARGUMENTS): its first token, and those of <<<, the first > of >>>, and the last ). */
struct hcc_launch {
    size_t first, less, greater, last;
};

struct hcc_edits {
    struct hcc_edit *tokens; /* one for each token */
    size_t count;
    struct hcc_launch *launches;
    size_t launch_count, launch_capacity;
};

void hcc_edits_begin(struct hcc_edits *edits, const struct hcc_source *source);
void hcc_edits_free(struct hcc_edits *edits);

/* Adds text before or after token i; what is added later stands further from the token. Takes `text`. */
void hcc_insert_before(struct hcc_edits *edits, size_t i, char *text);
void hcc_insert_after(struct hcc_edits *edits, size_t i, char *text);
void hcc_drop(struct hcc_edits *edits, size_t i);
void hcc_replace(struct hcc_edits *edits, size_t i, char *text);
void hcc_add_launch(struct hcc_edits *edits, struct hcc_launch launch);

/* Writes the source with its changes. Returns false if writing fails. */
bool hcc_edits_write(const struct hcc_edits *edits, const struct hcc_source *source, FILE *file);

#endif
