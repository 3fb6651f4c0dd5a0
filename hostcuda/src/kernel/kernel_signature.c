#include "hostcuda/src/kernel/kernel_signature.h"

#include "hostcuda/src/kernel/kernel_symbols.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function of the C++ runtime: demangles a name. The caller frees the result. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *bytes, int *status);

/* How the ABI passes a value. */
enum class { CLASS_SIGNED, CLASS_UNSIGNED, CLASS_FLOATING };

struct parameter_type {
    const char *name;
    size_t bytes;
    enum class class;
};

static const struct parameter_type NUMBERS[] = {
    {"bool", 1, CLASS_UNSIGNED},
    {"char", 1, (char)-1 < 0 ? CLASS_SIGNED : CLASS_UNSIGNED},
    {"signed char", 1, CLASS_SIGNED},
    {"unsigned char", 1, CLASS_UNSIGNED},
    {"short", 2, CLASS_SIGNED},
    {"unsigned short", 2, CLASS_UNSIGNED},
    {"char16_t", 2, CLASS_UNSIGNED},
    {"int", 4, CLASS_SIGNED},
    {"unsigned int", 4, CLASS_UNSIGNED},
    {"char32_t", 4, CLASS_UNSIGNED},
    {"wchar_t", sizeof(wchar_t), (wchar_t)-1 < 0 ? CLASS_SIGNED : CLASS_UNSIGNED},
    {"long", sizeof(long), CLASS_SIGNED},
    {"unsigned long", sizeof(long), CLASS_UNSIGNED},
    {"long long", 8, CLASS_SIGNED},
    {"unsigned long long", 8, CLASS_UNSIGNED},
    {"float", 4, CLASS_FLOATING},
    {"double", 8, CLASS_FLOATING},
    {"decltype(nullptr)", sizeof(void *), CLASS_UNSIGNED},
    {"__half", 2, CLASS_UNSIGNED}, /* structs of one such number */
    {"__nv_bfloat16", 2, CLASS_UNSIGNED},
};
static const struct parameter_type POINTER = {"", sizeof(void *), CLASS_UNSIGNED};

struct signature {
    struct hostcuda_kernel_type type;
    const void *function;
    size_t *offsets, *sizes;
    enum class *classes;
};

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* Numbers and pointers are passed in registers of two kinds, then on the stack. A call that fills all registers and
 * enough of the stack therefore works for every function. */
#if defined(__x86_64__)
enum { WORD_REGISTERS = 6, FLOATING_REGISTERS = 8, STACK_SMALL = 8, STACK_WORDS = 64 };
#define WORD_TYPES long, long, long, long, long, long
#define WORDS(w)   w[0], w[1], w[2], w[3], w[4], w[5]
#define CALLS      1
#elif defined(__aarch64__) && !defined(__APPLE__)
enum { WORD_REGISTERS = 8, FLOATING_REGISTERS = 8, STACK_SMALL = 8, STACK_WORDS = 64 };
#define WORD_TYPES long, long, long, long, long, long, long, long
#define WORDS(w)   w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
#define CALLS      1
#endif

#ifdef CALLS
#define FLOATING_TYPES double, double, double, double, double, double, double, double
#define EIGHT_TYPES    long, long, long, long, long, long, long, long
#define EIGHT(s, i)    s[i], s[i + 1], s[i + 2], s[i + 3], s[i + 4], s[i + 5], s[i + 6], s[i + 7]

typedef void (*short_call)(WORD_TYPES, FLOATING_TYPES, EIGHT_TYPES);
typedef void (*long_call)(WORD_TYPES, FLOATING_TYPES, EIGHT_TYPES, EIGHT_TYPES, EIGHT_TYPES, EIGHT_TYPES, EIGHT_TYPES,
                          EIGHT_TYPES, EIGHT_TYPES, EIGHT_TYPES);

struct registers {
    long words[WORD_REGISTERS], stack[STACK_WORDS];
    double floating[FLOATING_REGISTERS];
    unsigned word_count, floating_count, stack_count;
};

/* Extends a number to a register, as a caller does. */
static long read_word(const void *argument, size_t bytes, enum class class)
{
    int64_t value = 0;
    memcpy(&value, argument, bytes);
    unsigned above = 64 - 8 * (unsigned)bytes;
    if (class != CLASS_SIGNED || !above)
        return (long)value;
    return (long)((int64_t)((uint64_t)value << above) >> above);
}

static void place_argument(struct registers *to, const void *argument, size_t bytes, enum class class)
{
    long word = read_word(argument, bytes, class);
    if (class == CLASS_FLOATING && to->floating_count < FLOATING_REGISTERS)
        memcpy(&to->floating[to->floating_count++], &word, sizeof word); /* a float is in the lower half */
    else if (class != CLASS_FLOATING && to->word_count < WORD_REGISTERS)
        to->words[to->word_count++] = word;
    else
        to->stack[to->stack_count++] = word;
}

