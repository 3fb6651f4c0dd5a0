#include "tokenizer_tables.h"
#include "unicode.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* tokenizer.ggml.token_type */
enum { TYPE_NORMAL = 1, TYPE_CONTROL = 3, TYPE_USER_DEFINED = 4 };

int tokenizer_fail(char *error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(error, GGUF_ERROR_SIZE, format, list);
    va_end(list);
    return -1;
}

int tokenizer_no_memory(char *error)
{
    return tokenizer_fail(error, "out of host memory for the tokenizer; free some memory");
}

/* ---- the byte alphabet -------------------------------------------------------------------------- */

/* GGUF spells the bytes of a token in GPT-2's alphabet: printable Latin-1 bytes stand for themselves, and the
 * characters from U+0100 on stand for the other 68 bytes, in order. */
static bool stands_for_itself(int byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/* Fills byte_of[code] for the codes below 324; -1 for a code outside the alphabet. */
static void make_alphabet(int byte_of[324])
{
    int next = 256;
    for (int code = 0; code < 324; code++)
        byte_of[code] = -1;
    for (int byte = 0; byte < 256; byte++)
        byte_of[stands_for_itself(byte) ? byte : next++] = byte;
}

/* Decodes text into bytes (no longer than text). Returns their number, or -1 for a character outside the alphabet. */
static long decode_byte_alphabet(gguf_string text, const int byte_of[324], char *bytes)
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

static int find_token_in(const tokenizer_token *table, const tokenizer_token *tokens, const char *bytes, size_t length)
{
    tokenizer_token *found;
    HASH_FIND(hh, (tokenizer_token *)table, bytes, length, found);
    return found ? (int)(found - tokens) : -1;
}

int tokenizer_find_token(const tokenizer *t, const char *bytes, size_t length)
{
    int special = find_token_in(t->specials_by_bytes, t->tokens, bytes, length);
    return special >= 0 ? special : find_token_in(t->by_bytes, t->tokens, bytes, length);
}

/* If two tokens have the same bytes, tokenizer_find_token returns the first. */
static int index_token(tokenizer *t, tokenizer_token *entry, char *error)
{
    bool out_of_memory = false;
    tokenizer_token **table = entry->special ? &t->specials_by_bytes : &t->by_bytes;
    if (find_token_in(*table, t->tokens, entry->bytes, entry->length) >= 0)
        return 0;
    HASH_ADD_KEYPTR(hh, *table, entry->bytes, entry->length, entry);
    return out_of_memory ? tokenizer_no_memory(error) : 0;
}

static int read_token(tokenizer *t, const gguf *file, int id, gguf_string text, int32_t type, char *bytes, char *error)
{
    tokenizer_token *entry = &t->tokens[id];
    long length = (long)text.length;
    entry->special = type == TYPE_CONTROL || type == TYPE_USER_DEFINED;
    entry->bytes = bytes;
    if (entry->special || type != TYPE_NORMAL)
        memcpy(bytes, text.text, text.length);
    else if ((length = decode_byte_alphabet(text, t->byte_of, bytes)) < 0)
        return tokenizer_fail(error,
                              "%s: the key tokenizer.ggml.tokens: token %d has a character outside the byte alphabet",
                              gguf_name(file), id);
    entry->length = (size_t)length;
    if (entry->length == 0 || !(entry->special || type == TYPE_NORMAL))
        return 0; /* unused and unknown tokens are never found in text */
    if (entry->special)
        t->specials[t->special_count++] = id;
    return index_token(t, entry, error);
}

/* Returns the sum of the texts' lengths. */
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
    bool typed = gguf_has_key(file, "tokenizer.ggml.token_type");
    char *bytes;
    if (gguf_get_array(file, "tokenizer.ggml.tokens", GGUF_STRING, &texts, error) ||
        (typed && gguf_get_array(file, "tokenizer.ggml.token_type", GGUF_I32, &types, error)))
        return -1;
    if (texts.count == 0 || texts.count > INT32_MAX)
        return tokenizer_fail(error, "%s: the key tokenizer.ggml.tokens has %llu elements", gguf_name(file),
                              (unsigned long long)texts.count);
    if (typed && types.count != texts.count)
        return tokenizer_fail(error,
                              "%s: the key tokenizer.ggml.token_type has %llu elements, tokenizer.ggml.tokens %llu",
                              gguf_name(file), (unsigned long long)types.count, (unsigned long long)texts.count);
    t->count = (int)texts.count;
    t->tokens = calloc(texts.count, sizeof *t->tokens);
    t->specials = calloc(texts.count, sizeof *t->specials);
    t->bytes = bytes = malloc(total_bytes(texts) + 1);
    if (!t->tokens || !t->specials || !bytes)
        return tokenizer_no_memory(error);
    for (int id = 0; id < t->count; id++) {
        gguf_string text = gguf_next_string(&texts);
        if (read_token(t, file, id, text, typed ? gguf_array_i32(&types, (uint64_t)id) : TYPE_NORMAL, bytes, error))
            return -1;
        bytes += text.length;
    }
    return 0;
}

static int compare_special_lengths(const void *a, const void *b, void *tokens)
{
    const tokenizer_token *left = (const tokenizer_token *)tokens + *(const int *)a,
                          *right = (const tokenizer_token *)tokens + *(const int *)b;
    return (left->length < right->length) - (left->length > right->length);
}

