/* `make demo`: one prompt in all four ways, compared. */
#ifndef LLAMA_DEMO_H
#define LLAMA_DEMO_H
#include "model.h"
#include "examples/llama/text/text.h"

/* Generates `tokens` tokens after the prompt eagerly, in one graph, in segments, and in debug mode; prints the text and
 * a table, and says what is wrong. Returns true if nothing is: the same tokens, the same logits bit for bit, the
 * segments, breaks and steps that the model's structure asks for, and no text that repeats itself. */
bool llama_demo(llama_model *model, const tokenizer *t, const int *prompt, int prompt_count, int tokens);
#endif
