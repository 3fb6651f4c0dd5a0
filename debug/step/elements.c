#include "elements.h"

#include <ctype.h>
#include <string.h>

/* ---- names of types ---- */

static bool is_word_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool equals_text(const char *text, size_t length, const char *other)
{
    return strlen(other) == length && memcmp(text, other, length) == 0;
}

static bool contains_text(const char *text, size_t length, const char *part)
{
    return memmem(text, length, part, strlen(part)) != NULL;
}

/* Returns the format of a whole identifier without namespaces; 0: not a floating-point type. */
static unsigned identifier_format(const char *text, size_t length)
{
    static const struct {
        const char *name;
        bgk_float format;
    } types[] = {
        {"float", BGK_F32},        {"float2", BGK_F32},      {"float3", BGK_F32},         {"float4", BGK_F32},
        {"double", BGK_F64},       {"double2", BGK_F64},     {"Half", BGK_F16},           {"half", BGK_F16},
        {"half2", BGK_F16},        {"__half", BGK_F16},      {"__half2", BGK_F16},        {"half_t", BGK_F16},
        {"BFloat16", BGK_BF16},    {"bfloat16", BGK_BF16},   {"__nv_bfloat16", BGK_BF16}, {"__nv_bfloat162", BGK_BF16},
        {"nv_bfloat16", BGK_BF16}, {"bfloat16_t", BGK_BF16},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (equals_text(text, length, types[i].name))
            return 1u << types[i].format;
    return 0;
}

/* Returns the formats in a part between underscores, as kernels of matrix products have them:
 * "ampere_bf16_s16816gemm_bf16_128x64", "sm90_xmma_gemm_f32f32_tf32f32". */
static unsigned formats_of_part(const char *text, size_t length)
{
    static const struct {
        const char *name;
        bgk_float format;
    } types[] = {
        {"bf16", BGK_BF16}, {"f16", BGK_F16},  {"fp16", BGK_F16},  {"hgemm", BGK_F16},
        {"f32", BGK_F32},   {"tf32", BGK_F32}, {"fp32", BGK_F32},  {"sgemm", BGK_F32},
        {"f64", BGK_F64},   {"fp64", BGK_F64}, {"dgemm", BGK_F64},
    };
    unsigned formats = 0;
    for (size_t at = 0; at < length; at++) {
        if (at > 0 && !isdigit((unsigned char)text[at - 1]))
            continue;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (strncmp(text + at, types[i].name, strlen(types[i].name)) == 0)
                formats |= 1u << types[i].format;
    }
    return formats;
}

static unsigned formats_of_identifier(const char *text, size_t length)
{
    unsigned whole = identifier_format(text, length), formats = whole;
    for (size_t at = 0, part; whole == 0 && at < length; at += part + 1) {
        for (part = 0; at + part < length && text[at + part] != '_';)
            part++;
        formats |= formats_of_part(text + at, part);
    }
    return formats;
}

static bool is_integer(const char *text, size_t length)
{
    static const char *const names[] = {"int",     "long",     "short",    "unsigned", "signed",
                                        "bool",    "int8_t",   "int16_t",  "int32_t",  "int64_t",
                                        "uint8_t", "uint16_t", "uint32_t", "uint64_t", "size_t"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (equals_text(text, length, names[i]))
            return true;
    return false;
}

/* Returns all floating-point types in text. *integers: text names integers, other than in "(int)4". */
static unsigned scan_types(const char *text, size_t length, bool *integers)
{
    unsigned formats = 0;
    for (size_t at = 0; at < length;) {
        size_t part = 0;
        while (at + part < length && is_word_letter(text[at + part]))
            part++;
        formats |= formats_of_identifier(text + at, part);
        if (part > 0 && is_integer(text + at, part) && (at == 0 || text[at - 1] != '('))
            *integers = true;
        at += part + (part == 0);
    }
    return formats;
}

/* ---- a kernel's parameters ---- */

/* Returns the text between the last pair of parentheses. */
static const char *find_parameter_list(const char *name, size_t *length)
{
    const char *end = strrchr(name, ')'), *at = end;
    int depth = 0;
    for (; at != NULL && at >= name; at--) {
        depth += (*at == ')') - (*at == '(');
        if (depth == 0) {
            *length = (size_t)(end - at - 1);
            return at + 1;
        }
    }
    return NULL;
}

/* Finds the index-th type of the list. Returns false unless the list has `count` types. */
static bool find_parameter_type(const char *list, size_t length, int index, int count, const char **type, size_t *bytes)
{
    int depth = 0, number = 0;
    size_t begin = 0;
    bool found = false;

    for (size_t i = 0; i <= length; i++) {
        char c = i < length ? list[i] : ',';
        depth += (strchr("<([{", c) != NULL) - (strchr(">)]}", c) != NULL);
        if (c != ',' || (depth != 0 && i < length))
            continue;
        if (number++ == index) {
            *type = list + begin;
            *bytes = i - begin;
            found = true;
        }
        begin = i + 1;
    }
    return found && number == count;
}

static void trim_spaces(const char **text, size_t *length)
{
    while (*length > 0 && **text == ' ') {
        ++*text;
        --*length;
    }
    while (*length > 0 && (*text)[*length - 1] == ' ')
        --*length;
}

/* Removes `end` from the end of the text. Returns false if the text does not end with it. */
static bool remove_suffix(const char **text, size_t *length, const char *end)
{
    size_t bytes = strlen(end);
    bool is;
    trim_spaces(text, length);
    is = *length >= bytes && memcmp(*text + *length - bytes, end, bytes) == 0;
    if (is)
        *length -= bytes;
    trim_spaces(text, length);
    return is;
}

/* Finds what a pointer points to: float for "float const*". Returns false if type is no pointer. */
static bool find_pointed_type(const char **type, size_t *length, bool *read_only)
{
    (void)remove_suffix(type, length, "__restrict__");
    if (*length == 0 || (*type)[*length - 1] != '*')
        return false;
    --*length;
    *read_only = remove_suffix(type, length, "const");
    return true;
}

static const bg_dtype dtypes[] = {[BGK_F32] = BG_F32, [BGK_F64] = BG_F64, [BGK_F16] = BG_F16, [BGK_BF16] = BG_BF16};

static bg_dtype element_dtype(unsigned formats, const char *type, size_t length)
{
    for (int f = 0; f < BGK_FLOATS; f++)
        if (formats == 1u << f)
            return dtypes[f];
    if (equals_text(type, length, "int"))
        return BG_I32;
    if (equals_text(type, length, "long") || equals_text(type, length, "long long"))
        return BG_I64;
    return BG_U8;
}

/* Returns false if the parameter's type tells nothing about the elements, as void* and char* do not. */
static bool read_parameter_type(const char *name, int parameter, int count, bg__elements *elements)
{
    size_t length = 0, bytes = 0, last;
    const char *list = find_parameter_list(name, &length), *type;
    bool integers = false;

    if (list == NULL || parameter < 0 || !find_parameter_type(list, length, parameter, count, &type, &bytes) ||
        !find_pointed_type(&type, &bytes, &elements->read_only))
        return false;
    for (last = bytes; last > 0 && is_word_letter(type[last - 1]);)
        last--;
    elements->formats = identifier_format(type + last, bytes - last);
    if (elements->formats == 0)
        scan_types(type, bytes, &integers);
    if (elements->formats == 0 && (!integers || contains_text(type, bytes, "<")))
        return false;
    elements->source = elements->formats != 0 ? BG__ELEMENTS_CERTAIN : BG__ELEMENTS_OTHER;
    elements->dtype = element_dtype(elements->formats, type, bytes);
    return true;
}

bg__elements bg__elements_parse(const char *name, int parameter, int count)
{
    const unsigned any = (1u << BGK_FLOATS) - 1;
    bg__elements elements = {.source = BG__ELEMENTS_UNKNOWN, .formats = any, .dtype = BG_U8};
    bool integers = false, unused = false;
    const char *arguments;

    if (name == NULL || read_parameter_type(name, parameter, count, &elements))
        return elements;
    elements.formats = scan_types(name, strlen(name), &unused);
    arguments = strchr(name, '<');
    if (elements.formats != 0) {
        elements.source = BG__ELEMENTS_NAMED;
    } else {
        if (arguments != NULL)
            scan_types(arguments, strcspn(arguments, ">"), &integers);
        elements.source = integers ? BG__ELEMENTS_OTHER : BG__ELEMENTS_UNKNOWN;
        elements.formats = any;
    }
    return elements;
}

/* ---- bits ---- */

size_t bg__float_bytes(bgk_float format)
{
    return format == BGK_F64 ? 8 : format == BGK_F32 ? 4 : 2;
}

/* Whether the words look like numbers. known: a name says that some have this format. */
static bool are_plausible_numbers(const bgk_words *w, bool known)
{
    return w->other_nan == 0 && (known ? 2 : 8) * w->odd <= w->positive + w->negative;
}

unsigned long long bg__elements_nan(const bg__elements *elements, const bgk_words *w, unsigned long long *first)
{
    const bool any = elements->source == BG__ELEMENTS_CERTAIN;
    *first = any && w->first_other_nan < w->first_nan ? w->first_other_nan : w->first_nan;
    return w->nan + (any ? w->other_nan : 0);
}

bool bg__elements_contain(const bg__elements *elements, const bgk_words *w, bgk_float format, bool nan)
{
    enum { FEW_SIGNED = 4, FEW = 8 };
    bool named = elements->source == BG__ELEMENTS_NAMED;
    unsigned long long first;

    if ((nan ? bg__elements_nan(elements, w, &first) : w->inf) == 0 || elements->source == BG__ELEMENTS_OTHER ||
        (elements->formats & 1u << format) == 0)
        return false;
    if (elements->source == BG__ELEMENTS_CERTAIN || !are_plausible_numbers(w, named))
        return elements->source == BG__ELEMENTS_CERTAIN;
    if (named)
        return true;
    /* Most patterns of 16 bits are common numbers: without negative ones, they may be a table of integers. */
    return w->positive + w->negative >= FEW &&
           (bg__float_bytes(format) > 2 || (w->positive >= FEW_SIGNED && w->negative >= FEW_SIGNED));
}

bg_dtype bg__elements_dtype(const bg__elements *elements, const bgk_changes *changes)
{
    for (int f = 0; elements->source == BG__ELEMENTS_NAMED && f < BGK_FLOATS; f++)
        if (elements->formats == 1u << f && are_plausible_numbers(&changes->words[f], true))
            return dtypes[f];
    return elements->dtype;
}

bool bg__elements_find(const bg__elements *elements, const bgk_changes *changes, bool nan, bgk_float *format)
{
    static const bgk_float order[] = {BGK_F32, BGK_F64, BGK_BF16, BGK_F16};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        *format = order[i];
        if (bg__elements_contain(elements, &changes->words[order[i]], order[i], nan))
            return true;
    }
    return false;
}

const char *bg__elements_text(const bg__elements *elements, bgk_float format)
{
    static const char *const names[] = {[BGK_F32] = "f32", [BGK_F64] = "f64", [BGK_F16] = "f16", [BGK_BF16] = "bf16"};
    if (elements->source == BG__ELEMENTS_UNKNOWN && bg__float_bytes(format) == 2)
        return "f16 or bf16";
    return names[format];
}
