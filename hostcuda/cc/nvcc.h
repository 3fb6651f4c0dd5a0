/* Options that nvcc has and gcc does not, or that nvcc writes otherwise. */
#ifndef HCC_NVCC_H
#define HCC_NVCC_H

#include <stdbool.h>

enum hcc_meaning {
    HCC_IGNORED, /* it is about code for a GPU, or how nvcc works */
    HCC_REFUSED, /* what it asks for does not exist here */
    HCC_IS,      /* another name of an option of gcc, or several, as `text` says */
    HCC_PASS,    /* its value is a list of options that the compiler gets */
    HCC_PASS_LINK,
    HCC_COMPILER, /* its value is the compiler */
    HCC_STREAM,   /* its value is the default stream */
    HCC_ERRORS,   /* its value says which warnings are errors */
    HCC_VERBOSE,
    HCC_HELP,
    HCC_VERSION,
};

struct hcc_nvcc_option {
    const char *name, *other; /* without dashes */
    enum hcc_meaning meaning;
    bool value;       /* takes one */
    const char *text; /* IS: what it becomes, before the value; REFUSED: why */
};

/* Returns the option that an argument names, with one dash or two, and sets *value to what follows its "=", or NULL.
 * NULL: nvcc has no such option, or it is one that gcc has in the same form. */
const struct hcc_nvcc_option *hcc_find_nvcc_option(const char *argument, const char **value);

#endif
