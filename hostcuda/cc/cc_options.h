/* The command line, with gcc's and nvcc's options. */
#ifndef HCC_OPTIONS_H
#define HCC_OPTIONS_H

#include "cc_memory.h"

enum hcc_step { HCC_LINK, HCC_OBJECT, HCC_ASSEMBLY, HCC_PREPROCESS, HCC_DEPENDENCIES };

struct hcc_input {
    char *name;
    char *language; /* "cu", or one of gcc's names; NULL: an input of the linker */
};

struct hcc_options {
    enum hcc_step step;
    char *output;     /* NULL: none was given */
    char *compiler;   /* g++ or clang++ */
    bool syntax_only; /* -fsyntax-only */
    bool verbose;     /* prints the commands that it runs */
    bool shows_help, shows_version;
    bool dependencies;          /* -MD or -MMD was given: dependencies are written, too */
    bool dependency_file;       /* -MF was given */
    bool dependency_target;     /* -MT or -MQ was given */
    bool standard;              /* -std was given */
    bool contraction;           /* -ffp-contract was given */
    struct hcc_list preprocess; /* flags for the preprocessor only */
    struct hcc_list compile;    /* flags for the compiler and the preprocessor */
    struct hcc_list both;       /* flags for compiler, preprocessor and linker */
    struct hcc_list link;       /* flags and inputs for the linker only, in their order */
    struct hcc_list ignored;    /* options of nvcc that have no effect here */
    struct hcc_input *inputs;   /* sources to compile */
    size_t input_count, input_capacity;
};

/* Reads the arguments; @FILE is not expanded. Returns false, with a message, if they are wrong or ask for something
 * unsupported. hcc_options_free also accepts options that could not be read. */
bool hcc_options_read(struct hcc_options *options, int count, char **arguments);
void hcc_options_free(struct hcc_options *options);

#endif
