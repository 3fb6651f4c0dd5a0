/* What tests of examples/llama share: models with random weights, the real one, and what goes with its scope. */
#ifndef BG_TESTS_LLAMA_SUPPORT_H
#define BG_TESTS_LLAMA_SUPPORT_H

#include "examples/llama/generate.h"
#include "tests/support/test.h"

/* Before a declaration: the function gets the variable's address at the end of the scope, that of the last one first.
 */
#define FREED_BY(release) __attribute__((cleanup(release), unused))
void free_model(llama_model **model);
void free_block(void *block); /* the address of a pointer to malloc's memory */
void close_file(gguf **file);

/* The text holds the words. */
#define EXPECT_SAYS(text, words) expect_says(text, words, __FILE__, __LINE__)
void expect_says(const char *text, const char *words, const char *file, int line);

/* An initializer: little of it is a power of two. The members without which it is none are to be named. */
enum { ODD_VOCABULARY = 101 };
#define ODD_SHAPE(...)                                                                                                 \
    {                                                                                                                  \
        .layers = 2, .hidden = 77, .head_dim = 20, .vocabulary = ODD_VOCABULARY, .context = 100, .rope_base = 500.0f,  \
        .norm_epsilon = 1e-4f, __VA_ARGS__                                                                             \
    }

/* An initializer of a llama_request that no token stops. */
#define REQUEST(prompt_, prompt_count_, tokens_, ...)                                                                  \
    {                                                                                                                  \
        .prompt = prompt_, .prompt_count = prompt_count_, .tokens = tokens_, .stop = -1, __VA_ARGS__                   \
    }

/* The ways to generate a text. */
typedef enum text_way { EAGER, FULL, BREAKABLE, DEBUG, OPS, TEXT_WAYS } text_way;
extern const struct text_way_kind {
    const char *name;
    llama_mode mode;
    bg_debug debug;
} text_ways[TEXT_WAYS];

llama_weights random_weights(const llama_config *config, uint64_t seed);
llama_model *random_model(const llama_config *config, uint64_t seed, int context, cudaStream_t stream);

/* Setup and teardown: the small model, seed 1, with a context of 64, on a stream of its own. */
int open_small_model(void **state);
int close_small_model(void **state);
#define MODEL_TEST(name) TEST_F(name, open_small_model, close_small_model, llama_model *model)

double largest(const float *values, size_t count);
/* Where the largest is, and how far it is above the second. */
int argmax(const float *values, int count);
double margin(const float *values, int count);
/* max |a - b| / max |b|; infinity where one is a NaN. */
double relative_difference(const float *a, const float *b, size_t count);

/* BREAKGRAPH_TEST_SIZE is small: under valgrind a step takes a second. */
bool small_workload(void);
/* Then skips the test: `what` is large. */
void skip_if_small(const char *what);

/* The real model's file, $BREAKGRAPH_MODEL or what `make model` fetches. Skips the test where it cannot be read, or is
 * too large for a small workload. */
const char *need_real_model(bool runs);

#endif
