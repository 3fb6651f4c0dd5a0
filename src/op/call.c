/* Calls and their names. Siblings are numbered by op, "rope#3", so that making one op eager renumbers no other. */
#include "op/op.h"

#include <stdlib.h>
#include <string.h>

/* How often op was called in this pass of parent's body, before now. */
static bg_status count(bg__call *parent, const bg_op *op, unsigned *index)
{
    bg_status status;

    for (size_t i = 0; i < parent->count_used; i++) {
        if (parent->counts[i].op == op) {
            *index = parent->counts[i].count++;
            return BG_OK;
        }
    }
    BG__TRY(BG__GROW(parent->counts, parent->count_used, parent->count_capacity, "calls"));
    parent->counts[parent->count_used++] = (bg__op_count){op, 1};
    *index = 0;
done:
    return status;
}

static bg__call *find_child_call(bg__call *parent, const bg_op *op, unsigned index)
{
    bg__call *start = parent->cursor ? parent->cursor : parent->child;
    if (!parent->repeated)
        return NULL; /* each child so far has a smaller index */
    for (bg__call *call = start; call != NULL; call = call->next)
        if (call->op == op && call->index == index)
            return call;
    for (bg__call *call = parent->child; call != start; call = call->next)
        if (call->op == op && call->index == index)
            return call;
    return NULL;
}

/* What the calls of one root lie in: a capture makes thousands, and frees them all at once. */
struct bg__slab {
    struct bg__slab *next;
    size_t used, bytes;
    max_align_t room[];
};

static void *take_from_slab(bg__call *root, size_t bytes)
{
    enum { SLAB_BYTES = 1 << 14 };
    struct bg__slab *slab = root->slabs;
    void *taken;

    bytes = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (slab == NULL || bytes > slab->bytes - slab->used) {
        size_t capacity = bytes > SLAB_BYTES ? bytes : SLAB_BYTES;
        slab = malloc(sizeof *slab + capacity);
        if (slab == NULL)
            return NULL;
        slab->used = 0;
        slab->bytes = capacity;
        slab->next = root->slabs;
        root->slabs = slab;
    }
    taken = (char *)slab->room + slab->used;
    slab->used += bytes;
    return taken;
}

/* A call with its name behind it, "rope#3" or "attention#0/rope#1"; by hand, since snprintf would double what the
 * library costs a call at capture. */
static bg__call *make_call(bg__call *parent, const bg_op *op, unsigned index)
{
    const char *path = parent->name ? parent->name : "";
    size_t path_bytes = strlen(path), op_bytes = strlen(op->name), digit_bytes;
    char digits[16], *digit = digits + sizeof digits, *end;
    bg__call *root = parent, *call;
    unsigned rest = index;
    size_t bytes;

    while (root->parent != NULL)
        root = root->parent;
    *--digit = '\0';
    do
        *--digit = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    digit_bytes = (size_t)(digits + sizeof digits - digit);
    bytes = sizeof *call + path_bytes + 1 + op_bytes + 1 + digit_bytes;
    call = take_from_slab(root, bytes);
    if (call == NULL)
        return NULL;
    memset(call, 0, bytes); /* an assignment would clear it word by word */
    call->index = index;
    call->name = (char *)(call + 1);
    end = mempcpy(call->name, path, path_bytes);
    if (path_bytes > 0)
        *end++ = '/';
    end = mempcpy(end, op->name, op_bytes);
    *end++ = '#';
    memcpy(end, digit, digit_bytes);
    return call;
}

static bg_status add_child_call(bg__call *parent, const bg_op *op, unsigned index, const bg_site *site,
                                bg__call **result)
{
    bg__call *call = make_call(parent, op, index);
    if (call == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a call of %s", op->name);
    call->op = op;
    call->parent = parent;
    call->memory = &call->own;
    call->recorded = true;
    call->ranges = parent->ranges;
    call->segment = call->end_segment = -1;
    call->first_node = call->end_node = -1;
    call->zero_tail = parent->zero_tail;
    if (site != NULL)
        call->site = *site;
    if (parent->last_child != NULL)
        parent->last_child->next = call;
    else
        parent->child = call;
    parent->last_child = call;
    *result = call;
    return BG_OK;
}

bg_status bg__call_enter(bg__call *parent, const bg_op *op, const bg_site *site, bg__call **result)
{
    bg_status status;
    unsigned index = 0;

    BG__TRY(count(parent, op, &index));
    *result = find_child_call(parent, op, index);
    if (*result == NULL)
        BG__TRY(add_child_call(parent, op, index, site, result));
    else if (site != NULL) /* this pass may reach it at another place */
        (*result)->here = *site;
    parent->cursor = (*result)->next;
done:
    return status;
}

bg_status bg__call_keep(bg__call *call)
{
    bg__call *root = call;
    while (root->parent != NULL)
        root = root->parent;
    if (call->kept == NULL)
        call->kept = take_from_slab(root, call->op->args_size);
    if (call->kept == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %u bytes of arguments", call->op->args_size);
    return BG_OK;
}

void bg__call_rewind(bg__call *call)
{
    call->repeated = call->child != NULL;
    call->count_used = 0;
    call->cursor = NULL;
    call->scratch_used = 0;
}

static void free_call_tree(bg__call *call)
{
    for (bg__call *child = call->child; child != NULL; child = child->next)
        free_call_tree(child);
    bg__memory_free(&call->own);
    free(call->counts);
    free(call->want);
    free(call->shaped);
}

void bg__call_clear(bg__call *root)
{
    struct bg__slab *next;
    free_call_tree(root);
    for (struct bg__slab *slab = root->slabs; slab != NULL; slab = next) {
        next = slab->next;
        free(slab);
    }
    *root = (bg__call){0};
}

bg__call *bg__call_next(const bg__call *call)
{
    if (call->child != NULL)
        return call->child;
    while (call != NULL && call->next == NULL)
        call = call->parent;
    return call ? call->next : NULL;
}

void bg__call_blame(const bg__call *call, bg_status status)
{
    const bg_site *site = call->here.file != NULL ? &call->here : &call->site;
    const char *file = site->file ? site->file : "unknown file";
    if (bg_last_error()[0] == '\0')
        bg__fail(status, "the body returned %s (%s)", bg_status_name(status), bg_status_text(status));
    else if (bg__fail_is_placed())
        return;
    if (call->name != NULL)
        bg__fail_where("op %s, call %s at %s:%d", call->op->name, call->name, file, site->line);
    else
        bg__fail_where("op %s, called at %s:%d", call->op->name, file, site->line);
    bg__fail_set_placed();
}
