/* The tokenizer on a small vocabulary made here, on broken ones, and on the real file against llama.cpp's tokens. */
#include "examples/llama/text/pretokenize.h"
#include "examples/llama/text/tokenizer.h"
#include "examples/llama/text/unicode.h"
#include "tests/unit/llama/golden/smollm2.h"
#include "tests/support/llama/gguf_writer.h"
#include "tests/support/llama/llama_support.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static char error[GGUF_ERROR_SIZE];

/* ---- characters and words ----------------------------------------------------------------------- */

TEST(test_classes)
{
    static const struct {
        uint32_t code;
        unicode_class class;
    } cases[] = {
        {'a', UNICODE_LETTER},           {'Z', UNICODE_LETTER},    {'@', UNICODE_OTHER},      {'[', UNICODE_OTHER},
        {'0', UNICODE_NUMBER},           {'9', UNICODE_NUMBER},    {':', UNICODE_OTHER},      {' ', UNICODE_SPACE},
        {'\n', UNICODE_SPACE},           {0x1C, UNICODE_OTHER},    {0xA0, UNICODE_SPACE},     {0xAA, UNICODE_LETTER},
        {0xB2, UNICODE_NUMBER},          {0xD7, UNICODE_OTHER},    {0xE9, UNICODE_LETTER},    {0x300, UNICODE_OTHER},
        {0x416, UNICODE_LETTER},         {0x661, UNICODE_NUMBER},  {0x93F, UNICODE_OTHER},    {0x200B, UNICODE_OTHER},
        {0x2167, UNICODE_NUMBER},        {0x3000, UNICODE_SPACE},  {0x4E00, UNICODE_LETTER},  {0x9FFF, UNICODE_LETTER},
        {0xAC00, UNICODE_LETTER},        {0x1F44D, UNICODE_OTHER}, {0x20000, UNICODE_LETTER}, {0x10FFFF, UNICODE_OTHER},
        {UNICODE_INVALID, UNICODE_OTHER}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (unicode_classify(cases[i].code) != cases[i].class)
            print_error("U+%04X has the class %d\n", cases[i].code, unicode_classify(cases[i].code));
        assert_int_equal(unicode_classify(cases[i].code), cases[i].class);
    }
}

TEST(test_every_character_survives)
{
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        char text[4];
        uint32_t read;
        size_t bytes = unicode_write(code, text);
        bool surrogate = code >= 0xD800 && code <= 0xDFFF;
        assert_int_equal(unicode_read(text, bytes, &read), surrogate ? 1 : bytes);
        assert_int_equal(read, surrogate ? UNICODE_INVALID : code);
        if (bytes > 1) /* cut short, it is no character */
            assert_int_equal(unicode_read(text, bytes - 1, &read), 1);
    }
}

TEST(test_malformed_bytes)
{
    static const char *const cases[] = {"\x80",
                                        "\xC0\x80",
                                        "\xC1\xBF",
                                        "\xE0\x9F\xBF",
                                        "\xED\xA0\x80",
                                        "\xF0\x8F\xBF\xBF",
                                        "\xF4\x90\x80\x80",
                                        "\xF5\x80\x80\x80",
                                        "\xFF",
                                        "\xE2\x82",
                                        "\xC3("};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t code;
        assert_int_equal(unicode_read(cases[i], strlen(cases[i]), &code), 1);
        assert_int_equal(code, UNICODE_INVALID);
    }
}

static void expect_stream(const char *bytes, const char *expected)
{
    unicode_stream stream = {0};
    char out[256];
    size_t written = 0;
    for (size_t i = 0; bytes[i]; i++)
        written += unicode_stream_push(&stream, bytes + i, 1, out + written);
    written += unicode_stream_finish(&stream, out + written);
    out[written] = 0;
    assert_string_equal(out, expected);
}

TEST(test_stream_holds_back_unfinished_characters)
{
    unicode_stream stream = {0};
    char out[32];
    assert_int_equal(unicode_stream_push(&stream, "\xE2\x82", 2, out), 0);
    assert_int_equal(unicode_stream_push(&stream, "\xAC!", 2, out), 4);
    assert_memory_equal(out, "\xE2\x82\xAC!", 4);
    assert_int_equal(unicode_stream_finish(&stream, out), 0);
    expect_stream("plain", "plain");
    expect_stream("\xF0\x9F\x91\x8D", "\xF0\x9F\x91\x8D");
    expect_stream("a\xF0\x9F", "a\xEF\xBF\xBD");
    expect_stream("\xE2\x82x", "\xEF\xBF\xBDx");
    expect_stream("\xFF\x80z", "\xEF\xBF\xBD\xEF\xBF\xBDz");
    expect_stream("\xC3\xC3\xA9", "\xEF\xBF\xBD\xC3\xA9");
}

