/* Splits text into the words within which BPE merges. */
#ifndef LLAMA_PRETOKENIZE_H
#define LLAMA_PRETOKENIZE_H
#include <stdbool.h>
#include <stddef.h>

/* The length in bytes of the word that text (length > 0 bytes) starts with. The rule is GPT-2's pattern,
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 * ("Language Models are Unsupervised Multitask Learners", its published encoder), and with digits_alone every number
 * character is first cut out as a word of its own. */
size_t pretokenize_word(const char *text, size_t length, bool digits_alone);
#endif
