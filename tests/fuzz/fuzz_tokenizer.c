/* The tokenizer. The input is a vocabulary, its merges and a text: a line for each, an empty line between the parts;
 * before them a byte that decides about special tokens. What is encoded gives the text back. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "examples/llama/text/pretokenize.h"
#include "examples/llama/text/tokenizer.h"
#include "examples/llama/text/unicode.h"
#include "tests/support/llama/gguf_writer.h"

enum { LINES = 256, UNKNOWN = 1, BEGIN = 2, SMOLLM = 4, TYPED = 8 };

/* Takes the lines up to an empty one off text. */
static uint64_t take_lines(char **text, const char **lines)
{
    uint64_t count = 0;
    while (*text != NULL && **text != '\n' && count < LINES) {
        char *line = strsep(text, "\n");
        lines[count++] = line;
    }
    if (*text != NULL)
        (void)strsep(text, "\n");
    return count;
}

static void write_vocabulary(gguf_writer *w, int kind, char **text)
{
    const char *lines[LINES];
    int32_t types[LINES];
    uint64_t tokens = take_lines(text, lines), keys = 4;

    keys += (kind & TYPED ? 1U : 0U) + (kind & UNKNOWN ? 1U : 0U) + (kind & BEGIN ? 2U : 0U);
    write_header(w, 3, 0, keys);
    write_key_string(w, "tokenizer.ggml.model", "gpt2");
    write_key_string(w, "tokenizer.ggml.pre", kind & SMOLLM ? "smollm" : "gpt-2");
    write_key_strings(w, "tokenizer.ggml.tokens", lines, tokens);
    for (uint64_t i = 0; i < tokens; i++)
        types[i] = lines[i][0] == '<' ? 3 : 1; /* control, normal */
    if (kind & TYPED)
        write_key_i32s(w, "tokenizer.ggml.token_type", types, tokens);
    if (kind & UNKNOWN)
        write_key_u32(w, "tokenizer.ggml.unknown_token_id", 0);
    if (kind & BEGIN) {
        write_key_u32(w, "tokenizer.ggml.bos_token_id", 1);
        write_key(w, "tokenizer.ggml.add_bos_token", 7);
        write_bytes(w, "\1", 1);
    }
    write_key_strings(w, "tokenizer.ggml.merges", lines, take_lines(text, lines));
}

static void expect_words(const char *text, size_t length)
{
    for (int digits = 0; digits < 2; digits++)
        for (size_t at = 0; at < length;) {
            size_t word = pretokenize_word(text + at, length - at, digits);
            FUZZ_EXPECT(word >= 1 && word <= length - at);
            at += word;
        }
}

/* In pieces or at once, the same well-formed characters come out. */
static void expect_stream(const char *text, size_t length)
{
    unicode_stream pieces = {0}, whole = {0};
    char *out = malloc(3 * length + 24), *again = malloc(3 * length + 24);
    size_t written = 0, same;
    FUZZ_EXPECT(out != NULL && again != NULL);
    for (size_t i = 0; i < length; i++)
        written += unicode_stream_push(&pieces, text + i, 1, out + written);
    written += unicode_stream_finish(&pieces, out + written);
    same = unicode_stream_push(&whole, text, length, again);
    same += unicode_stream_finish(&whole, again + same);
    FUZZ_EXPECT(same == written && memcmp(out, again, same) == 0);
    for (size_t at = 0; at < written;) {
        uint32_t code;
        at += unicode_read(out + at, written - at, &code);
        FUZZ_EXPECT(code != UNICODE_INVALID);
    }
    free(out);
    free(again);
}

static void expect_tokens(const tokenizer *t, int kind, const char *text, size_t length)
{
    char error[GGUF_ERROR_SIZE] = "";
    int *tokens = NULL;
    size_t count = 0, at = 0;

    if (tokenizer_encode(t, text, length, &tokens, &count, error) != 0) {
        FUZZ_EXPECT(tokens == NULL && strlen(error) > 20 && (kind & UNKNOWN) == 0);
        return;
    }
    FUZZ_EXPECT(count <= length + 1);
    for (size_t i = 0; i < count; i++) {
        gguf_string token = tokenizer_get_bytes(t, tokens[i]);
        FUZZ_EXPECT(tokens[i] >= 0 && tokens[i] < tokenizer_size(t));
        if ((kind & UNKNOWN) || (i == 0 && (kind & BEGIN)))
            continue;
        FUZZ_EXPECT(token.length <= length - at && memcmp(token.text, text + at, token.length) == 0);
        at += token.length;
    }
    FUZZ_EXPECT(at == length || (kind & UNKNOWN));
    free(tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[GGUF_ERROR_SIZE] = "", *text = fuzz_text(data, size), *rest = size > 0 ? text + 1 : text;
    int kind = text[0];
    gguf_writer w = {0};
    gguf *file = NULL;
    tokenizer *t = NULL;

    write_vocabulary(&w, kind, &rest);
    FUZZ_EXPECT(gguf_open_memory(&file, w.bytes, w.size, "fuzz.gguf", error) == 0);
    if (tokenizer_create(&t, file, error) != 0)
        FUZZ_EXPECT(t == NULL && strlen(error) > 20);
    gguf_close(file);
    free_writer(&w);
    if (rest != NULL) {
        size_t length = size - (size_t)(rest - text);
        expect_words(rest, length);
        expect_stream(rest, length);
        if (t != NULL)
            expect_tokens(t, kind, rest, length);
    }
    tokenizer_destroy(t);
    free(text);
    return 0;
}
