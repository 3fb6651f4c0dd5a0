#include "cc_options.h"

#include "nvcc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The arguments, and the index of the next one. */
struct arguments {
    char **next;
    char *language; /* language of the inputs that follow, set by -x; NULL: by file name */
};

static bool report_bad_option(const char *format, const char *what, const char *more)
{
    fputs("hostcuda-cc: error: ", stderr);
    fprintf(stderr, format, what, more);
    fputc('\n', stderr);
    return false;
}

static void set_string(char **text, const char *value)
{
    free(*text);
    *text = hcc_format("%s", value);
}

/* Returns the option's value: the rest of the same argument, or the next argument. Returns NULL, with a message, if
 * there is none. */
static const char *read_option_value(struct arguments *a, const char *option, const char *joined)
{
    if (joined && *joined)
        return joined;
    if (!*a->next)
        report_bad_option("%s needs a value%s", option, "");
    return *a->next ? *a->next++ : NULL;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

static const char *language_of(const char *name)
{
    static const char *const endings[][2] = {
        {".cu", "cu"},        {".c", "c"},
        {".cc", "c++"},       {".cpp", "c++"},
        {".cxx", "c++"},      {".c++", "c++"},
        {".C", "c++"},        {".cp", "c++"},
        {".s", "assembler"},  {".S", "assembler-with-cpp"},
        {".i", "cpp-output"}, {".ii", "c++-cpp-output"},
    };
    const char *end = strrchr(name, '.');
    for (size_t i = 0; end && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(end, endings[i][0]) == 0)
            return endings[i][1];
    return NULL;
}

/* Whether `name` is a library of CUDA whose functions the host device provides. */
static bool is_cuda_library(const char *name)
{
    static const char *const libraries[] = {"cuda",   "cudart",        "cudart_static", "cudadevrt",
                                            "cublas", "cublas_static", "nccl"};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strcmp(name, libraries[i]) == 0)
            return true;
    return false;
}

/* Whether the path names the file of a library that the host device provides: .../libcudart.so, .../libcublas.so.13. */
static bool is_cuda_file(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *end = strstr(name, ".so");
    end = end ? end : strstr(name, ".a");
    if (!hcc_starts_with(name, "lib") || !end)
        return false;
    char *library = hcc_format("%.*s", (int)(end - name - 3), name + 3);
    bool found = is_cuda_library(library);
    free(library);
    return found;
}

static bool add_input(struct hcc_options *o, const struct arguments *a, const char *name)
{
    static const char *const gpu_code[] = {".ptx", ".cubin", ".fatbin", ".gpu"};
    bool by_name = !a->language || strcmp(a->language, "none") == 0;
    const char *language = by_name ? language_of(name) : a->language, *end = strrchr(name, '.');
    for (size_t i = 0; end && i < sizeof gpu_code / sizeof *gpu_code; i++)
        if (strcmp(end, gpu_code[i]) == 0)
            return report_bad_option("%s contains GPU code, which %s", name, "the host device does not run");
    if (!language && is_cuda_file(name))
        return true;
    if (!language) {
        hcc_list_add(&o->link, name);
        return true;
    }
    HCC_ARRAY_RESERVE_ONE(o->inputs, o->input_count, o->input_capacity);
    o->inputs[o->input_count++] = (struct hcc_input){hcc_format("%s", name), hcc_format("%s", language)};
    return true;
}

/* ---- options of gcc ---------------------------------------------------------------------------------------------- */

static bool set_standard(struct hcc_options *o, const char *option)
{
    const char *year = strstr(option, "++");
    if (!year || strcmp(year, "++17") == 0 || strcmp(year, "++1z") == 0 || year[2] == '2') {
        o->standard = true;
        hcc_list_add(&o->compile, option);
        return true;
    }
    return report_bad_option("%s: the host device's headers need C++17 or later; use %s", option, "-std=c++17");
}

/* Adds an option and its value to a list: as one argument if the value is in the option's argument, or as two if the
 * value is the next argument. */
static bool add_option_and_value(struct hcc_list *list, struct arguments *a, const char *option, const char *argument)
{
    size_t length = strlen(option);
    const char *value = read_option_value(a, option, argument + length);
    if (!value)
        return false;
    char *joined = hcc_format("%s%s", option, argument[length] ? value : "");
    hcc_list_add(list, joined);
    if (!argument[length])
        hcc_list_add(list, value);
    free(joined);
    return true;
}

static bool add_library(struct hcc_options *o, struct arguments *a, const char *argument)
{
    const char *name = read_option_value(a, "-l", argument + 2);
    if (!name)
        return false;
    if (is_cuda_library(name))
        return true;
    char *joined = hcc_format("-l%s", name);
    hcc_list_add(&o->link, joined);
    free(joined);
    return true;
}

