/* Edits of a source: text before and after tokens, dropped tokens, and launches. They keep the line breaks. */
#ifndef HCC_EDITS_H
#define HCC_EDITS_H

#include "source.h"

#include <stdio.h>

struct hcc_edit {
    char *before, *after; /* NULL: no text */
    bool dropped;
    size_t launch; /* index of the launch that begins at this token, plus 1; 0: none */
};

/* KERNEL<<<CONFIGURATION>>>(ARGUMENTS): its first token, the <<<, the first > of >>>, and the last ). */
struct hcc_launch {
    size_t first, less, greater, last;
};

struct hcc_edits {
    struct hcc_edit *tokens; /* one edit for each token */
    size_t count;
    struct hcc_launch *launches;
    size_t launch_count, launch_capacity;
};

void hcc_edits_begin(struct hcc_edits *edits, const struct hcc_source *source);
void hcc_edits_free(struct hcc_edits *edits);

/* Adds text before or after token i. Text that is added later stands further from the token. The edits own `text` from
 * then on. */
void hcc_insert_before(struct hcc_edits *edits, size_t i, char *text);
void hcc_insert_after(struct hcc_edits *edits, size_t i, char *text);
void hcc_drop_token(struct hcc_edits *edits, size_t i);
void hcc_replace_token(struct hcc_edits *edits, size_t i, char *text);
void hcc_add_launch(struct hcc_edits *edits, struct hcc_launch launch);

/* Writes the edited source. Returns false if writing fails. */
bool hcc_write_edited(const struct hcc_edits *edits, const struct hcc_source *source, FILE *file);

#endif
