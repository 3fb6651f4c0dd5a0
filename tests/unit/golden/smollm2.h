/* Made by make_golden.py with llama-cpp-python 0.3.36 from SmolLM2-135M-Instruct.Q4_1.gguf. */
#ifndef GOLDEN_SMOLLM2_H
#define GOLDEN_SMOLLM2_H

/* clang-format off */
enum { GOLDEN_PROMPTS = 3, GOLDEN_TOKENS = 32, GOLDEN_MAX_PROMPT = 64 };
static const struct golden {
    const char *prompt;
    int prompt_length;
    int prompt_tokens[GOLDEN_MAX_PROMPT];
    int tokens[GOLDEN_TOKENS];
    const char *text;
} goldens[] = {
    {"The first ten prime numbers are", 6,
     {504, 808, 3772, 9552, 2966, 359},
     {216, 34, 28, 216, 35, 28, 216, 37, 28, 216, 39, 28, 216, 33, 33, 28, 216, 33, 35, 28, 216, 33, 39, 28, 216, 33, 41, 28, 216, 34, 33, 28},
     " 2, 3, 5, 7, 11, 13, 17, 19, 21,"},
    {"def fibonacci(n):\n", 7,
     {1604, 3987, 46477, 24, 94, 727, 198},
     {198, 1604, 3987, 46477, 24, 94, 727, 472, 585, 304, 10204, 216, 33, 42, 448, 1003, 304, 472, 1745, 42, 448, 1003, 3987, 46477, 24, 94, 731, 216, 33, 25, 1232, 3987},
     "\ndef fibonacci(n):\n    if n <= 1:\n        return n\n    else:\n        return fibonacci(n - 1) + fib"},
    {"Q: What is 12 + 30?\nA:", 15,
     {65, 42, 1812, 314, 216, 33, 34, 1232, 216, 35, 32, 47, 198, 49, 42},
     {216, 33, 34, 1232, 216, 35, 32, 446, 216, 36, 34, 198, 198, 504, 2988, 314, 42, 216, 36, 34, 2, 198, 2, 1, 9690, 198, 2, 198, 1, 4093, 198, 57},
     " 12 + 30 = 42\n\nThe answer is: 42<|im_end|>\n<|im_end|><|im_start|>system\n<|im_end|>\n<|im_start|>user\nI"},
};
/* clang-format on */
#endif
