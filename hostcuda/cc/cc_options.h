/* The command line: gcc's and nvcc's options. */
#ifndef HCC_OPTIONS_H
#define HCC_OPTIONS_H

#include "cc_memory.h"

enum hcc_step { HCC_LINK, HCC_OBJECT, HCC_ASSEMBLY, HCC_PREPROCESS, HCC_DEPENDENCIES };

struct hcc_input {
    char *name;
    char *language; /* "cu", one of gcc's names, or NULL: the linker takes it */
};

struct hcc_options {
    enum hcc_step step;
    char *output;     /* NULL: not given */
    char *compiler;   /* g++ or clang++ */
    bool only_checks; /* -fsyntax-only */
    bool verbose;     /* prints the commands that it runs */
    bool shows_help, shows_version;
    bool dependencies;          /* written beside the output: -MD, -MMD */
    bool dependency_file;       /* named: -MF */
    bool dependency_target;     /* named: -MT, -MQ */
    bool standard;              /* named: -std */
    bool contraction;           /* named: -ffp-contract */
    struct hcc_list preprocess; /* flags of the preprocessor alone */
    struct hcc_list compile;    /* of the compiler, and the preprocessor */
    struct hcc_list both;       /* of those, and the linker */
    struct hcc_list link;       /* of the linker alone: also the inputs that it takes, in their order */
    struct hcc_list ignored;    /* what nvcc knows, and means nothing here */
    struct hcc_input *inputs;   /* what is compiled */
    size_t input_count, input_capacity;
};

/* Reads the arguments, in which @FILE is not expanded. Returns false, with a message, if they are wrong or ask for what
 * cannot be done here. hcc_options_free takes options that were not read, too. */
bool hcc_options_read(struct hcc_options *options, int count, char **arguments);
void hcc_options_free(struct hcc_options *options);

#endif
