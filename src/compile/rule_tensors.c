/* Compares the tensors of a run's op with those of its calls. */
#include "compile/compile.h"

#include <stdio.h>

/* Iterates over the tensors of an op's arguments. Starts zeroed. */
typedef struct tensor_iterator {
    uint32_t field;
    int element;
    const bg_field *of;
    const bg_tensor *tensor;
} tensor_iterator;

static bool next_tensor(const bg_op *op, const void *args, tensor_iterator *at)
{
    for (; at->field < op->field_count; at->field++, at->element = 0) {
        const bg_field *field = &op->fields[at->field];
        if (at->element >= bg__field_count_tensors(field))
            continue;
        at->of = field;
        at->tensor = bg__field_tensors(field, args) + at->element++;
        return true;
    }
    return false;
}

static bool is_written(const bg_field *field)
{
    return field->role == BG_ROLE_OUT || field->role == BG_ROLE_INOUT || field->role == BG_ROLE_OUTS;
}

static bool is_same_memory(const bg_tensor *a, const bg_tensor *b)
{
    return a->data == b->data && bg_tensor_bytes(a) == bg_tensor_bytes(b);
}

bool bg__tensor_is_inside(const bg_tensor *a, const bg_tensor *outer)
{
    uintptr_t begin = (uintptr_t)a->data, around = (uintptr_t)outer->data;
    return begin >= around && begin + bg_tensor_bytes(a) <= around + bg_tensor_bytes(outer);
}

bool bg__tensors_overlap(const bg_tensor *a, const bg_tensor *b)
{
    uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;
    return bg_tensor_bytes(a) > 0 && bg_tensor_bytes(b) > 0 && x < y + bg_tensor_bytes(b) && y < x + bg_tensor_bytes(a);
}

bool bg__tensors_overlap_in_part(const bg_tensor *a, const bg_tensor *b)
{
    return bg__tensors_overlap(a, b) && !is_same_memory(a, b);
}

/* ---- the op has the tensors of the calls, and no others ---- */

static bool op_writes(const bg_op *op, const void *args, const bg_tensor *tensor)
{
    tensor_iterator at = {0};
    while (next_tensor(op, args, &at))
        if (is_written(at.of) && is_same_memory(at.tensor, tensor))
            return true;
    return false;
}

static bool calls_write(const bg__fusion *run, const bg_tensor *tensor)
{
    for (int i = 0; i < run->rule->count; i++)
        if (op_writes(run->calls[i]->op, run->calls[i]->kept, tensor))
            return true;
    return false;
}

static bool calls_contain(const bg__fusion *run, const bg_tensor *tensor)
{
    for (int i = 0; i < run->rule->count; i++) {
        tensor_iterator at = {0};
        while (next_tensor(run->calls[i]->op, run->calls[i]->kept, &at))
            if (bg__tensor_is_inside(tensor, at.tensor))
                return true;
    }
    return false;
}

static bool check_op_writes_all(const bg__fusion *run, char *why, size_t bytes)
{
    for (int i = 0; i < run->rule->count; i++) {
        tensor_iterator at = {0};
        while (next_tensor(run->calls[i]->op, run->calls[i]->kept, &at)) {
            if (!is_written(at.of) || op_writes(run->rule->op, run->args, at.tensor))
                continue;
            snprintf(why, bytes, "%s does not write %s of %s, which later work may read", run->rule->op->name,
                     at.of->name, run->calls[i]->name);
            return false;
        }
    }
    return true;
}

static bool check_op_tensors(const bg__fusion *run, char *why, size_t bytes)
{
    const bg_op *op = run->rule->op;
    tensor_iterator at = {0};

    while (next_tensor(op, run->args, &at)) {
        if (at.tensor->data == NULL && at.tensor->rank > 0 && bg_tensor_bytes(at.tensor) == 0)
            continue;
        if (at.tensor->data == NULL || !bg__tensor_is_valid(at.tensor)) {
            snprintf(why, bytes, "the rule sets no tensor for %s of %s", at.of->name, op->name);
            return false;
        }
        if (is_written(at.of) ? calls_write(run, at.tensor) : calls_contain(run, at.tensor))
            continue;
        snprintf(why, bytes, "%s of %s is %s", at.of->name, op->name,
                 is_written(at.of) ? "not a tensor that the calls write" : "not a tensor of the calls");
        return false;
    }
    return true;
}

/* ---- what shares memory ---- */

static bool check_tensor_pair(const bg__fusion *run, const tensor_iterator *a, const tensor_iterator *b, char *why,
                              size_t bytes)
{
    bool same = is_same_memory(a->tensor, b->tensor);

    if (!bg__tensors_overlap(a->tensor, b->tensor) || (!is_written(a->of) && !is_written(b->of)) ||
        (same && run->rule->attributes_.in_place))
        return true;
    snprintf(why, bytes,
             same ? "%s and %s of %s are the same memory; if the op allows that, set in_place in the rule"
                  : "%s and %s of %s overlap in part",
             a->of->name, b->of->name, run->rule->op->name);
    return false;
}

static bool check_op_overlaps(const bg__fusion *run, char *why, size_t bytes)
{
    tensor_iterator a = {0};

    while (next_tensor(run->rule->op, run->args, &a)) {
        tensor_iterator b = a;
        while (next_tensor(run->rule->op, run->args, &b))
            if (!check_tensor_pair(run, &a, &b, why, bytes))
                return false;
    }
    return true;
}

/* If tensors of the calls overlap in part, the op may read bytes before or after they change. */
static bool check_call_overlaps(const bg__fusion *run, char *why, size_t bytes)
{
    for (int i = 0; i < run->rule->count; i++) {
        tensor_iterator a = {0};
        while (next_tensor(run->calls[i]->op, run->calls[i]->kept, &a)) {
            for (int k = i; k < run->rule->count; k++) {
                tensor_iterator b = {0};
                while (next_tensor(run->calls[k]->op, run->calls[k]->kept, &b)) {
                    if ((!is_written(a.of) && !is_written(b.of)) || !bg__tensors_overlap_in_part(a.tensor, b.tensor))
                        continue;
                    snprintf(why, bytes, "%s of %s and %s of %s overlap in part", a.of->name, run->calls[i]->name,
                             b.of->name, run->calls[k]->name);
                    return false;
                }
            }
        }
    }
    return true;
}

bool bg__fusion_check_tensors(const bg__fusion *run, char *why, size_t bytes)
{
    return check_op_tensors(run, why, bytes) && check_op_writes_all(run, why, bytes) &&
           check_op_overlaps(run, why, bytes) && check_call_overlaps(run, why, bytes);
}
