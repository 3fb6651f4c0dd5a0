/* One fault of HOSTCUDA_FAIL. */
#ifndef HOSTCUDA_FAULT_RULE_H
#define HOSTCUDA_FAULT_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum { HC_FAULT_NAME_BYTES = 64 };
/* Prefix of a function's name: only calls by tools count. */
#define HC_FAULT_TOOLS "tools:"

struct hc_fault_rule {
    char name[HC_FAULT_NAME_BYTES]; /* "*": any function */
    uint64_t nth, seen;
    int code;
    bool tools;
    bool later; /* the call succeeds, and the device fails at the next wait */
};

/* Reads a rule from [text, end). Returns NULL, or a sentence that says what is wrong. */
const char *hc_fault_rule_read(struct hc_fault_rule *rule, const char *text, const char *end);

#endif
