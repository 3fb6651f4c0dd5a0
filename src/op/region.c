#include "op/region.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 128, FIELD_NAME_BYTES = 16 };

/* An op that the first call with its name made. It is never freed, since calls of any graph may refer to it. */
typedef struct named_op {
    bg_op op;
    bg_field fields[BG_OPERANDS_MAX];
    char field_names[BG_OPERANDS_MAX][FIELD_NAME_BYTES];
    char text[]; /* its name, and the file of that call */
} named_op;

bg_status bg__region_run(void *args, cudaStream_t stream)
{
    bg__region_args *region = args;
    return region->body(region->user, region->tensors, stream);
}

/* ---- checks of the program's arguments ---- */

static bool is_op_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    size_t bytes = strnlen(name, NAME_MAX_BYTES + 1);
    return bytes > 0 && bytes <= NAME_MAX_BYTES && strspn(name, allowed) == bytes;
}

static const char *role_text(bg_role role)
{
    switch (role) {
    case BG_ROLE_IN: return "in";
    case BG_ROLE_OUT: return "out";
    case BG_ROLE_INOUT: return "inout";
    default: return NULL;
    }
}

static bg_status check_operands(const bg_region *region)
{
    if (region->operand_count < 0 || region->operand_count > BG_OPERANDS_MAX)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s has %d operands; 0 to %d are allowed", region->name,
                        region->operand_count, BG_OPERANDS_MAX);
    if (region->operand_count > 0 && region->operands == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "operands of %s is NULL", region->name);
    for (int i = 0; i < region->operand_count; i++)
        if (role_text(region->operands[i].role) == NULL)
            return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                            "operand %d of %s has the role %d; BG_ROLE_IN, _OUT and _INOUT are allowed", i,
                            region->name, (int)region->operands[i].role);
    return BG_OK;
}

static bg_status check_region(const bg_region *region)
{
    if (region->name == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "name is NULL; give the op a name for messages and patterns");
    if (!is_op_name(region->name))
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "\"%.40s\" is not a name of an op; write 1 to %d letters, digits and '_'", region->name,
                        NAME_MAX_BYTES);
    if (region->body == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "the function of %s is NULL", region->name);
    if (region->keep != NULL && region->destroy == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s has keep but no destroy; set destroy, which frees the copies",
                        region->name);
    return check_operands(region);
}

/* ---- the op of that name ---- */

static void fill_fields(named_op *made, const bg_region *region)
{
    for (int i = 0; i < region->operand_count; i++) {
        bg_role role = region->operands[i].role;
        snprintf(made->field_names[i], FIELD_NAME_BYTES, "%s%d", role_text(role), i);
        made->fields[i] = (bg_field){
            .name = made->field_names[i],
            .role = role,
            .offset = (uint32_t)(offsetof(bg__region_args, tensors) + (size_t)i * sizeof(bg_tensor)),
            .size = sizeof(bg_tensor),
            .type = "bg_tensor",
        };
    }
}

static named_op *make_op(const bg_region *region, const bg_site *site)
{
    const char *file = site != NULL && site->file != NULL ? site->file : "unknown file";
    size_t name_bytes = strlen(region->name) + 1, file_bytes = strlen(file) + 1;
    named_op *made = calloc(1, sizeof *made + name_bytes + file_bytes);

    if (made == NULL)
        return NULL;
    memcpy(made->text, region->name, name_bytes);
    memcpy(made->text + name_bytes, file, file_bytes);
    fill_fields(made, region);
    made->op = (bg_op){
        .struct_size = sizeof(bg_op),
        .name = made->text,
        .body = bg__region_run,
        .fields = made->fields,
        .field_count = (uint32_t)region->operand_count,
        .args_size = (uint32_t)(offsetof(bg__region_args, tensors) + (size_t)region->operand_count * sizeof(bg_tensor)),
        .eager = region->eager,
        .defined_at = {made->text + name_bytes, site != NULL ? site->line : 0},
        .attributes_ = BG_OP_ATTRIBUTES_INIT,
    };
    return made;
}

