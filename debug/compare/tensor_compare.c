#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "debug/memory/tensors.h"

static bgk_element element_of(bg_dtype dtype)
{
    switch (dtype) {
    case BG_F32: return BGK_ELEMENT_F32;
    case BG_F64: return BGK_ELEMENT_F64;
    case BG_F16: return BGK_ELEMENT_F16;
    case BG_BF16: return BGK_ELEMENT_BF16;
    case BG_I8: return BGK_ELEMENT_I8;
    case BG_I32: return BGK_ELEMENT_I32;
    case BG_I64: return BGK_ELEMENT_I64;
    case BG_U8:
    case BG_BOOL: return BGK_ELEMENT_U8;
    }
    return BGK_ELEMENT_U8;
}

bg_status bg__compare_begin(bgk_difference *room, size_t count, cudaStream_t stream)
{
    bgk_difference none[BG__COMPARED_TOGETHER];
    bg_status status = BG_OK;

    for (size_t i = 0; i < count; i++)
        none[i] = (bgk_difference)BGK_DIFFERENCE_NONE;
    BG__TRY_CUDA(cudaMemcpyAsync(room, none, count * sizeof *none, cudaMemcpyHostToDevice, stream));
done:
    return status;
}

bg_status bg__compare_queue(const bg_tensor *shape, const void *expected, const void *got,
                            const bg_tolerance *tolerance, bgk_difference *place, cudaStream_t stream)
{
    const bgk_tolerance allowed = {tolerance->absolute, tolerance->relative, tolerance->ulp};
    cudaError_t error = bgk_compare(place, expected, got, bg_tensor_bytes(shape) / bg_dtype_bytes(shape->dtype),
                                    element_of(shape->dtype), &allowed, stream);
    bg_status status = BG_OK;

    if (error != cudaSuccess) {
        status = bg__fail_cuda(error, "cudaLaunchKernelExC");
        bg__error_add_location("the kernel that compares tensors");
    }
    return status;
}

bg_status bg__compare_read(const bgk_difference *room, size_t count, cudaStream_t stream, bgk_difference *found)
{
    return bg__copy_and_wait(found, room, count * sizeof *found, stream);
}

bg_status bg__compare(const bg_tensor *shape, const void *expected, const void *got, const bg_tolerance *tolerance,
                      bgk_difference *room, cudaStream_t stream, bgk_difference *found)
{
    bg_status status;
    BG__TRY(bg__compare_begin(room, 1, stream));
    BG__TRY(bg__compare_queue(shape, expected, got, tolerance, room, stream));
    BG__TRY(bg__compare_read(room, 1, stream, found));
done:
    return status;
}

/* The shortest decimal that is not below the value. With this decimal as a tolerance, the value is within the
 * tolerance. */
static const char *round_up_to_digits(double value, char *text, size_t bytes)
{
    enum { DIGITS_EXACT = 17 };
    for (int digits = 3; digits <= DIGITS_EXACT; digits++) {
        snprintf(text, bytes, "%.*g", digits, value);
        if (strtod(text, NULL) >= value)
            break;
    }
    return text;
}

/* Writes, for each kind of tolerance, the smallest tolerance that the difference is within, rounded up. */
static void write_largest_errors(const bgk_difference *d, char *text, size_t bytes)
{
    char absolute[40], relative[40];

    if (d->lost > 0)
        snprintf(text, bytes, "in %llu elements only one of the two values is finite", d->lost);
    else if (d->absolute == 0)
        snprintf(text, bytes, "they differ only in the sign of zeros or the bits of NaN");
    else if (isfinite(d->relative))
        snprintf(text, bytes, "largest error %s absolute, %s relative",
                 round_up_to_digits(d->absolute, absolute, sizeof absolute),
                 round_up_to_digits(d->relative, relative, sizeof relative));
    else
        snprintf(text, bytes, "largest error %s absolute", round_up_to_digits(d->absolute, absolute, sizeof absolute));
}

const char *bg__compare_text(const bg_tensor *shape, const bgk_difference *d, char *text, size_t bytes)
{
    size_t elements = bg_tensor_bytes(shape) / bg_dtype_bytes(shape->dtype);
    char errors[160];

    write_largest_errors(d, errors, sizeof errors);
    snprintf(text, bytes, "%llu of %zu elements (%s) differ, %llu beyond the tolerance, the first at index %llu; %s",
             d->differing, elements, bg_dtype_name(shape->dtype), d->beyond, d->first, errors);
    return text;
}

static bool add_pair(cJSON *item, const char *name, const unsigned long long pair[2])
{
    const double values[2] = {(double)pair[0], (double)pair[1]};
    return cJSON_AddItemToObject(item, name, cJSON_CreateDoubleArray(values, 2));
}

static bool add_digests(cJSON *item, const unsigned long long digest[2])
{
    char text[2][20];
    const char *const texts[2] = {text[0], text[1]};
    for (int i = 0; i < 2; i++)
        snprintf(text[i], sizeof text[i], "%016llx", digest[i]);
    return cJSON_AddItemToObject(item, "digest", cJSON_CreateStringArray(texts, 2));
}

/* JSON has no infinity. */
static bool add_error(cJSON *item, const char *name, double error)
{
    return (isfinite(error) ? cJSON_AddNumberToObject(item, name, error) : cJSON_AddNullToObject(item, name)) != NULL;
}

static bool fill_comparison(cJSON *item, const bg__call *call, const char *field, const bg_tensor *shape,
                            const char *against, const bgk_difference *d)
{
    size_t elements = bg_tensor_bytes(shape) / bg_dtype_bytes(shape->dtype);
    return cJSON_AddStringToObject(item, "call", call != NULL ? call->name : "") &&
           cJSON_AddStringToObject(item, "field", field) &&
           cJSON_AddStringToObject(item, "file", call != NULL && call->site.file != NULL ? call->site.file : "") &&
           cJSON_AddNumberToObject(item, "line", call != NULL ? call->site.line : 0) &&
           cJSON_AddStringToObject(item, "against", against) &&
           cJSON_AddStringToObject(item, "dtype", bg_dtype_name(shape->dtype)) &&
           cJSON_AddNumberToObject(item, "elements", (double)elements) &&
           cJSON_AddNumberToObject(item, "differing", (double)d->differing) &&
           cJSON_AddNumberToObject(item, "beyond", (double)d->beyond) &&
           (d->beyond == 0 || cJSON_AddNumberToObject(item, "first", (double)d->first) != NULL) &&
           add_error(item, "absolute", d->absolute) && add_error(item, "relative", d->relative) &&
           cJSON_AddNumberToObject(item, "ulp", (double)d->ulp) && add_pair(item, "nan", d->nan) &&
           add_pair(item, "infinite", d->inf) && add_digests(item, d->digest);
}

bg_status bg__comparison_record(bg_report *report, const bg__call *call, const char *field, const bg_tensor *shape,
                                const char *against, const bgk_difference *d)
{
    cJSON *list = bg__report_part(report, "comparisons"), *item = cJSON_CreateObject(), *note = NULL;
    char *text = NULL;

    /* Keeps the text instead of the items, since the text needs a tenth of their memory and each output of a pass has a
     * comparison. */
    if (item != NULL && fill_comparison(item, call, field, shape, against, d))
        text = cJSON_PrintUnformatted(item);
    cJSON_Delete(item);
    if (text != NULL)
        note = cJSON_CreateRaw(text);
    cJSON_free(text);
    if (list != NULL && note != NULL && cJSON_AddItemToArray(list, note))
        return BG_OK;
    cJSON_Delete(note);
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a comparison");
}