/* -M and -MM write only dependencies; -MD and -MMD write them in addition to the output. */
static bool add_dependencies(struct hcc_options *o, struct arguments *a, const char *argument)
{
    if (hcc_starts_with(argument, "-MF") || hcc_starts_with(argument, "-MT") || hcc_starts_with(argument, "-MQ")) {
        char option[] = {'-', 'M', argument[2], '\0'};
        o->dependency_file = o->dependency_file || argument[2] == 'F';
        o->dependency_target = o->dependency_target || argument[2] != 'F';
        return add_option_and_value(&o->preprocess, a, option, argument);
    }
    o->dependencies = o->dependencies || strcmp(argument, "-MD") == 0 || strcmp(argument, "-MMD") == 0;
    if (strcmp(argument, "-M") == 0 || strcmp(argument, "-MM") == 0)
        o->step = HCC_DEPENDENCIES;
    hcc_list_add(&o->preprocess, argument);
    return true;
}

static bool is_for_linker(const char *argument)
{
    static const char *const prefixes[] = {"-Wl,",     "-static", "-shared",   "-rdynamic", "-pie", "-no-pie",
                                           "-nostart", "-nodef",  "-nostdlib", "-fuse-ld",  "-z"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (hcc_starts_with(argument, prefixes[i]))
            return true;
    return strcmp(argument, "-s") == 0;
}

/* Adds an option whose value may be the next argument. */
static bool add_option_with_value(struct hcc_options *o, struct arguments *a, const char *argument, bool *found)
{
    static const char *const of_preprocessor[] = {"-isystem", "-iquote", "-idirafter", "-include",
                                                  "-imacros", "-I",      "-D",         "-U"};
    static const char *const of_linker[] = {"-L", "-T", "-u", "-Xlinker"};
    static const char *const of_all[] = {"--param", "-B"};
    *found = true;
    for (size_t i = 0; i < sizeof of_preprocessor / sizeof *of_preprocessor; i++)
        if (hcc_starts_with(argument, of_preprocessor[i]))
            return add_option_and_value(&o->preprocess, a, of_preprocessor[i], argument);
    for (size_t i = 0; i < sizeof of_linker / sizeof *of_linker; i++)
        if (hcc_starts_with(argument, of_linker[i]))
            return add_option_and_value(&o->link, a, of_linker[i], argument);
    for (size_t i = 0; i < sizeof of_all / sizeof *of_all; i++)
        if (hcc_starts_with(argument, of_all[i]))
            return add_option_and_value(&o->both, a, of_all[i], argument);
    *found = false;
    return true;
}

static bool set_output(struct hcc_options *o, struct arguments *a, const char *argument)
{
    const char *value = read_option_value(a, "-o", argument + 2);
    if (value)
        set_string(&o->output, value);
    return value != NULL;
}

static bool set_language(struct arguments *a, const char *argument)
{
    const char *value = read_option_value(a, "-x", argument + 2);
    if (value)
        set_string(&a->language, strcmp(value, "cuda") == 0 ? "cu" : value);
    return value != NULL;
}

static void add_flag(struct hcc_options *o, const char *argument)
{
    o->contraction = o->contraction || hcc_starts_with(argument, "-ffp-contract");
    if (is_for_linker(argument))
        hcc_list_add(&o->link, argument);
    else
        hcc_list_add(hcc_starts_with(argument, "-W") || strcmp(argument, "-w") == 0 ? &o->compile : &o->both, argument);
}

static bool read_gcc_option(struct hcc_options *o, struct arguments *a, const char *argument)
{
    bool found = false;
    if (strcmp(argument, "-c") == 0 || strcmp(argument, "-S") == 0 || strcmp(argument, "-E") == 0) {
        o->step = argument[1] == 'c' ? HCC_OBJECT : argument[1] == 'S' ? HCC_ASSEMBLY : HCC_PREPROCESS;
        return true;
    }
    if (strcmp(argument, "-fsyntax-only") == 0) {
        o->syntax_only = true;
        o->step = HCC_OBJECT;
        return true;
    }
    if (hcc_starts_with(argument, "-o"))
        return set_output(o, a, argument);
    if (hcc_starts_with(argument, "-x"))
        return set_language(a, argument);
    if (hcc_starts_with(argument, "-l"))
        return add_library(o, a, argument);
    if (hcc_starts_with(argument, "-M"))
        return add_dependencies(o, a, argument);
    if (hcc_starts_with(argument, "-std="))
        return set_standard(o, argument);
    bool ok = add_option_with_value(o, a, argument, &found);
    if (!found)
        add_flag(o, argument);
    return ok;
}

/* ---- options of nvcc --------------------------------------------------------------------------------------------- */

/* Calls `add` for each part of a comma-separated list. */
static bool for_each_list_part(struct hcc_options *o, struct arguments *a, const char *list,
                               bool (*add)(struct hcc_options *, struct arguments *, const char *))
{
    bool ok = true;
    for (const char *part = list; ok && part; part = strchr(part, ',') ? strchr(part, ',') + 1 : NULL) {
        char *one = hcc_format("%.*s", (int)strcspn(part, ","), part);
        ok = add(o, a, one);
        free(one);
    }
    return ok;
}

static bool add_linker_option(struct hcc_options *o, struct arguments *a, const char *option)
{
    (void)a;
    hcc_list_add(&o->link, "-Xlinker");
    hcc_list_add(&o->link, option);
    return true;
}

/* -Werror without a value is gcc's option; nvcc's -Werror names kinds of warnings. */
static bool set_warning_errors(struct hcc_options *o, const char *kinds)
{
    hcc_list_add(strstr(kinds, "all-warnings") ? &o->compile : &o->ignored, "-Werror");
    return true;
}

static bool set_stream(const char *value)
{
    if (strcmp(value, "per-thread") != 0)
        return true;
    return report_bad_option("--default-stream=%s: the host device's default stream is the legacy one; %s", value,
                             "create a stream for each thread");
}

static bool apply_nvcc_option_value(struct hcc_options *o, struct arguments *a, const struct hcc_nvcc_option *option,
                                    const char *value)
{
    switch (option->meaning) {
    case HCC_PASS_COMPILER: return for_each_list_part(o, a, value, read_gcc_option);
    case HCC_PASS_LINK: return for_each_list_part(o, a, value, add_linker_option);
    case HCC_COMPILER: set_string(&o->compiler, value); return true;
    case HCC_STREAM: return set_stream(value);
    case HCC_ERRORS: return set_warning_errors(o, value);
    default: break;
    }
    char *joined = hcc_format("%s%s", option->text, value);
    bool ok = read_gcc_option(o, a, joined);
    free(joined);
    return ok;
}

static bool apply_nvcc_option(struct hcc_options *o, struct arguments *a, const struct hcc_nvcc_option *option,
                              const char *argument, const char *value)
{
    if (option->value && !(value = read_option_value(a, argument, value)))
        return false;
    switch (option->meaning) {
    case HCC_IGNORED: hcc_list_add(&o->ignored, argument); return true;
    case HCC_REFUSED: return report_bad_option("nvcc's option %s is not supported: %s", argument, option->text);
    case HCC_VERBOSE: return o->verbose = true;
    case HCC_HELP: return o->shows_help = true;
    case HCC_VERSION: return o->shows_version = true;
    default: break;
    }
    return option->value ? apply_nvcc_option_value(o, a, option, value) : read_gcc_option(o, a, option->text);
}

/* ---- all options ------------------------------------------------------------------------------------------------- */

/* Whether the option has gcc's form: -Werror without nvcc's kinds of warnings, or -std=, -x or -O. */
static bool is_gcc_form(const char *argument, const char *next)
{
    static const char *const kinds[] = {
        "all-warnings",          "default-stream-launch",    "cross-execution-space-call", "reorder",
        "missing-launch-bounds", "ext-lambda-captures-this", "deprecated-declarations"};
    if (hcc_starts_with(argument, "-Werror=") || hcc_starts_with(argument, "-m") || hcc_starts_with(argument, "-std="))
        return !hcc_starts_with(argument, "-maxrregcount") && !hcc_starts_with(argument, "-machine");
    if (strcmp(argument, "-Werror") != 0)
        return false;
    for (size_t i = 0; next && i < sizeof kinds / sizeof *kinds; i++)
        if (hcc_starts_with(next, kinds[i]))
            return false;
    return true;
}

static bool read_argument(struct hcc_options *o, struct arguments *a)
{
    const char *argument = *a->next++, *value = NULL;
    if (argument[0] != '-' || argument[1] == '\0')
        return add_input(o, a, argument);
    const struct hcc_nvcc_option *option =
        is_gcc_form(argument, *a->next) ? NULL : hcc_find_nvcc_option(argument, &value);
    return option ? apply_nvcc_option(o, a, option, argument, value) : read_gcc_option(o, a, argument);
}

static bool check_options(const struct hcc_options *o)
{
    if (o->shows_help || o->shows_version)
        return true;
    if (o->input_count == 0 && (o->step != HCC_LINK || o->link.count == 0))
        return report_bad_option("no input files%s%s", "", "");
    if (o->output && o->step != HCC_LINK && o->input_count > 1)
        return report_bad_option("-o %s cannot be used with several inputs unless they are linked: %s", o->output,
                                 "each has an output of its own");
    return true;
}

bool hcc_options_read(struct hcc_options *options, int count, char **arguments)
{
    *options = (struct hcc_options){.compiler = hcc_format("%s", HOSTCUDA_CC_COMPILER)};
    struct arguments a = {.next = arguments + 1};
    bool ok = true;
    while (ok && count > 0 && *a.next)
        ok = read_argument(options, &a);
    free(a.language);
    return ok && check_options(options);
}

void hcc_options_free(struct hcc_options *options)
{
    for (size_t i = 0; i < options->input_count; i++) {
        free(options->inputs[i].name);
        free(options->inputs[i].language);
    }
    free(options->inputs);
    free(options->output);
    free(options->compiler);
    hcc_list_free(&options->preprocess);
    hcc_list_free(&options->compile);
    hcc_list_free(&options->both);
    hcc_list_free(&options->link);
    hcc_list_free(&options->ignored);
    *options = (struct hcc_options){0};
}
