/* All rules of the program, in a list that constructors fill. */
#include "compile/compile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bg_rule *first_rule;

/* Returns what is wrong with the rule; NULL: nothing. */
static const char *find_rule_fault(const bg_rule *rule)
{
    if (rule->struct_size < sizeof *rule)
        return "its struct_size is not sizeof(bg_rule)";
    if (rule->count < 1 || rule->count > BG_RULE_CALLS)
        return "its count is not 1 to 8 calls";
    for (int i = 0; i < rule->count; i++)
        if (rule->calls[i] == NULL)
            return "one of its calls is NULL";
    return rule->op == NULL ? "its op is NULL" : rule->match == NULL ? "its match is NULL" : NULL;
}

static bool is_registered_locked(const bg_rule *rule)
{
    const bg_rule *known = first_rule;
    while (known != NULL && known != rule)
        known = known->next_;
    return known != NULL;
}

void bg__rule_list_add(bg_rule *rule)
{
    const char *fault = rule != NULL ? find_rule_fault(rule) : "it is NULL";

    if (fault != NULL) {
        bg__warn("bg_rule_register: a rule is not used: %s", fault);
        return;
    }
    pthread_mutex_lock(&mutex);
    if (!is_registered_locked(rule)) {
        rule->next_ = first_rule;
        first_rule = rule;
    }
    pthread_mutex_unlock(&mutex);
}

void bg_rule_unregister(bg_rule *rule)
{
    bg_rule **link = &first_rule;
    pthread_mutex_lock(&mutex);
    while (*link != NULL && *link != rule)
        link = &(*link)->next_;
    if (*link != NULL)
        *link = rule->next_;
    pthread_mutex_unlock(&mutex);
    bg__verdicts_invalidate(rule);
}

static bg_status refuse_unknown_op(const char *name)
{
    bg__nearest nearest = bg__nearest_begin(name, strlen(name));
    char hint[BG__HINT_BYTES];

    pthread_mutex_lock(&mutex);
    for (const bg_rule *rule = first_rule; rule != NULL; rule = rule->next_)
        bg__nearest_add(&nearest, rule->op->name, strlen(rule->op->name));
    pthread_mutex_unlock(&mutex);
    return bg__fail(BG_ERROR_NOT_FOUND,
                    "bg_rule_set_attributes: no rule makes op \"%s\"%s; link the source file that defines it", name,
                    bg__nearest_hint(&nearest, "", hint));
}

static bool are_same_attributes(const bg_rule_attributes *a, const bg_rule_attributes *b)
{
    return a->applies == b->applies && a->in_place == b->in_place &&
           (a->tolerance == b->tolerance ||
            (a->tolerance != NULL && b->tolerance != NULL && strcmp(a->tolerance, b->tolerance) == 0));
}

static bg_status check_tolerance(const char *text)
{
    if (strpbrk(text, ":;") != NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "bg_rule_set_attributes: attributes->tolerance \"%s\" has a name or several items; write "
                        "the limits alone, as \"rel=1e-5,abs=1e-6\"",
                        text);
    return bg__debug_hooks.check_tolerance(text, "attributes->tolerance");
}

bg_status bg_rule_set_attributes(const char *op, const bg_rule_attributes *attributes)
{
    bg_rule_attributes taken = BG_RULE_ATTRIBUTES_INIT;
    bool found = false;
    bg_status status = BG_OK;

    BG__NEED(op);
    if (attributes != NULL)
        BG__TRY(bg__struct_copy_in(&taken, attributes, sizeof taken, sizeof(size_t), "attributes",
                                   "BG_RULE_ATTRIBUTES_INIT"));
    if (taken.tolerance != NULL)
        BG__TRY(check_tolerance(taken.tolerance));
    taken.struct_size = sizeof taken;
    pthread_mutex_lock(&mutex);
    for (bg_rule *rule = first_rule; rule != NULL; rule = rule->next_) {
        if (strcmp(rule->op->name, op) != 0)
            continue;
        if (!are_same_attributes(&rule->attributes_, &taken))
            bg__verdicts_invalidate(rule);
        rule->attributes_ = taken;
        found = true;
    }
    pthread_mutex_unlock(&mutex);
    if (!found)
        status = refuse_unknown_op(op);
done:
    return status;
}

static int compare_rules(const void *a, const void *b)
{
    const bg_rule *x = a, *y = b;
    bool x_shaped = x->attributes_.applies != NULL, y_shaped = y->attributes_.applies != NULL;
    int order;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    if (x_shaped != y_shaped)
        return x_shaped ? -1 : 1;
    order = strcmp(x->op->name, y->op->name);
    if (order == 0)
        order = strcmp(x->defined_at.file, y->defined_at.file);
    return order != 0 ? order : (x->defined_at.line > y->defined_at.line) - (x->defined_at.line < y->defined_at.line);
}

bg_status bg__rules_copy_sorted(bg_rule **rules, int *count)
{
    int number = 0;
    bg_status status = BG_OK;

    pthread_mutex_lock(&mutex);
    for (const bg_rule *rule = first_rule; rule != NULL; rule = rule->next_)
        number++;
    *rules = calloc((size_t)number + 1, sizeof **rules);
    if (*rules == NULL)
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %d rules", number);
    number = 0;
    for (bg_rule *rule = first_rule; rule != NULL && *rules != NULL; rule = rule->next_) {
        (*rules)[number] = *rule;
        (*rules)[number++].next_ = rule;
    }
    pthread_mutex_unlock(&mutex);
    if (*rules != NULL)
        qsort(*rules, (size_t)number, sizeof **rules, compare_rules);
    *count = number;
    return status;
}
