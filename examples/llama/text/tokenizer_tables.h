/* The tables of a tokenizer: tokenizer.c reads them from a file, encode.c uses them. */
#ifndef LLAMA_TOKENIZER_TABLES_H
#define LLAMA_TOKENIZER_TABLES_H
#include "tokenizer.h"

/* When memory runs out, uthash sets out_of_memory, a local of each function that adds, and does not end the program. */
#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(added) (out_of_memory = true)
#include <uthash.h>

typedef struct tokenizer_token {
    char *bytes;
    size_t length;
    bool special;
    UT_hash_handle hh;
} tokenizer_token;

typedef struct merge_pair {
    int32_t left, right;
} merge_pair;

typedef struct tokenizer_merge {
    merge_pair pair;
    int rank, result;
    UT_hash_handle hh;
} tokenizer_merge;

struct tokenizer {
    tokenizer_token *tokens; /* by id */
    int count;
    char *bytes; /* of all tokens */
    tokenizer_token *by_bytes, *specials_by_bytes;
    int *specials; /* ids, the longest first */
    int special_count;
    tokenizer_merge *merges, *by_pair;
    int byte_of[324];    /* the byte alphabet; -1: not in it */
    int byte_token[256]; /* -1: none */
    int unknown, begin, end;
    bool add_begin, digits_alone;
};

/* Returns the merge of these two tokens; NULL if there is none. */
const tokenizer_merge *tokenizer_find_merge(const tokenizer *t, int left, int right);
/* Sets error, and returns -1. */
__attribute__((format(printf, 2, 3))) int tokenizer_fail(char *error, const char *format, ...);
int tokenizer_no_memory(char *error);
#endif
