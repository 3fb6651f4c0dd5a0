#include "tokenizer.h"
#include "pretokenize.h"
#include "unicode.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* uthash ends the program when memory runs out, unless it is told to set this. Each function that adds has a local of
 * it. */
#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(added) (out_of_memory = true)
#include <uthash.h>

/* tokenizer.ggml.token_type */
enum { TYPE_NORMAL = 1, TYPE_CONTROL = 3, TYPE_USER_DEFINED = 4 };

typedef struct token {
    char *bytes;
    size_t length;
    bool special;
    UT_hash_handle hh;
} token;

typedef struct merge_pair {
    int32_t left, right;
} merge_pair;

typedef struct merge {
    merge_pair pair;
    int rank, result;
    UT_hash_handle hh;
} merge;

struct tokenizer {
    token *tokens; /* by id */
    int count;
    char *bytes; /* of all tokens */
    token *by_bytes, *specials_by_bytes;
    int *specials; /* ids, the longest first */
    int special_count;
    merge *merges, *by_pair;
    int byte_of[324];    /* the byte alphabet; -1: not in it */
    int byte_token[256]; /* -1: none */
    int unknown, begin, end;
    bool add_begin, digits_alone;
};

__attribute__((format(printf, 2, 3))) static int fail(char *error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(error, GGUF_ERROR_SIZE, format, list);
    va_end(list);
    return -1;
}

static int no_memory(char *error)
{
    return fail(error, "no memory for the tokenizer");
}

/* ---- the byte alphabet -------------------------------------------------------------------------- */

/* GGUF spells the bytes of a token in GPT-2's alphabet: printable Latin-1 bytes stand for themselves, the other 68, in
 * order, for the characters from U+0100 on. */
