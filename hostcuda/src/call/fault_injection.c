#include "hostcuda/src/call/fault_injection.h"

#include "hostcuda/src/call/fault_rule.h"
#include "hostcuda/src/call/record.h"
#include "hostcuda/src/core/core_state.h"

#include <stdio.h>
#include <string.h>

enum { RULES_MAX = 64 };

bool hc_fault_watching;
static struct hc_fault_rule rules[RULES_MAX];
static size_t rule_count;
static bool from_environment;

static void update_watching(void)
{
    hc_fault_watching = hc_recording() || rule_count;
}

static void warn_of_fault_rule(const char *text, const char *part, size_t length, const char *wrong)
{
    fprintf(stderr,
            "hostcuda: fault \"%.*s\" of \"%s\": %s; write NAME@N=CODE (call N of NAME, or of *, returns CODE) or "
            "NAME@N~CODE (the device fails at the next wait after that call), separated by commas; tools:NAME "
            "counts calls by breakgraph's tools\n",
            (int)length, part, text, wrong);
}

/* Sets all rules, or none if one is malformed. */
static bool set_rules(const char *text)
{
    const char *part = text;
    rule_count = 0;
    update_watching();
    for (size_t count = 0; *text; count++) {
        size_t length = strcspn(part, ",");
        const char *wrong = count < RULES_MAX ? hc_fault_rule_read(&rules[count], part, part + length)
                                              : "there are more than 64 faults";
        if (wrong) {
            warn_of_fault_rule(text, part, length, wrong);
            return false;
        }
        if (!part[length]) {
            rule_count = count + 1;
            break;
        }
        part += length + 1;
    }
    update_watching();
    return true;
}

bool hc_fault_read(const char *text)
{
    from_environment = text && *text;
    return !from_environment || set_rules(text);
}

bool hc_fault_set(const char *text)
{
    from_environment = false;
    return set_rules(text);
}

size_t hc_fault_count(void)
{
    size_t count = 0;
    for (size_t i = 0; i < rule_count; i++)
        count += rules[i].seen >= rules[i].nth;
    return count;
}

void hc_fault_set_recording(bool on)
{
    hc_record_set_enabled(on);
    update_watching();
}

/* Returns the name that programs write: without the suffix that cuda.h or CUDA 12's headers add. Other names are
 * unchanged. */
static const char *plain_name(const char *function)
{
    static const char *const names[] = {
#define X(name, since) #name,
#include "hostcuda/src/core/driver_functions.def"
#undef X
        "cudaEventElapsedTime",
        "cudaGetDeviceProperties",
        "cudaGraphAddDependencies",
        "cudaGraphAddNode",
        "cudaGraphGetEdges",
        "cudaGraphNodeGetDependencies",
        "cudaGraphNodeGetDependentNodes",
        "cudaGraphRemoveDependencies",
        "cudaStreamGetCaptureInfo",
        "cudaStreamUpdateCaptureDependencies",
    };
    const char *suffix = strstr(function, "_v");
    if (!suffix || (suffix[2] != '2' && suffix[2] != '3'))
        return function;
    size_t length = (size_t)(suffix - function);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && !memcmp(names[i], function, length))
            return names[i];
    return function;
}

struct hc_fault hc_fault_match_call(const char *function)
{
    struct hc_fault fault = {0, false};
    const char *name = plain_name(function);
    bool tools = hc_thread()->tools > 0;
    if (hc_recording() && !tools)
        hc_record_add(name);
    for (size_t i = 0; i < rule_count; i++) {
        struct hc_fault_rule *rule = &rules[i];
        bool any = *rule->name == '*';
        if (rule->tools != tools || (!any && strcmp(rule->name, name) != 0) || ++rule->seen != rule->nth)
            continue;
        if (rule->later)
            hc_device(hc_thread()->device)->coming = (cudaError_t)rule->code;
        else
            fault = (struct hc_fault){rule->code, any};
    }
    update_watching();
    return fault;
}

bool hc_fault_matches_next_call(const char *function)
{
    const char *name = plain_name(function);
    for (size_t i = 0; i < rule_count; i++) {
        const struct hc_fault_rule *rule = &rules[i];
        if (!rule->tools && !rule->later && rule->seen + 1 == rule->nth &&
            (*rule->name == '*' || !strcmp(rule->name, name)))
            return true;
    }
    return false;
}

/* Reports faults that never happened: a test that relies on one has tested nothing. */
__attribute__((destructor(101))) static void report_unused_faults(void)
{
    if (!from_environment)
        return;
    hc_lock(); /* other threads may still run */
    for (size_t i = 0; i < rule_count; i++)
        if (rules[i].seen < rules[i].nth)
            fprintf(stderr, "hostcuda: HOSTCUDA_FAIL: %s%s@%llu did not happen: there were %llu such calls\n",
                    rules[i].tools ? HC_FAULT_TOOLS : "", rules[i].name, (unsigned long long)rules[i].nth,
                    (unsigned long long)rules[i].seen);
    hc_unlock();
}