/* The words of text, with | between. */
static void expect_words(const char *text, bool digits_alone, const char *expected)
{
    char joined[256];
    size_t length = strlen(text), at = 0;
    while (length) {
        size_t word = pretokenize_word(text, length, digits_alone);
        assert_in_range(word, 1, length);
        at += (size_t)snprintf(joined + at, sizeof joined - at, "%s%.*s", at ? "|" : "", (int)word, text);
        text += word;
        length -= word;
    }
    assert_string_equal(joined, expected);
}

TEST(test_words)
{
    expect_words("Hello world", false, "Hello| world");
    expect_words("it's we'll I'D 'quoted'", false, "it|'s| we|'ll| I|'|D| '|quoted|'");
    expect_words("a  b", false, "a| | b");
    expect_words("a \n b\n", false, "a| \n| b|\n");
    expect_words("end   ", false, "end|   ");
    expect_words("x 12 y34", false, "x| 12| y|34");
    expect_words("x 12 y34", true, "x| |1|2| y|3|4");
    expect_words("a   7", true, "a|   |7");
    expect_words("a   7", false, "a|  | 7");
    expect_words("(x)...!? y", false, "(|x|)...!?| y");
    expect_words("\xC3\xA9t\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC\xE3\x80\x82", false,
                 "\xC3\xA9t\xC3\xA9| \xE6\x97\xA5\xE6\x9C\xAC|\xE3\x80\x82");
    expect_words("\xD9\xA1\xD9\xA2", true, "\xD9\xA1|\xD9\xA2");
    expect_words("\xE3\x80\x80x", false, "\xE3\x80\x80|x");
    expect_words("a\xFF\xFE z", false, "a|\xFF\xFE| z");
}

/* ---- a small vocabulary ------------------------------------------------------------------------- */

/* "\xC4\xA0" is U+0120, which stands for a space; "\xC3\x83" is U+00C3, for the byte C3; "\xC2\xA9" is U+00A9, for the
 * byte A9. */
#define SPACE "\xC4\xA0"
#define ACUTE "\xC3\x83\xC2\xA9"
static const char *const tokens[] = {
    "<|end|>",  "<|start|>", "h",    "e",     "l",       "o",           SPACE, "a",  "b",  "c",
    "he",       "ll",        "hell", "hello", SPACE "h", SPACE "hello", "ab",  "bc", "aa", "aaaa",
    "\xC3\x83", "\xC2\xA9",  ACUTE,  "<|st",  "|",       "<",           ">",   "s",  "t",  "r"};
enum { END, START, H, E, L, O, SP, A, B, C, HE, LL, HELL, HELLO, SP_H, SP_HELLO, AB, BC, AA, AAAA };
enum { C3 = AAAA + 1, A9, E_ACUTE, ODD, BAR, LESS, MORE, S, T, R, TOKENS };
static const char *const merges[] = {"h e", "l l", "he ll", "hell o", SPACE " hello",
                                     "b c", "a b", "a a",   "aa aa",  "\xC3\x83 \xC2\xA9"};

typedef struct vocabulary {
    const char *model, *pre;
    const char *const *merges;
    uint64_t merge_count, type_count;
    uint32_t unknown; /* UINT32_MAX: none */
} vocabulary;

enum { MERGES = sizeof merges / sizeof merges[0] };
static const vocabulary usual = {"gpt2", "gpt-2", merges, MERGES, TOKENS, UINT32_MAX};

static int make_tokenizer(tokenizer **t, const vocabulary *v)
{
    FREED_BY(free_writer) gguf_writer w = {0};
    FREED_BY(close_file) gguf *file = NULL;
    int32_t types[TOKENS];
    bool has_unknown = v->unknown != UINT32_MAX;
    for (int i = 0; i < TOKENS; i++)
        types[i] = i <= START ? 3 : i == ODD ? 5 : 1;
    write_header(&w, 3, 0, has_unknown ? 7 : 6);
    write_key_string(&w, "tokenizer.ggml.model", v->model);
    write_key_string(&w, "tokenizer.ggml.pre", v->pre);
    write_key_strings(&w, "tokenizer.ggml.tokens", tokens, TOKENS);
    write_key_i32s(&w, "tokenizer.ggml.token_type", types, v->type_count);
    write_key_strings(&w, "tokenizer.ggml.merges", v->merges, v->merge_count);
    write_key_u32(&w, "tokenizer.ggml.eos_token_id", END);
    if (has_unknown)
        write_key_u32(&w, "tokenizer.ggml.unknown_token_id", v->unknown);
    assert_int_equal(gguf_open_memory(&file, w.bytes, w.size, "test.gguf", error), 0);
    return tokenizer_create(t, file, error);
}

