#!/usr/bin/env python3
"""Writes smollm2.h: the prompts' tokens and 32 greedy tokens each, as llama-cpp-python computes them on a CPU.

    python3 -m venv v && v/bin/pip install llama-cpp-python
    v/bin/python tests/unit/golden/make_golden.py model/SmolLM2-135M-Instruct.Q4_1.gguf > tests/unit/golden/smollm2.h

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
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def c_numbers(numbers):
    return "{" + ", ".join(map(str, numbers)) + "}"


def main():
    model = llama_cpp.Llama(sys.argv[1], n_ctx=256, verbose=False, logits_all=False)
    print("/* Made by make_golden.py with llama-cpp-python", llama_cpp.__version__, "from SmolLM2-135M-Instruct.Q4_1.gguf. */")
    print("#ifndef GOLDEN_SMOLLM2_H\n#define GOLDEN_SMOLLM2_H\n")
    print("/* clang-format off */")
    print(f"enum {{ GOLDEN_PROMPTS = {len(PROMPTS)}, GOLDEN_TOKENS = {TOKENS}, GOLDEN_MAX_PROMPT = 64 }};")
    print("static const struct golden {\n    const char *prompt;\n    int prompt_length;")
    print("    int prompt_tokens[GOLDEN_MAX_PROMPT];\n    int tokens[GOLDEN_TOKENS];\n    const char *text;\n} goldens[] = {")
    for prompt in PROMPTS:
        tokens, made, margin = greedy(model, prompt)
        text = model.detokenize(made, special=True).decode(errors="replace")
        print(f"{prompt!r}: smallest margin {margin:.3f}: {text!r}", file=sys.stderr)
        print(f"    {{{c_string(prompt)}, {len(tokens)},\n     {c_numbers(tokens)},\n     {c_numbers(made)},\n     {c_string(text)}}},")
    print("};\n/* clang-format on */\n#endif")


main()
