#include "pretokenize.h"
#include "tokenizer_tables.h"
#include <stdlib.h>
#include <string.h>

/* A byte of a word, or the token that it was merged into. The symbols of a word are a linked list. */
typedef struct symbol {
    int token; /* -1: merged into its neighbour */
    int previous, next;
} symbol;

/* Two neighbours that may merge; out of date once one of them has changed. */
typedef struct candidate {
    int rank, left, right;
    int left_token, right_token, result;
} candidate;

typedef struct encoder {
    const tokenizer *t;
    int *tokens;
    size_t count;
    symbol *symbols;
    candidate *heap; /* the lowest rank first; of equal ranks the leftmost */
    size_t heap_count;
} encoder;

static bool is_better_candidate(const candidate *a, const candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->left < b->left;
}

static void heap_push(encoder *e, candidate added)
{
    size_t at = e->heap_count++;
    for (; at > 0 && is_better_candidate(&added, &e->heap[(at - 1) / 2]); at = (at - 1) / 2)
        e->heap[at] = e->heap[(at - 1) / 2];
    e->heap[at] = added;
}

static candidate heap_pop(encoder *e)
{
    candidate top = e->heap[0], last = e->heap[--e->heap_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < e->heap_count && is_better_candidate(&e->heap[child + 1], &e->heap[child]))
            child++;
        if (child >= e->heap_count || !is_better_candidate(&e->heap[child], &last))
            break;
        e->heap[at] = e->heap[child];
        at = child;
    }
    e->heap[at] = last;
    return top;
}

static void push_candidate(encoder *e, int left, int right)
{
    const tokenizer_merge *m;
    if (left < 0 || right < 0)
        return;
    m = tokenizer_find_merge(e->t, e->symbols[left].token, e->symbols[right].token);
    if (m)
        heap_push(e, (candidate){m->rank, left, right, m->pair.left, m->pair.right, m->result});
}

static void apply_merge(encoder *e, const candidate *c)
{
    symbol *left = &e->symbols[c->left], *right = &e->symbols[c->right];
    if (left->token != c->left_token || right->token != c->right_token || left->next != c->right)
        return;
    left->token = c->result;
    left->next = right->next;
    if (right->next >= 0)
        e->symbols[right->next].previous = c->left;
    right->token = -1;
    push_candidate(e, left->previous, c->left);
    push_candidate(e, c->left, left->next);
}

static int encode_word(encoder *e, const char *word, size_t length, char *error)
{
    int previous = -1;
    for (size_t i = 0; i < length; i++) {
        int id = e->t->byte_token[(unsigned char)word[i]];
        if (id < 0 && e->t->unknown < 0)
            return tokenizer_fail(error, "the vocabulary has no token for the byte 0x%02X of the text",
                                  (unsigned char)word[i]);
        e->symbols[i] = (symbol){id < 0 ? e->t->unknown : id, previous, i + 1 < length ? (int)i + 1 : -1};
        previous = (int)i;
    }
    e->heap_count = 0;
    for (size_t i = 0; i + 1 < length; i++)
        push_candidate(e, (int)i, (int)i + 1);
    while (e->heap_count) {
        candidate best = heap_pop(e);
        apply_merge(e, &best);
    }
    for (int i = 0; i >= 0; i = e->symbols[i].next)
        e->tokens[e->count++] = e->symbols[i].token;
    return 0;
}

/* Returns the longest special token that text starts with; -1 if there is none. */
static int find_special_at(const tokenizer *t, const char *text, size_t length)
{
    for (int i = 0; i < t->special_count; i++) {
        const tokenizer_token *special = &t->tokens[t->specials[i]];
        if (special->length <= length && memcmp(special->bytes, text, special->length) == 0)
            return t->specials[i];
    }
    return -1;
}

static int encode_plain(encoder *e, const char *text, size_t length, char *error)
{
    while (length) {
        size_t word = pretokenize_word(text, length, e->t->digits_alone);
        if (encode_word(e, text, word, error))
            return -1;
        text += word;
        length -= word;
    }
    return 0;
}

static int encode_all(encoder *e, const char *text, size_t length, char *error)
{
    size_t start = 0, at = 0;
    while (at < length) {
        int special = find_special_at(e->t, text + at, length - at);
        if (special < 0) {
            at++;
            continue;
        }
        if (encode_plain(e, text + start, at - start, error))
            return -1;
        e->tokens[e->count++] = special;
        at += e->t->tokens[special].length;
        start = at;
    }
    return encode_plain(e, text + start, length - start, error);
}

int tokenizer_encode(const tokenizer *t, const char *text, size_t length, int **tokens, size_t *count, char *error)
{
    encoder e = {.t = t};
    int result = -1;
    *tokens = NULL;
    *count = 0;
    if (length > INT32_MAX / 4)
        return tokenizer_fail(error, "the text has %zu bytes, too many for the tokenizer; shorten it", length);
    e.tokens = malloc((length + 1) * sizeof *e.tokens); /* no token is shorter than a byte; one may begin the text */
    e.symbols = malloc((length + 1) * sizeof *e.symbols);
    e.heap = malloc((3 * length + 1) * sizeof *e.heap); /* each byte adds one candidate, each merge at most two */
    if (!e.tokens || !e.symbols || !e.heap) {
        tokenizer_no_memory(error);
        goto done;
    }
    if (t->add_begin && t->begin >= 0)
        e.tokens[e.count++] = t->begin;
    if (encode_all(&e, text, length, error))
        goto done;
    *tokens = e.tokens;
    *count = e.count;
    e.tokens = NULL;
    result = 0;
done:
    free(e.tokens);
    free(e.symbols);
    free(e.heap);
    return result;
}