static void expect_tokens(const tokenizer *t, const char *text, int count, const int *expected)
{
    FREED_BY(free_block) int *found = NULL;
    size_t found_count;
    if (tokenizer_encode(t, text, strlen(text), &found, &found_count, error))
        fail_msg("\"%s\": %s", text, error);
    if ((int)found_count != count || memcmp(found, expected, sizeof(int) * found_count) != 0)
        for (size_t i = 0; i < found_count; i++)
            print_error("\"%s\": token %zu is %d\n", text, i, found[i]);
    assert_int_equal(found_count, count);
    assert_memory_equal(found, expected, sizeof(int) * found_count);
}

#define EXPECT(text, ...) expect_tokens(t, text, sizeof((int[]){__VA_ARGS__}) / sizeof(int), (int[]){__VA_ARGS__})

static int open_usual(void **state)
{
    tokenizer *t;
    assert_int_equal(make_tokenizer(&t, &usual), 0);
    *state = t;
    return 0;
}

static int close_tokenizer(void **state)
{
    tokenizer_destroy(*state);
    return 0;
}

#define TOKENIZER_TEST(name) TEST_F(name, open_usual, close_tokenizer, tokenizer *t)

TOKENIZER_TEST(test_merges_by_rank)
{
    EXPECT("hello", HELLO);
    EXPECT(" hello", SP_HELLO);
    EXPECT("hello hello", HELLO, SP_HELLO);
    EXPECT("hel", HE, L);
    EXPECT("abc", A, BC); /* "b c" has the better rank, though "a b" comes first */
    EXPECT("ab", AB);
    EXPECT("aaa", AA, A);
    EXPECT("aaaaaaa", AAAA, AA, A);
    EXPECT("\xC3\xA9", E_ACUTE);
}

TOKENIZER_TEST(test_special_tokens)
{
    EXPECT("<|start|>hello<|end|>", START, HELLO, END);
    EXPECT("<|start|><|start|>", START, START);
    EXPECT("<|start", LESS, BAR, S, T, A, R, T);
    EXPECT("<|st", LESS, BAR, S, T); /* an unused token is never found */
    assert_int_equal(tokenizer_end_token(t), END);
    assert_int_equal(tokenizer_size(t), TOKENS);
    assert_int_equal(tokenizer_find_token(t, "<|end|>", 7), END);
    assert_int_equal(tokenizer_find_token(t, " hello", 6), SP_HELLO);
    assert_int_equal(tokenizer_find_token(t, "zz", 2), -1);
}

TOKENIZER_TEST(test_token_texts)
{
    assert_int_equal(tokenizer_get_bytes(t, SP_HELLO).length, 6);
    assert_memory_equal(tokenizer_get_bytes(t, SP_HELLO).text, " hello", 6);
    assert_memory_equal(tokenizer_get_bytes(t, E_ACUTE).text, "\xC3\xA9", 2);
    assert_memory_equal(tokenizer_get_bytes(t, START).text, "<|start|>", 9);
    assert_int_equal(tokenizer_get_bytes(t, -1).length, 0);
    assert_int_equal(tokenizer_get_bytes(t, TOKENS).length, 0);
}

TOKENIZER_TEST(test_empty_text)
{
    FREED_BY(free_block) int *found = NULL;
    size_t count;
    assert_int_equal(tokenizer_encode(t, "", 0, &found, &count, error), 0);
    assert_int_equal(count, 0);
}

TOKENIZER_TEST(test_byte_outside_the_vocabulary)
{
    const vocabulary with_unknown = {"gpt2", "gpt-2", merges, MERGES, TOKENS, END};
    int *found;
    size_t count;
    assert_int_equal(tokenizer_encode(t, "hex", 3, &found, &count, error), -1);
    assert_null(found);
    EXPECT_SAYS(error, "byte 0x78");
    assert_int_equal(make_tokenizer(&t, &with_unknown), 0);
    EXPECT("hex", HE, END);
    tokenizer_destroy(t);
}