static void index_tokens(tokenizer *t)
{
    qsort_r(t->specials, (size_t)t->special_count, sizeof *t->specials, compare_special_lengths, t->tokens);
    for (int byte = 0; byte < 256; byte++)
        t->byte_token[byte] = find_token_in(t->by_bytes, t->tokens, &(char){(char)byte}, 1);
}

/* ---- the merges --------------------------------------------------------------------------------- */

const tokenizer_merge *tokenizer_find_merge(const tokenizer *t, int left, int right)
{
    merge_pair pair = {left, right};
    tokenizer_merge *found;
    HASH_FIND(hh, t->by_pair, &pair, sizeof pair, found);
    return found;
}

/* Reads "left right"; a merge that names tokens which the vocabulary lacks is an error. */
static int read_merge(tokenizer *t, const gguf *file, gguf_string text, int rank, char *scratch, char *error)
{
    bool out_of_memory = false;
    tokenizer_merge *m = &t->merges[rank];
    const char *space = text.length > 2 ? memchr(text.text + 1, ' ', text.length - 2) : NULL;
    long left, right;
    if (!space)
        return tokenizer_fail(error,
                              "%s: the key tokenizer.ggml.merges: merge %d is not two tokens with a space between",
                              gguf_name(file), rank);
    left = decode_byte_alphabet((gguf_string){text.text, (size_t)(space - text.text)}, t->byte_of, scratch);
    if (left < 0)
        goto unknown;
    right = decode_byte_alphabet((gguf_string){space + 1, text.length - (size_t)(space - text.text) - 1}, t->byte_of,
                                 scratch + left);
    if (right < 0)
        goto unknown;
    m->rank = rank;
    m->pair.left = find_token_in(t->by_bytes, t->tokens, scratch, (size_t)left);
    m->pair.right = find_token_in(t->by_bytes, t->tokens, scratch + left, (size_t)right);
    m->result = find_token_in(t->by_bytes, t->tokens, scratch, (size_t)(left + right));
    if (m->pair.left < 0 || m->pair.right < 0 || m->result < 0)
        goto unknown;
    if (tokenizer_find_merge(t, m->pair.left, m->pair.right))
        return 0; /* listed twice: the first has the better rank */
    HASH_ADD(hh, t->by_pair, pair, sizeof m->pair, m);
    return out_of_memory ? tokenizer_no_memory(error) : 0;
unknown:
    return tokenizer_fail(error,
                          "%s: the key tokenizer.ggml.merges: merge %d names a token that tokenizer.ggml.tokens lacks",
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
        return tokenizer_fail(error, "%s: the key tokenizer.ggml.merges has too many elements", gguf_name(file));
    t->merges = calloc(texts.count + 1, sizeof *t->merges);
    scratch = malloc(total_bytes(texts) + 1);
    if (!t->merges || !scratch) {
        tokenizer_no_memory(error);
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

static int read_token_id(const tokenizer *t, const gguf *file, const char *key, int *id, char *error)
{
    int64_t value;
    *id = -1;
    if (!gguf_has_key(file, key))
        return 0;
    if (gguf_get_int(file, key, 0, t->count - 1, &value, error))
        return -1;
    *id = (int)value;
    return 0;
}

static bool string_equals(gguf_string string, const char *text)
{
    return string.length == strlen(text) && memcmp(string.text, text, string.length) == 0;
}

static int read_tokenizer_model(tokenizer *t, const gguf *file, char *error)
{
    gguf_string model, pre;
    if (gguf_get_string(file, "tokenizer.ggml.model", &model, error))
        return -1;
    if (!string_equals(model, "gpt2"))
        return tokenizer_fail(
            error, "%s: the key tokenizer.ggml.model is \"%.*s\"; only \"gpt2\" (byte-level BPE) is supported",
            gguf_name(file), (int)(model.length > 64 ? 64 : model.length), model.text);
    if (gguf_get_string(file, "tokenizer.ggml.pre", &pre, error))
        return -1;
    t->digits_alone = string_equals(pre, "smollm") || string_equals(pre, "starcoder");
    if (!t->digits_alone && !string_equals(pre, "gpt-2"))
        return tokenizer_fail(
            error, "%s: the key tokenizer.ggml.pre is \"%.*s\"; supported are \"smollm\", \"starcoder\" and \"gpt-2\"",
            gguf_name(file), (int)(pre.length > 64 ? 64 : pre.length), pre.text);
    return 0;
}

static int read_special_ids(tokenizer *t, const gguf *file, char *error)
{
    if (read_token_id(t, file, "tokenizer.ggml.unknown_token_id", &t->unknown, error) ||
        read_token_id(t, file, "tokenizer.ggml.bos_token_id", &t->begin, error) ||
        read_token_id(t, file, "tokenizer.ggml.eos_token_id", &t->end, error))
        return -1;
    if (gguf_has_key(file, "tokenizer.ggml.add_bos_token"))
        return gguf_get_bool(file, "tokenizer.ggml.add_bos_token", &t->add_begin, error);
    return 0;
}

int tokenizer_create(tokenizer **made, const gguf *file, char *error)
{
    tokenizer *t = calloc(1, sizeof *t);
    *made = NULL;
    if (!t)
        return tokenizer_no_memory(error);
    make_alphabet(t->byte_of);
    if (read_tokenizer_model(t, file, error) || read_tokens(t, file, error))
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

int tokenizer_end_token(const tokenizer *t)
{
    return t->end;
}

gguf_string tokenizer_get_bytes(const tokenizer *t, int id)
{
    if (id < 0 || id >= t->count)
        return (gguf_string){"", 0};
    return (gguf_string){t->tokens[id].bytes, t->tokens[id].length};
}