static void invoke_by_signature(const void *data, void **arguments)
{
    const struct signature *signature = data;
    struct registers r;
    memset(r.words, 0, sizeof r.words);
    memset(r.floating, 0, sizeof r.floating);
    for (unsigned i = 0; i < STACK_SMALL; i++)
        r.stack[i] = 0;
    r.word_count = r.floating_count = r.stack_count = 0;
    for (size_t i = 0; i < signature->type.count; i++)
        place_argument(&r, arguments[i], signature->sizes[i], signature->classes[i]);
    void *function = (void *)(uintptr_t)signature->function;
    if (r.stack_count <= STACK_SMALL) {
        short_call call = (short_call)(uintptr_t)function;
        call(WORDS(r.words), EIGHT(r.floating, 0), EIGHT(r.stack, 0));
        return;
    }
    for (unsigned i = r.stack_count; i < STACK_WORDS; i++)
        r.stack[i] = 0;
    long_call call = (long_call)(uintptr_t)function;
    call(WORDS(r.words), EIGHT(r.floating, 0), EIGHT(r.stack, 0), EIGHT(r.stack, 8), EIGHT(r.stack, 16),
         EIGHT(r.stack, 24), EIGHT(r.stack, 32), EIGHT(r.stack, 40), EIGHT(r.stack, 48), EIGHT(r.stack, 56));
}
enum { PARAMETERS_SUPPORTED = STACK_WORDS };
#else
static void invoke_by_signature(const void *data, void **arguments)
{
    (void)data, (void)arguments;
}
enum { PARAMETERS_SUPPORTED = -1 };
#endif

bool hc_signature_made_type(const struct hostcuda_kernel_type *type)
{
    return type && type->invoke == invoke_by_signature;
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* Returns the parameter list of "void scale<float>(float*, float)" without the parentheses; modifies the text. NULL:
 * there is none, as for a C function. */
static char *find_parameter_list(char *text)
{
    size_t length = strlen(text);
    int depth = 0;
    if (!length || text[length - 1] != ')')
        return NULL;
    text[length - 1] = 0;
    for (size_t i = length - 1; i-- > 0;) {
        depth += text[i] == ')';
        if (text[i] == '(' && depth-- == 0)
            return text + i + 1;
    }
    return NULL;
}

/* Terminates the first type of the list and returns the rest. NULL: it was the last one. */
static char *cut_type(char *list)
{
    int depth = 0;
    for (char *at = list; *at; at++) {
        depth += (*at == '(' || *at == '<' || *at == '[' || *at == '{');
        depth -= (*at == ')' || *at == '>' || *at == ']' || *at == '}');
        if (*at == ',' && depth <= 0) {
            *at++ = 0;
            return at + (*at == ' ');
        }
    }
    return NULL;
}

/* Whether the name is like "void (*)(int)", and not like "list<void (*)()>". */
static bool is_function_pointer(const char *name)
{
    int depth = 0;
    for (; *name; name++) {
        depth += *name == '<';
        depth -= *name == '>';
        if (!depth && strncmp(name, "(*", 2) == 0)
            return true;
    }
    return false;
}

static const struct parameter_type *find_type(const char *name)
{
    size_t length = strlen(name);
    if ((length && (name[length - 1] == '*' || name[length - 1] == '&')) || is_function_pointer(name))
        return &POINTER;
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++)
        if (strcmp(name, NUMBERS[i].name) == 0)
            return &NUMBERS[i];
    return NULL;
}

static struct signature *allocate_signature(const void *function, size_t count)
{
    struct signature *made = calloc(1, sizeof *made);
    size_t *places = calloc(2 * count + 1, sizeof *places);
    enum class *classes = calloc(count + 1, sizeof *classes);
    if (!made || !places || !classes) {
        free(made);
        free(places);
        free(classes);
        return NULL;
    }
    *made = (struct signature){.function = function, .offsets = places, .sizes = places + count, .classes = classes};
    made->type = (struct hostcuda_kernel_type){invoke_by_signature, count, made->offsets, made->sizes};
    return made;
}

/* Uses the same layout as kernel_shim.h. */
static void fill_signature(struct signature *to, const struct parameter_type *const *types)
{
    size_t offset = 0;
    for (size_t i = 0; i < to->type.count; i++) {
        offset = (offset + types[i]->bytes - 1) / types[i]->bytes * types[i]->bytes;
        to->offsets[i] = offset;
        to->sizes[i] = types[i]->bytes;
        to->classes[i] = types[i]->class;
        offset += types[i]->bytes;
    }
}

static struct signature *read_parameter_list(const void *function, char *list, char *unknown, size_t unknown_bytes)
{
    enum { PARAMETERS_MAX = PARAMETERS_SUPPORTED > 0 ? PARAMETERS_SUPPORTED : 0 };
    const struct parameter_type *types[PARAMETERS_MAX + 1];
    size_t count = 0;
    for (char *next = *list ? list : NULL; next; count++) {
        char *name = next;
        next = cut_type(name);
        if (count == PARAMETERS_MAX) {
            snprintf(unknown, unknown_bytes, "it has more than %d parameters", (int)PARAMETERS_MAX);
            return NULL;
        }
        types[count] = find_type(name);
        if (!types[count]) {
            snprintf(unknown, unknown_bytes, "the size of %s is not known", name);
            return NULL;
        }
    }
    struct signature *made = allocate_signature(function, count);
    if (made)
        fill_signature(made, types);
    return made;
}

const struct hostcuda_kernel_type *hc_signature_read(const void *function, char *unknown, size_t unknown_bytes)
{
    int status = 0;
    snprintf(unknown, unknown_bytes, "its name does not contain its parameters, or is not in the symbol table");
    if (PARAMETERS_SUPPORTED < 0)
        return NULL;
    char *mangled = hc_symbol_name(function);
    char *text = mangled ? __cxa_demangle(mangled, NULL, NULL, &status) : NULL;
    char *list = text ? find_parameter_list(text) : NULL;
    struct signature *made = list ? read_parameter_list(function, list, unknown, unknown_bytes) : NULL;
    free(text);
    free(mangled);
    return made ? &made->type : NULL;
}