/* Returns why region cannot be a call of op; NULL: it can. */
static const char *find_difference(const bg_op *op, const bg_region *region)
{
    if (op->body != bg__region_run)
        return "that op was declared with a macro";
    if (op->eager != region->eager)
        return region->eager ? "only this call is eager" : "only that op is eager";
    if (op->field_count != (uint32_t)region->operand_count)
        return "they have different numbers of operands";
    for (int i = 0; i < region->operand_count; i++)
        if (op->fields[i].role != region->operands[i].role)
            return "their operands have different roles";
    return NULL;
}

static bg_status find_or_register_op(const bg_region *region, const bg_site *site, const bg_op **op)
{
    named_op *made;

    *op = bg_op_find(region->name);
    if (*op != NULL)
        return BG_OK;
    made = make_op(region, site);
    if (made == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the op %s", region->name);
    *op = bg__op_register_once(&made->op);
    if (*op != &made->op) /* another thread was faster */
        free(made);
    return BG_OK;
}

static bg_status find_matching_op(const bg_region *region, const bg_site *site, const bg_op **op)
{
    const char *difference;
    bg_status status;

    BG__TRY(find_or_register_op(region, site, op));
    difference = find_difference(*op, region);
    if (difference != NULL)
        status = bg__fail(
            BG_ERROR_INVALID_ARGUMENT,
            "the name belongs to another op, %s at %s:%d: %s; give each op its own name, or both the same operands",
            (*op)->name, (*op)->defined_at.file, (*op)->defined_at.line, difference);
done:
    return status;
}

/* ---- calls ---- */

static void fill_args(bg__region_args *args, const bg_region *region)
{
    args->body = region->body;
    args->user = region->user;
    args->user_bytes = region->user_bytes;
    args->keep = region->keep;
    args->destroy = region->destroy;
    for (int i = 0; i < region->operand_count; i++)
        args->tensors[i] = region->operands[i].tensor;
}

static bg_status call_region_op(const bg_op *op, const bg_region *region, cudaStream_t stream, const bg_site *site)
{
    bg__region_args args;
    bg_status status;

    fill_args(&args, region);
    status = bg_op_call(op, stream, &args, site);
    for (int i = 0; i < region->operand_count; i++)
        if (region->operands[i].role != BG_ROLE_IN)
            region->operands[i].tensor = args.tensors[i];
    return status;
}

bg_status bg_region_call(const bg_region *region, cudaStream_t stream, const bg_site *site)
{
    bg_region full = BG_REGION_INIT;
    const bg_op *op;
    bg_status status;

    if (region == NULL)
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "bg_region_call: region is NULL");
    BG__TRY(bg__struct_copy_in(&full, region, sizeof full, sizeof full, "region", "BG_REGION_INIT"));
    BG__TRY(check_region(&full));
    BG__TRY(find_matching_op(&full, site, &op));
    return call_region_op(op, &full, stream, site);
done:
    bg__error_add_location("%s called at %s:%d", full.eager ? "eager op" : "op",
                           site != NULL && site->file != NULL ? site->file : "unknown file",
                           site != NULL ? site->line : 0);
    bg__error_set_located();
    bg__op_call_failed(status);
    return status;
}

/* ---- plain functions ---- */

typedef struct plain_function {
    bg_status (*function)(void *user, cudaStream_t stream);
    void *user;
} plain_function;

static bg_status call_function(void *user, bg_tensor *tensors, cudaStream_t stream)
{
    const plain_function *plain = user;
    (void)tensors;
    return plain->function(plain->user, stream);
}

static bg_status copy_function(void *user, void **kept)
{
    plain_function *copy = malloc(sizeof *copy);
    if (copy == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a function and its user");
    *copy = *(plain_function *)user;
    *kept = copy;
    return BG_OK;
}

bg_status bg_eager_at(cudaStream_t stream, const char *name, bg_status (*function)(void *user, cudaStream_t stream),
                      void *user, const bg_site *site)
{
    plain_function plain = {function, user};
    bg_region region = BG_REGION_INIT;

    region.name = name;
    region.body = function != NULL ? call_function : NULL;
    region.user = &plain;
    region.user_bytes = sizeof plain;
    region.keep = copy_function;
    region.destroy = free;
    return bg_region_call(&region, stream, site);
}
