#!/usr/bin/env python3
"""Writes smollm2.h: the prompts' tokens and 32 greedy tokens each, and the tokens of some texts, by llama-cpp-python on a CPU.

    python3 -m venv v && v/bin/pip install llama-cpp-python
    v/bin/python tests/unit/llama/golden/make_golden.py model/SmolLM2-135M-Instruct.Q4_1.gguf > tests/unit/llama/golden/smollm2.h

The prompts go in raw: no chat template, no token put before them. llama.cpp rounds the activations to 8 bits before each
product with a quantised weight, and so is itself inexact: where its two best logits lie closer together than that error, a
decoder in fp32 may rightly choose the other. The prompts are such that it does not happen; the smallest margin is printed
on standard error.
"""
import sys

import llama_cpp
import numpy

PROMPTS = [
    "The first ten prime numbers are",
    "def fibonacci(n):\n",
    "Q: What is 12 + 30?\nA:",
]
TOKENS = 32

# What the tokenizer must get right: runs of spaces, digits, contractions, letters and numbers beyond ASCII, special tokens.
TEXTS = [
    "Hello, world! It's 2024; they'll've 3.14 reasons.",
    "  two  spaces   and\ttabs\n\n\nand lines  \n end ",
    "caf\u00e9 na\u00efve \u00dcber stra\u00dfe \u0395\u03bb\u03bb\u03ac\u03b4\u03b1 \u0420\u0443\u0441\u0441\u043a\u0438\u0439",
    "\u65e5\u672c\u8a9e\u306e\u6587\u7ae0\u3002 \u4f60\u597d \ud55c\uad6d\uc5b4 \u0939\u093f\u0928\u094d\u0926\u0940 \u0661\u0662\u0663 \u00bd \u2167",
    "\U0001f44d\U0001f3fd \U0001f468\u200d\U0001f469\u200d\U0001f467 \u00a0\u3000x",
    "<|im_start|>user\nWhat is 7 x 8?<|im_end|>\n<|im_start|>assistant\n",
    "for (int i = 0; i < 10; ++i) {\n        printf(\"%d\\n\", i);\n}",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ===== ---- ....",
    "'S 'll ' s don't DON'T 'tis",
    "x1y22z333 1,000,000 0x1F <|im_en|> <|endoftext|>",
]


def greedy(model, prompt):
    tokens = model.tokenize(prompt.encode(), add_bos=False, special=True)
    model.reset()
    model.eval(tokens)
    made, margin = [], float("inf")
    for _ in range(TOKENS):
        logits = numpy.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(model.ctx, -1), (model.n_vocab(),))
        best = numpy.sort(logits)[-2:]
        margin = min(margin, float(best[1] - best[0]))
        made.append(int(logits.argmax()))
        model.eval([made[-1]])
    return tokens, made, margin


def c_string(text):
    """Bytes beyond ASCII in octal, which unlike hexadecimal has an end of its own."""
    plain = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\t"): "\\t"}
    return '"' + "".join(plain.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text.encode()) + '"'


def c_numbers(numbers):
    return "{" + ", ".join(map(str, numbers)) + "}"


def main():
    model = llama_cpp.Llama(sys.argv[1], n_ctx=256, verbose=False, logits_all=False)
    print("/* Made by make_golden.py with llama-cpp-python", llama_cpp.__version__, "from SmolLM2-135M-Instruct.Q4_1.gguf. */")
    print("#ifndef GOLDEN_SMOLLM2_H\n#define GOLDEN_SMOLLM2_H\n")
    print("/* clang-format off */")
    print(f"enum {{ GOLDEN_PROMPTS = {len(PROMPTS)}, GOLDEN_TOKENS = {TOKENS}, GOLDEN_MAX_PROMPT = 64 }};")
    print("static const struct golden {\n    const char *prompt;\n    int prompt_length;")
    print("    int prompt_tokens[GOLDEN_MAX_PROMPT];\n    int tokens[GOLDEN_TOKENS];\n    const char *text;\n} goldens[] __attribute__((unused)) = {")
    for prompt in PROMPTS:
        tokens, made, margin = greedy(model, prompt)
        text = model.detokenize(made, special=True).decode(errors="replace")
        print(f"{prompt!r}: smallest margin {margin:.3f}: {text!r}", file=sys.stderr)
        print(f"    {{{c_string(prompt)}, {len(tokens)},\n     {c_numbers(tokens)},\n     {c_numbers(made)},\n     {c_string(text)}}},")
    print("};\n\nenum { GOLDEN_TEXTS = %d, GOLDEN_MAX_TEXT = 96 };" % len(TEXTS))
    print("static const struct golden_text {\n    const char *text;\n    int count;\n    int tokens[GOLDEN_MAX_TEXT];\n} golden_texts[] __attribute__((unused)) = {")
    for text in TEXTS:
        tokens = model.tokenize(text.encode(), add_bos=False, special=True)
        print(f"    {{{c_string(text)}, {len(tokens)},\n     {c_numbers(tokens)}}},")
    print("};\n/* clang-format on */\n#endif")


main()
