/* One fault, as HOSTCUDA_FAIL has it. */
#ifndef HOSTCUDA_FAULT_RULE_H
#define HOSTCUDA_FAULT_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum { HC_FAULT_NAME_BYTES = 64 };
/* Before the name of a function: its calls by tools, and not by the program. */
#define HC_FAULT_TOOLS "tools:"

struct hc_fault_rule {
    char name[HC_FAULT_NAME_BYTES]; /* "*": any */
    uint64_t nth, seen;
    int code;
    bool tools;
    bool later; /* the call succeeds, and the device fails at the next wait */
};

/* Reads text, to end. What is wrong with it, or NULL. */
const char *hc_fault_rule_read(struct hc_fault_rule *rule, const char *text, const char *end);

#endif
