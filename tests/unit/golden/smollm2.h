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
    {"The capital of France is", 5,
     {504, 3575, 282, 4649, 314},
     {7042, 30, 198, 198, 504, 1797, 1918, 553, 253, 2155, 282, 4723, 216, 35, 33, 33, 2215, 701, 30, 198, 198, 504, 1797, 1918, 553, 253, 2155, 282, 4723, 216, 35, 33},
     " Paris.\n\nThe United States has a population of approximately 311 million people.\n\nThe United States has a population of approximately 31"},
    {"Once upon a time, there was a little girl named", 11,
     {6403, 1980, 253, 655, 28, 665, 436, 253, 1838, 8180, 3365},
     {20391, 617, 5732, 288, 1238, 281, 260, 2388, 30, 2306, 736, 1129, 685, 288, 260, 10724, 284, 1238, 351, 874, 2428, 30, 1963, 1194, 28, 1041, 4041, 288, 685, 288, 260, 10724},
     " Emma who loved to play in the sun. She would often go to the beach and play with her friends. One day, she decided to go to the beach"},
    {"Q: What is 12 + 30?\nA:", 15,
     {65, 42, 1812, 314, 216, 33, 34, 1232, 216, 35, 32, 47, 198, 49, 42},
     {216, 33, 34, 1232, 216, 35, 32, 446, 216, 36, 34, 198, 198, 504, 2988, 314, 42, 216, 36, 34, 2, 198, 2, 1, 9690, 198, 2, 198, 1, 4093, 198, 57},
     " 12 + 30 = 42\n\nThe answer is: 42<|im_end|>\n<|im_end|><|im_start|>system\n<|im_end|>\n<|im_start|>user\nI"},
};
/* clang-format on */
#endif
