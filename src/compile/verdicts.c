/* Stores the results of proofs, for all captures of this process. */
#include "compile/compile.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bg__proof_outcome_set(bg__proof_outcome *finding, bg_fusion_state state, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(finding->why, sizeof finding->why, format, list);
    va_end(list);
    finding->state = state;
}

struct bg__verdict {
    bg__verdict *next;
    const bg_rule *rule;
    int64_t *key;
    int words;
    bg__proof_outcome finding;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bg__verdict *first_verdict;

/* ---- keys: shapes, kinds of memory, overlaps and values of the arguments of the calls and the op, the tolerance, and
 * the capture modes; no addresses of tensors ---- */

typedef struct span {
    uintptr_t begin, end;
} span;

typedef struct key {
    int64_t *words;
    int count;
    size_t capacity;
    span *tensors;
    int tensor_count;
    size_t tensor_capacity;
} key;

static bool shares_memory(span a, span b)
{
    return a.begin == b.begin || (a.begin < b.end && b.begin < a.end);
}

static bg_status add_key_word(key *k, int64_t word)
{
    bg_status status;
    BG__TRY(BG__ARRAY_GROW(k->words, k->count, k->capacity, "the key of a rule"));
    k->words[k->count++] = word;
done:
    return status;
}

static bg_status add_key_tensor(key *k, const bg_tensor *tensor)
{
    struct cudaPointerAttributes attributes = {.type = cudaMemoryTypeUnregistered};
    const span memory = {(uintptr_t)tensor->data, (uintptr_t)tensor->data + bg_tensor_bytes(tensor)};
    int shared = 0, same = -1;
    bg_status status = BG_OK;

    for (int i = 0; i < k->tensor_count; i++) {
        shared += shares_memory(k->tensors[i], memory);
        if (k->tensors[i].begin == memory.begin && k->tensors[i].end == memory.end)
            same = i;
    }
    if (tensor->data != NULL && shared == 0) /* the kind is known if memory is shared; the query takes time */
        BG__TRY_CUDA(cudaPointerGetAttributes(&attributes, tensor->data));
    BG__TRY(add_key_word(k, attributes.type));
    BG__TRY(add_key_word(k, ((int64_t)tensor->dtype << 32) | (int64_t)tensor->rank));
    for (int d = 0; d < tensor->rank; d++)
        BG__TRY(add_key_word(k, tensor->dim[d]));
    BG__TRY(add_key_word(k, same));
    if (same >= 0 || tensor->data == NULL)
        goto done;
    BG__TRY(add_key_word(k, shared));
    for (int i = 0; i < k->tensor_count; i++) {
        if (!shares_memory(k->tensors[i], memory))
            continue;
        BG__TRY(add_key_word(k, i));
        BG__TRY(add_key_word(k, (int64_t)(memory.begin - k->tensors[i].begin)));
    }
    BG__TRY(BG__ARRAY_GROW(k->tensors, k->tensor_count, k->tensor_capacity, "the key of a rule"));
    k->tensors[k->tensor_count++] = memory;
done:
    return status;
}

static bg_status add_key_bytes(key *k, const void *bytes, size_t count)
{
    bg_status status = BG_OK;

    for (size_t at = 0; at < count; at += sizeof(int64_t)) {
        int64_t word = 0;
        memcpy(&word, (const char *)bytes + at, count - at < sizeof word ? count - at : sizeof word);
        BG__TRY(add_key_word(k, word));
    }
done:
    return status;
}

static bg_status add_key_arguments(key *k, const bg_op *op, const void *args)
{
    bg_status status = BG_OK;

    for (uint32_t f = 0; f < op->field_count; f++) {
        const bg_field *field = &op->fields[f];
        const bg_tensor *at = bg__field_tensors(field, args);
        if (field->role == BG_ROLE_VALUE)
            BG__TRY(add_key_bytes(k, (const char *)args + field->offset, field->size));
        for (int n = 0; n < bg__field_count_tensors(field); n++)
            BG__TRY(add_key_tensor(k, &at[n]));
    }
done:
    return status;
}

static bg_status make_key(key *k, const bg__fusion *run, const bg__piece *piece)
{
    const bg_rule *rule = run->rule;
    const char *tolerance = rule->attributes_.tolerance;
    bg_status status = BG_OK;

    if (tolerance != NULL)
        BG__TRY(add_key_bytes(k, tolerance, strlen(tolerance)));
    BG__TRY(add_key_word(k, ((int64_t)piece->capture->options.mode << 32) | (int64_t)piece->mode));
    BG__TRY(add_key_word(k, run->calls[0]->zero_tail));
    for (int i = 0; i < rule->count; i++)
        BG__TRY(add_key_arguments(k, run->calls[i]->op, run->calls[i]->kept));
    BG__TRY(add_key_arguments(k, rule->op, run->args));
done:
    return status;
}

/* ---- the table ---- */

static bg__verdict *find_verdict_locked(const bg_rule *rule, const key *k)
{
    bg__verdict *verdict = first_verdict;
    while (verdict != NULL &&
           (verdict->rule != rule || verdict->words != k->count ||
            (k->count > 0 && memcmp(verdict->key, k->words, (size_t)k->count * sizeof *k->words) != 0)))
        verdict = verdict->next;
    return verdict;
}

static bg__verdict *add_verdict_locked(const bg_rule *rule, key *k)
{
    bg__verdict *verdict = calloc(1, sizeof *verdict);
    if (verdict == NULL)
        return NULL;
    *verdict = (bg__verdict){.next = first_verdict, .rule = rule, .key = k->words, .words = k->count};
    first_verdict = verdict;
    k->words = NULL;
    return verdict;
}

bg_status bg__verdict_find_or_add(bg__fusion *run, const bg__piece *piece)
{
    key k = {.words = NULL};
    bg_status status;

    BG__TRY(make_key(&k, run, piece));
    pthread_mutex_lock(&mutex);
    run->verdict = find_verdict_locked(run->rule->next_, &k);
    if (run->verdict == NULL)
        run->verdict = add_verdict_locked(run->rule->next_, &k);
    pthread_mutex_unlock(&mutex);
    if (run->verdict == NULL)
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the proof of a rule");
done:
    free(k.words);
    free(k.tensors);
    return status;
}

bg__proof_outcome bg__verdict_read(bg__verdict *verdict)
{
    bg__proof_outcome finding;
    pthread_mutex_lock(&mutex);
    finding = verdict->finding;
    pthread_mutex_unlock(&mutex);
    return finding;
}

void bg__verdict_store(bg__verdict *verdict, const bg__proof_outcome *finding)
{
    pthread_mutex_lock(&mutex);
    if (finding->known || !verdict->finding.known)
        verdict->finding = *finding;
    pthread_mutex_unlock(&mutex);
}

void bg__verdicts_invalidate(const bg_rule *rule)
{
    pthread_mutex_lock(&mutex);
    for (bg__verdict *verdict = first_verdict; verdict != NULL; verdict = verdict->next)
        if (verdict->rule == rule)
            verdict->finding.known = false;
    pthread_mutex_unlock(&mutex);
}

/* Frees the verdicts at exit, so that leak checkers find nothing. */
__attribute__((destructor)) static void free_verdicts(void)
{
    bg__verdict *next;
    for (bg__verdict *verdict = first_verdict; verdict != NULL; verdict = next) {
        next = verdict->next;
        free(verdict->key);
        free(verdict);
    }
    first_verdict = NULL;
}
