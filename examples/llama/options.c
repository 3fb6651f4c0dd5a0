#include "options.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char llama_help[] = "Usage: llama [OPTION]...\n"
                          "Continues a text with a Llama-architecture model that runs through breakgraph.\n"
                          "\n"
                          "  --model FILE           a GGUF file; without it a small random model runs, whose\n"
                          "                         text is token numbers\n"
                          "  --weights DTYPE        fp32, or bf16: matrices of half the bytes, whose products\n"
                          "                         round both factors to bf16 and sum in fp32 (fp32)\n"
                          "  --prompt TEXT          the text to continue; for the random model, numbers from 0 to 511\n"
                          "  --tokens N             the most tokens to generate (32)\n"
                          "  --context N            positions that the cache holds (1024, or the model's own if less)\n"
                          "  --seed N               seed of the random model and of the requests of --serve (1)\n"
                          "  --mode MODE            eager: plain calls, no graph\n"
                          "                         full: everything in one CUDA graph\n"
                          "                         breakable: graph segments, attention and sampling eager\n"
                          "                         between them (the default)\n"
                          "  --debug-cuda-graph     run the whole step eagerly, through the same capture and replay\n"
                          "  --demo                 run all of these ways on one prompt, compare them, and fail if\n"
                          "                         anything differs\n"
                          "  --serve N              serve N requests that arrive at random, in batches: prompts of\n"
                          "                         random tokens, each continued by 1 to --tokens; without --mode\n"
                          "                         in all modes, one after the other\n"
                          "  --rate N               with --serve: requests per second on average (20); see --seed\n"
                          "  --plant-frozen-scalar  pass the position to a kernel by value, which a graph freezes:\n"
                          "                         a mistake for --demo to find\n"
                          "  --help                 this text\n"
                          "\n"
                          "The text goes to standard output, the figures to standard error.\n"
                          "\n"
                          "breakgraph run --ranks N -- llama ... shares the model among N GPUs, as does any\n"
                          "launcher that sets WORLD_SIZE, OMPI_COMM_WORLD_SIZE or SLURM_NTASKS. For tests: with\n"
                          "LLAMA_ALL_REDUCE=0 the ranks do not sum their partial results, and the text is wrong.\n";

static const char allowed[] = "--model, --weights, --prompt, --tokens, --context, --seed, --mode, "
                              "--debug-cuda-graph, --demo, --serve, --rate, --plant-frozen-scalar, --help";

static int fail(char *error, const char *what, const char *given, const char *expected)
{
    snprintf(error, GGUF_ERROR_SIZE, "%s \"%.100s\"; allowed: %s", what, given, expected);
    return -1;
}

static int fail_missing_value(char *error, const char *flag)
{
    snprintf(error, GGUF_ERROR_SIZE, "\"%s\" needs a value; see --help", flag);
    return -1;
}

static int read_number(const char *flag, const char *text, uint64_t minimum, uint64_t maximum, uint64_t *value,
                       char *error)
{
    char *end, expected[80];
    errno = 0;
    *value = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && *end == 0 && errno == 0 && *value >= minimum && *value <= maximum)
        return 0;
    snprintf(expected, sizeof expected, "a whole number from %llu to %llu", (unsigned long long)minimum,
             (unsigned long long)maximum);
    return fail(error, flag, text, expected);
}

static int read_int(const char *flag, const char *text, int *number, char *error)
{
    uint64_t value = 0;
    int result = read_number(flag, text, 1, 1 << 20, &value, error);
    *number = (int)value;
    return result;
}

static int read_weights(const char *text, bool *bf16, char *error)
{
    *bf16 = strcmp(text, "bf16") == 0;
    return *bf16 || strcmp(text, "fp32") == 0 ? 0 : fail(error, "--weights", text, "fp32, bf16");
}

static int read_mode(const char *text, llama_mode *mode, char *error)
{
    for (llama_mode m = LLAMA_EAGER; m <= LLAMA_BREAKABLE; m++)
        if (strcmp(text, llama_mode_name(m)) == 0) {
            *mode = m;
            return 0;
        }
    return fail(error, "--mode", text, "eager, full, breakable");
}

/* Sets a flag that has no value. Returns false for other flags. */
static bool read_boolean_flag(llama_options *o, const char *flag)
{
    const struct {
        const char *flag;
        bool *on;
    } switches[] = {{"--debug-cuda-graph", &o->debug_cuda_graph},
                    {"--demo", &o->demo},
                    {"--plant-frozen-scalar", &o->plant_frozen_scalar},
                    {"--help", &o->help}};
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        if (strcmp(flag, switches[i].flag) == 0) {
            *switches[i].on = true;
            return true;
        }
    return false;
}

static int read_flag_value(llama_options *o, const char *flag, const char *value, char *error)
{
    if (strcmp(flag, "--model") == 0)
        o->model = value;
    else if (strcmp(flag, "--weights") == 0)
        return read_weights(value, &o->bf16, error);
    else if (strcmp(flag, "--prompt") == 0)
        o->prompt = value;
    else if (strcmp(flag, "--tokens") == 0)
        return read_int(flag, value, &o->tokens, error);
    else if (strcmp(flag, "--context") == 0)
        return read_int(flag, value, &o->context, error);
    else if (strcmp(flag, "--seed") == 0)
        return read_number(flag, value, 0, UINT64_MAX, &o->seed, error);
    else if (strcmp(flag, "--serve") == 0)
        return read_int(flag, value, &o->serve, error);
    else if (strcmp(flag, "--rate") == 0)
        return read_int(flag, value, &o->rate, error);
    else {
        o->mode_given = true;
        return read_mode(value, &o->mode, error);
    }
    return 0;
}

static bool flag_takes_value(const char *flag)
{
    static const char *const flags[] = {"--model", "--weights", "--prompt", "--tokens", "--context",
                                        "--seed",  "--mode",    "--serve",  "--rate"};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strcmp(flag, flags[i]) == 0)
            return true;
    return false;
}

int llama_options_read(llama_options *o, int argc, char **argv, char *error)
{
    *o = (llama_options){.mode = LLAMA_BREAKABLE, .tokens = 32, .context = 1024, .seed = 1, .rate = 20};
    for (int i = 1; i < argc; i++) {
        if (read_boolean_flag(o, argv[i]))
            continue;
        if (!flag_takes_value(argv[i]))
            return fail(error, "unknown flag", argv[i], allowed);
        if (i + 1 == argc)
            return fail_missing_value(error, argv[i]);
        if (read_flag_value(o, argv[i], argv[i + 1], error))
            return -1;
        i++;
    }
    if (o->serve && (o->demo || o->debug_cuda_graph || o->plant_frozen_scalar))
        return fail(error, "--serve with",
                    o->demo               ? "--demo"
                    : o->debug_cuda_graph ? "--debug-cuda-graph"
                                          : "--plant-frozen-scalar",
                    "--model, --weights, --tokens, --context, --seed, --mode, --rate");
    return 0;
}
