/* `make demo`: runs one prompt in four ways, and compares them. */
#ifndef LLAMA_DEMO_H
#define LLAMA_DEMO_H
#include "model.h"
#include "examples/llama/text/text.h"

/* Generates `tokens` tokens after the prompt eagerly, in one graph, in segments, and in debug mode; prints the text, a
 * table and what is wrong. Returns true if the tokens are equal, the logits are equal bit for bit, the numbers of
 * segments, breaks and steps fit the model, and the text does not repeat itself. */
bool llama_demo(llama_model *model, const tokenizer *t, const int *prompt, int prompt_count, int tokens);
#endif
