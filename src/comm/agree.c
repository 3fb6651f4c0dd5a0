#include "comm/agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 64 << 10, BEFORE = 40, SHOWN = 160 };

typedef struct digest {
    uint64_t length, hash;
    char text[]; /* its beginning, without a final 0 */
} digest;

bg_status bg__agree_make_body(const char *what, const char *text, void **body, size_t *bytes)
{
    size_t length = strlen(text), kept = length < TEXT_MAX ? length : TEXT_MAX;
    digest *mine = malloc(sizeof *mine + kept);
    if (mine == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "%s: out of host memory for a text of %zu bytes", what, length);
    mine->length = length;
    mine->hash = bg__text_hash(text);
    memcpy(mine->text, text, kept);
    *body = mine;
    *bytes = sizeof *mine + kept;
    return BG_OK;
}

/* Writes the text from shortly before `from` on, on one line. */
static void show_excerpt(const char *text, size_t length, size_t from, char shown[SHOWN])
{
    size_t start = from > BEFORE ? from - BEFORE : 0, used = (size_t)snprintf(shown, SHOWN, start > 0 ? "..." : "");
    while (start < length && used < SHOWN - 4) {
        unsigned char byte = (unsigned char)text[start++];
        shown[used++] = byte < ' ' ? ' ' : (char)byte;
    }
    snprintf(shown + used, SHOWN - used, start < length ? "..." : "");
}

bool bg__agree_compare(const bg__frame *zero, const bg__frame *other, int rank, bg__failure *failure)
{
    digest a = {0, 0}, b = {0, 0};
    size_t a_kept = zero->bytes - sizeof a, b_kept = other->bytes - sizeof b, same = 0;
    const char *a_text = (const char *)zero->body + sizeof a, *b_text = (const char *)other->body + sizeof b;
    char a_shown[SHOWN], b_shown[SHOWN];
    if (other->bytes < sizeof b)
        b_kept = 0;
    else
        memcpy(&b, other->body, sizeof b);
    memcpy(&a, zero->body, sizeof a);
    if (a.length == b.length && a.hash == b.hash)
        return true;
    while (same < a_kept && same < b_kept && a_text[same] == b_text[same])
        same++;
    show_excerpt(a_text, a_kept, same, a_shown);
    show_excerpt(b_text, b_kept, same, b_shown);
    snprintf(failure->text, sizeof failure->text, "the ranks differ at \"%s\": rank 0: \"%s\"; rank %d: \"%s\"",
             zero->what, a_shown, rank, b_shown);
    return false;
}