/* Two hundred thousand letters are one word: merging must not take time with the square of its length. */
TOKENIZER_TEST(test_long_word)
{
    const size_t length = 200000;
    FREED_BY(free_block) char *text = malloc(length);
    FREED_BY(free_block) int *found = NULL;
    clock_t start = clock();
    size_t count;
    assert_non_null(text);
    memset(text, 'a', length);
    assert_int_equal(tokenizer_encode(t, text, length, &found, &count, error), 0);
    assert_int_equal(count, length / 4);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 60);
}

static void expect_refused(const vocabulary *v, const char *words)
{
    tokenizer *t;
    assert_int_equal(make_tokenizer(&t, v), -1);
    assert_null(t);
    EXPECT_SAYS(error, words);
}

TEST(test_broken_vocabularies)
{
    static const char *const one_word[] = {"hello"}, *const strange[] = {"h zz"}, *const result[] = {"h o"},
                             *const blank[] = {"h  e"};
    const struct {
        vocabulary vocabulary;
        const char *words;
    } cases[] = {
        {{"llama", "gpt-2", merges, MERGES, TOKENS, UINT32_MAX}, "tokenizer.ggml.model is \"llama\""},
        {{"gpt2", "tekken", merges, MERGES, TOKENS, UINT32_MAX}, "tokenizer.ggml.pre is \"tekken\"; supported are"},
        {{"gpt2", "gpt-2", merges, MERGES, TOKENS - 1, UINT32_MAX},
         "tokenizer.ggml.token_type has 29 elements, tokenizer.ggml.tokens 30"},
        {{"gpt2", "gpt-2", merges, MERGES, TOKENS, TOKENS}, "tokenizer.ggml.unknown_token_id is out of range"},
        {{"gpt2", "gpt-2", one_word, 1, TOKENS, UINT32_MAX}, "merge 0 is not two tokens"},
        {{"gpt2", "gpt-2", strange, 1, TOKENS, UINT32_MAX}, "merge 0 names a token"},
        {{"gpt2", "gpt-2", result, 1, TOKENS, UINT32_MAX}, "merge 0 names a token"},
        {{"gpt2", "gpt-2", blank, 1, TOKENS, UINT32_MAX}, "merge 0 names a token"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_refused(&cases[i].vocabulary, cases[i].words);
}

TEST(test_missing_keys)
{
    FREED_BY(free_writer) gguf_writer w = {0};
    FREED_BY(close_file) gguf *file = NULL;
    tokenizer *t;
    write_header(&w, 3, 0, 2);
    write_key_string(&w, "tokenizer.ggml.model", "gpt2");
    write_key_string(&w, "tokenizer.ggml.pre", "smollm");
    assert_int_equal(gguf_open_memory(&file, w.bytes, w.size, "test.gguf", error), 0);
    assert_int_equal(tokenizer_create(&t, file, error), -1);
    EXPECT_SAYS(error, "the key tokenizer.ggml.tokens is missing");
}

/* ---- the real file ------------------------------------------------------------------------------ */

static tokenizer *open_real(void)
{
    FREED_BY(close_file) gguf *file = NULL;
    tokenizer *t = NULL;
    if (gguf_open(&file, need_real_model(false), error) || tokenizer_create(&t, file, error))
        fail_msg("%s", error);
    return t;
}

static void expect_text(const tokenizer *t, const int *ids, int count, const char *text)
{
    for (int i = 0; i < count; i++) {
        gguf_string piece = tokenizer_get_bytes(t, ids[i]);
        assert_memory_equal(piece.text, text, piece.length);
        text += piece.length;
    }
    assert_string_equal(text, "");
}

/* golden/make_golden.py made these with llama.cpp. */
TEST(test_real_file)
{
    tokenizer *t = open_real();
    for (int i = 0; i < GOLDEN_TEXTS; i++) {
        expect_tokens(t, golden_texts[i].text, golden_texts[i].count, golden_texts[i].tokens);
        expect_text(t, golden_texts[i].tokens, golden_texts[i].count, golden_texts[i].text);
    }
    for (int i = 0; i < GOLDEN_PROMPTS; i++) {
        expect_tokens(t, goldens[i].prompt, goldens[i].prompt_length, goldens[i].prompt_tokens);
        expect_text(t, goldens[i].tokens, GOLDEN_TOKENS, goldens[i].text);
    }
    tokenizer_destroy(t);
}