static bool stands_for_itself(int byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/* byte_of[code] for the codes below 324, or -1. */
static void make_alphabet(int byte_of[324])
{
    int next = 256;
    for (int code = 0; code < 324; code++)
        byte_of[code] = -1;
    for (int byte = 0; byte < 256; byte++)
        byte_of[stands_for_itself(byte) ? byte : next++] = byte;
}

/* Spells text out into bytes (no longer than text). Returns their number, or -1 for a character outside the alphabet.
 */
static long spell(gguf_string text, const int byte_of[324], char *bytes)
{
    long count = 0;
    for (size_t at = 0; at < text.length;) {
        uint32_t code;
        at += unicode_read(text.text + at, text.length - at, &code);
        if (code >= 324 || byte_of[code] < 0)
            return -1;
        bytes[count++] = (char)byte_of[code];
    }
    return count;
}

/* ---- the vocabulary ----------------------------------------------------------------------------- */

static int find_in(const token *table, const token *tokens, const char *bytes, size_t length)
{
    token *found;
    HASH_FIND(hh, (token *)table, bytes, length, found);
    return found ? (int)(found - tokens) : -1;
}

int tokenizer_find(const tokenizer *t, const char *bytes, size_t length)
{
    int special = find_in(t->specials_by_bytes, t->tokens, bytes, length);
    return special >= 0 ? special : find_in(t->by_bytes, t->tokens, bytes, length);
}

/* Of two tokens with the same bytes the first keeps the name. */
static int add_token(tokenizer *t, token *entry, char *error)
{
    bool out_of_memory = false;
    token **table = entry->special ? &t->specials_by_bytes : &t->by_bytes;
    if (find_in(*table, t->tokens, entry->bytes, entry->length) >= 0)
        return 0;
    HASH_ADD_KEYPTR(hh, *table, entry->bytes, entry->length, entry);
    return out_of_memory ? no_memory(error) : 0;
}

static int read_token(tokenizer *t, const gguf *file, int id, gguf_string text, int32_t type, char *bytes, char *error)
{
    token *entry = &t->tokens[id];
    long length = (long)text.length;
    entry->special = type == TYPE_CONTROL || type == TYPE_USER_DEFINED;
    entry->bytes = bytes;
    if (entry->special || type != TYPE_NORMAL)
        memcpy(bytes, text.text, text.length);
    else if ((length = spell(text, t->byte_of, bytes)) < 0)
        return fail(error, "%s: the key tokenizer.ggml.tokens: token %d has a character outside the byte alphabet",
                    gguf_name(file), id);
    entry->length = (size_t)length;
    if (entry->length == 0 || !(entry->special || type == TYPE_NORMAL))
        return 0; /* unused and unknown tokens are never found in text */
    if (entry->special)
        t->specials[t->special_count++] = id;
    return add_token(t, entry, error);
}

/* What all tokens' texts take together. */
static size_t total_bytes(gguf_array texts)
{
    size_t total = 0;
    for (uint64_t i = 0; i < texts.count; i++)
        total += gguf_next_string(&texts).length;
    return total;
}

static int read_tokens(tokenizer *t, const gguf *file, char *error)
{
    gguf_array texts, types = {0};
    bool typed = gguf_has(file, "tokenizer.ggml.token_type");
    char *bytes;
    if (gguf_get_array(file, "tokenizer.ggml.tokens", GGUF_STRING, &texts, error) ||
        (typed && gguf_get_array(file, "tokenizer.ggml.token_type", GGUF_I32, &types, error)))
        return -1;
    if (texts.count == 0 || texts.count > INT32_MAX)
        return fail(error, "%s: the key tokenizer.ggml.tokens has %llu elements", gguf_name(file),
                    (unsigned long long)texts.count);
    if (typed && types.count != texts.count)
        return fail(error, "%s: the key tokenizer.ggml.token_type has %llu elements, tokenizer.ggml.tokens %llu",
                    gguf_name(file), (unsigned long long)types.count, (unsigned long long)texts.count);
    t->count = (int)texts.count;
    t->tokens = calloc(texts.count, sizeof *t->tokens);
    t->specials = calloc(texts.count, sizeof *t->specials);
    t->bytes = bytes = malloc(total_bytes(texts) + 1);
    if (!t->tokens || !t->specials || !bytes)
        return no_memory(error);
    for (int id = 0; id < t->count; id++) {
        gguf_string text = gguf_next_string(&texts);
        if (read_token(t, file, id, text, typed ? gguf_array_i32(&types, (uint64_t)id) : TYPE_NORMAL, bytes, error))
            return -1;
        bytes += text.length;
    }
    return 0;
}

static int longest_first(const void *a, const void *b, void *tokens)
{
    const token *left = (const token *)tokens + *(const int *)a, *right = (const token *)tokens + *(const int *)b;
    return (left->length < right->length) - (left->length > right->length);
}

static void index_tokens(tokenizer *t)
{
    qsort_r(t->specials, (size_t)t->special_count, sizeof *t->specials, longest_first, t->tokens);
    for (int byte = 0; byte < 256; byte++)
        t->byte_token[byte] = find_in(t->by_bytes, t->tokens, &(char){(char)byte}, 1);
}

/* ---- the merges --------------------------------------------------------------------------------- */

static const merge *find_merge(const tokenizer *t, int left, int right)
{
    merge_pair pair = {left, right};
    merge *found;
    HASH_FIND(hh, t->by_pair, &pair, sizeof pair, found);
    return found;
}

/* Reads "left right"; a merge that names tokens which the vocabulary lacks is an error. */
static int read_merge(tokenizer *t, const gguf *file, gguf_string text, int rank, char *scratch, char *error)
{
    bool out_of_memory = false;
    merge *m = &t->merges[rank];
    const char *space = text.length > 2 ? memchr(text.text + 1, ' ', text.length - 2) : NULL;
    long left, right;
    if (!space)
        return fail(error, "%s: the key tokenizer.ggml.merges: merge %d is not two tokens with a space between",
                    gguf_name(file), rank);
    left = spell((gguf_string){text.text, (size_t)(space - text.text)}, t->byte_of, scratch);
    if (left < 0)
        goto unknown;
    right = spell((gguf_string){space + 1, text.length - (size_t)(space - text.text) - 1}, t->byte_of, scratch + left);
    if (right < 0)
        goto unknown;
    m->rank = rank;
    m->pair.left = find_in(t->by_bytes, t->tokens, scratch, (size_t)left);
    m->pair.right = find_in(t->by_bytes, t->tokens, scratch + left, (size_t)right);
    m->result = find_in(t->by_bytes, t->tokens, scratch, (size_t)(left + right));
    if (m->pair.left < 0 || m->pair.right < 0 || m->result < 0)
        goto unknown;
    if (find_merge(t, m->pair.left, m->pair.right))
        return 0; /* listed twice: the first has the better rank */
    HASH_ADD(hh, t->by_pair, pair, sizeof m->pair, m);
    return out_of_memory ? no_memory(error) : 0;
unknown:
    return fail(error, "%s: the key tokenizer.ggml.merges: merge %d names a token that tokenizer.ggml.tokens lacks",
                gguf_name(file), rank);
}

static int read_merges(tokenizer *t, const gguf *file, char *error)
{
    gguf_array texts;
    char *scratch = NULL;
    int result = -1;
    if (gguf_get_array(file, "tokenizer.ggml.merges", GGUF_STRING, &texts, error))
        return -1;
    if (texts.count > INT32_MAX)
        return fail(error, "%s: the key tokenizer.ggml.merges has too many elements", gguf_name(file));
    t->merges = calloc(texts.count + 1, sizeof *t->merges);
    scratch = malloc(total_bytes(texts) + 1);
    if (!t->merges || !scratch) {
        no_memory(error);
        goto done;
    }
    for (uint64_t rank = 0, count = texts.count; rank < count; rank++)
        if (read_merge(t, file, gguf_next_string(&texts), (int)rank, scratch, error))
            goto done;
    result = 0;
done:
    free(scratch);
    return result;
}

/* ---- create and destroy ------------------------------------------------------------------------- */

static int read_id(const tokenizer *t, const gguf *file, const char *key, int *id, char *error)
{
    int64_t value;
    *id = -1;
    if (!gguf_has(file, key))
        return 0;
    if (gguf_get_int(file, key, 0, t->count - 1, &value, error))
        return -1;
    *id = (int)value;
    return 0;
}

static bool is(gguf_string string, const char *text)
{
    return string.length == strlen(text) && memcmp(string.text, text, string.length) == 0;
}

static int read_kind(tokenizer *t, const gguf *file, char *error)
{
    gguf_string model, pre;
    if (gguf_get_string(file, "tokenizer.ggml.model", &model, error))
        return -1;
    if (!is(model, "gpt2"))
        return fail(error, "%s: the key tokenizer.ggml.model is \"%.*s\"; supported is \"gpt2\", byte-level BPE",
                    gguf_name(file), (int)(model.length > 64 ? 64 : model.length), model.text);
    if (gguf_get_string(file, "tokenizer.ggml.pre", &pre, error))
        return -1;
    t->digits_alone = is(pre, "smollm") || is(pre, "starcoder");
    if (!t->digits_alone && !is(pre, "gpt-2"))
        return fail(error,
                    "%s: the key tokenizer.ggml.pre is \"%.*s\"; supported are \"smollm\", \"starcoder\" and \"gpt-2\"",
                    gguf_name(file), (int)(pre.length > 64 ? 64 : pre.length), pre.text);
    return 0;
}

static int read_special_ids(tokenizer *t, const gguf *file, char *error)
{
    if (read_id(t, file, "tokenizer.ggml.unknown_token_id", &t->unknown, error) ||
        read_id(t, file, "tokenizer.ggml.bos_token_id", &t->begin, error) ||
        read_id(t, file, "tokenizer.ggml.eos_token_id", &t->end, error))
        return -1;
    if (gguf_has(file, "tokenizer.ggml.add_bos_token"))
        return gguf_get_bool(file, "tokenizer.ggml.add_bos_token", &t->add_begin, error);
    return 0;
}

int tokenizer_create(tokenizer **made, const gguf *file, char *error)
{
    tokenizer *t = calloc(1, sizeof *t);
    *made = NULL;
    if (!t)
        return no_memory(error);
    make_alphabet(t->byte_of);
    if (read_kind(t, file, error) || read_tokens(t, file, error))
        goto failed;
    index_tokens(t);
    if (read_merges(t, file, error) || read_special_ids(t, file, error))
        goto failed;
    *made = t;
    return 0;
failed:
    tokenizer_destroy(t);
    return -1;
}

void tokenizer_destroy(tokenizer *t)
{
    if (!t)
        return;
    HASH_CLEAR(hh, t->by_bytes);
    HASH_CLEAR(hh, t->specials_by_bytes);
    HASH_CLEAR(hh, t->by_pair);
    free(t->tokens);
    free(t->specials);
    free(t->bytes);
    free(t->merges);
    free(t);
}

int tokenizer_size(const tokenizer *t)
{
    return t->count;
}

int tokenizer_end(const tokenizer *t)
{
    return t->end;
}

gguf_string tokenizer_text(const tokenizer *t, int id)
{
    if (id < 0 || id >= t->count)
        return (gguf_string){"", 0};
    return (gguf_string){t->tokens[id].bytes, t->tokens[id].length};
}

/* ---- encode ------------------------------------------------------------------------------------- */

/* A growing list of tokens, and room for the words that are merged. */
typedef struct symbol {
    int token; /* -1: merged into the one before */
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

static bool before(const candidate *a, const candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->left < b->left;
}

static void heap_push(encoder *e, candidate added)
{
    size_t at = e->heap_count++;
    for (; at > 0 && before(&added, &e->heap[(at - 1) / 2]); at = (at - 1) / 2)
        e->heap[at] = e->heap[(at - 1) / 2];
    e->heap[at] = added;
}

static candidate heap_pop(encoder *e)
{
    candidate top = e->heap[0], last = e->heap[--e->heap_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < e->heap_count && before(&e->heap[child + 1], &e->heap[child]))
            child++;
        if (child >= e->heap_count || !before(&e->heap[child], &last))
            break;
        e->heap[at] = e->heap[child];
        at = child;
    }
    e->heap[at] = last;
    return top;
}

static void consider(encoder *e, int left, int right)
{
    const merge *m;
    if (left < 0 || right < 0)
        return;
    m = find_merge(e->t, e->symbols[left].token, e->symbols[right].token);
    if (m)
        heap_push(e, (candidate){m->rank, left, right, m->pair.left, m->pair.right, m->result});
}

static void apply(encoder *e, const candidate *c)
{
    symbol *left = &e->symbols[c->left], *right = &e->symbols[c->right];
    if (left->token != c->left_token || right->token != c->right_token || left->next != c->right)
        return;
    left->token = c->result;
    left->next = right->next;
    if (right->next >= 0)
        e->symbols[right->next].previous = c->left;
    right->token = -1;
    consider(e, left->previous, c->left);
    consider(e, c->left, left->next);
}

static int encode_word(encoder *e, const char *word, size_t length, char *error)
{
    int previous = -1;
    for (size_t i = 0; i < length; i++) {
        int id = e->t->byte_token[(unsigned char)word[i]];
        if (id < 0 && e->t->unknown < 0)
            return fail(error, "the vocabulary has no token for the byte 0x%02X of the text", (unsigned char)word[i]);
        e->symbols[i] = (symbol){id < 0 ? e->t->unknown : id, previous, i + 1 < length ? (int)i + 1 : -1};
        previous = (int)i;
    }
    e->heap_count = 0;
    for (size_t i = 0; i + 1 < length; i++)
        consider(e, (int)i, (int)i + 1);
    while (e->heap_count) {
        candidate best = heap_pop(e);
        apply(e, &best);
    }
    for (int i = 0; i >= 0; i = e->symbols[i].next)
        e->tokens[e->count++] = e->symbols[i].token;
    return 0;
}

/* The longest special token that text starts with; -1: none. */
static int special_at(const tokenizer *t, const char *text, size_t length)
{
    for (int i = 0; i < t->special_count; i++) {
        const token *special = &t->tokens[t->specials[i]];
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
        int special = special_at(e->t, text + at, length - at);
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
        return fail(error, "the text has %zu bytes, more than the tokenizer takes", length);
    e.tokens = malloc((length + 1) * sizeof *e.tokens); /* no token is shorter than a byte; one may begin the text */
    e.symbols = malloc((length + 1) * sizeof *e.symbols);
    e.heap = malloc((3 * length + 1) * sizeof *e.heap); /* each byte adds one candidate, each merge at most two */
    if (!e.tokens || !e.symbols || !e.heap) {
        no_memory(error);
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
