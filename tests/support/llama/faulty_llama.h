/* For tests of faults that are planted into the llama example: a model, and a pass of it that can be run again and
 * again from the same contents of its memory. */
#ifndef BG_TESTS_FAULTY_LLAMA_H
#define BG_TESTS_FAULTY_LLAMA_H

#include "examples/llama/faults/faults.h"
#include "examples/llama/model.h"
#include "tests/support/llama/llama_support.h"
#include "tests/support/support.h"

typedef struct faulty {
    const llama_config *config;
    cudaStream_t stream;
    llama_model *model;
    bg_graph *pass; /* captured before anything is planted, for the names and sites of its calls */
    int passes;     /* calls of faulty_forward */
} faulty;

/* With random weights, seed 1. Close also takes out what is planted. */
void faulty_open(faulty *f, const llama_config *config);
void faulty_close(faulty *f);
/* Setup and teardown: the small model. */
int faulty_setup(void **state);
int faulty_teardown(void **state);
/* SmolLM2's shape; skips the test of a small workload. */
void faulty_open_smollm2(faulty *f);

typedef struct planted {
    const char *calls[LLAMA_FAULTS_MAX];
    int count;
} planted;
/* Plants the fault, and says so. */
planted faulty_plant(const faulty *f, llama_fault kind, uint64_t seed);

/* A bg_forward whose user is the faulty. */
bg_status faulty_forward(void *user, cudaStream_t stream);

/* The model stands at position 2 of a text, by eager passes; the rows behind that hold another text's. */
enum { FAULTY_POSITION = 2 };
void faulty_settle(faulty *f);

/* The logits that are there; the caller frees them. */
float *faulty_logits(const faulty *f);
bool faulty_same(const faulty *f, const float *a, const float *b); /* bit for bit */

/* What an eager pass leaves, from the settled model. */
float *faulty_eager(faulty *f);
/* Captures the pass with these calls eager (a pattern, or NULL), launching nothing. The caller destroys the graph. */
bg_graph *faulty_capture(faulty *f, const char *eager);
/* What a replay leaves, from the settled model. */
float *faulty_replay(faulty *f, bg_graph *graph);

/* Where the call of that name stands; the test fails where the pass has none. */
bg_site faulty_site(const faulty *f, const char *call);

#endif
