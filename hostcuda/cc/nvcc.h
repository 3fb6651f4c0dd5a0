/* Options of nvcc that gcc does not have, or has in another form. */
#ifndef HCC_NVCC_H
#define HCC_NVCC_H

#include <stdbool.h>

enum hcc_option_action {
    HCC_IGNORED,       /* it concerns GPU code, or how nvcc works */
    HCC_REFUSED,       /* it asks for something that does not exist here */
    HCC_ALIAS,         /* another name for one or several gcc options, which are in `text` */
    HCC_PASS_COMPILER, /* its value is a list of options for the compiler */
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
    enum hcc_option_action meaning;
    bool value;       /* whether it takes a value */
    const char *text; /* HCC_ALIAS: the gcc option, before the value; HCC_REFUSED: the reason */
};

/* Finds the option that an argument names with one dash or two. *value is set to the text behind its "=", or NULL.
 * Returns NULL if nvcc has no such option, or if gcc has it in the same form. */
const struct hcc_nvcc_option *hcc_find_nvcc_option(const char *argument, const char **value);

#endif
