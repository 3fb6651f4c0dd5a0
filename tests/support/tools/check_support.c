#include "check_support.h"

#include "debug/report/kinds.h"

#include <stdio.h>
#include <string.h>

#define COMMA(kind, rank) kind,
static const char *const kinds[] = {BG__FINDING_KINDS(COMMA)};

static bool is_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i], name) == 0)
            return true;
    return false;
}

static bg_report *check(bg_graph *graph, unsigned what, int count, const char *file, int line)
{
    bg_report *report;
    expect_status(bg_check(graph, what, &report), BG_OK, "bg_check", file, line);
    if (bg_report_count(report) == count)
        return report;
    EXPECT_OK(bg_report_write(report, BG_TEXT, "-"));
    print_error("%d findings, expected %d\n", bg_report_count(report), count);
    _fail(file, line);
    return report;
}

void expect_clean(bg_graph *graph, unsigned what, const char *file, int line)
{
    bg_report_destroy(check(graph, what, 0, file, line));
}

static void expect_words(const char *message, const char *words, const char *file, int line)
{
    while (*words != '\0') {
        char word[200];
        size_t length = strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        if (strstr(message, word) == NULL) {
            print_error("the message is \"%s\", expected in it: \"%s\"\n", message, word);
            _fail(file, line);
        }
        words += length + (words[length] == '|');
    }
}

void expect_found(bg_graph *graph, unsigned what, const expected *e, const char *file, int line)
{
    bg_report *report = check(graph, what, 1, file, line);
    bg_finding f = BG_FINDING_INIT;
    EXPECT_OK(bg_report_get(report, 0, &f));
    if (strcmp(f.kind, e->kind) != 0 || strcmp(f.call, e->call) != 0 || f.line != e->line || f.address != e->address ||
        !is_kind(f.kind)) {
        print_error("found [%s] %s at line %d, address %p: %s; expected [%s] %s at line %d, address %p\n", f.kind,
                    f.call, f.line, f.address, f.message, e->kind, e->call, e->line, e->address);
        _fail(file, line);
    }
    expect_words(f.message, e->words, file, line);
    assert_true(f.advice[0] != '\0');
    assert_true(e->call[0] == '\0' || strstr(f.file, "tests/") != NULL);
    bg_report_destroy(report);
}

char *allocate(size_t bytes)
{
    void *memory;
    EXPECT_CUDA(cudaMalloc(&memory, bytes));
    EXPECT_CUDA(cudaMemset(memory, 0, bytes));
    EXPECT_CUDA(cudaDeviceSynchronize());
    return memory;
}

void reuse(void *memory, size_t bytes)
{
    enum { TRIES = 256 };
    void *other[TRIES];
    int count = 0;
    bool is_there = false;
    EXPECT_CUDA(cudaFree(memory));
    while (count < TRIES && !is_there) {
        EXPECT_CUDA(cudaMalloc(&other[count], bytes));
        is_there = other[count++] == memory;
    }
    for (int i = 0; i < count - is_there; i++)
        EXPECT_CUDA(cudaFree(other[i]));
    if (!is_there) {
        print_message("skipped: of %d allocations none got the address that was freed\n", TRIES);
        skip();
    }
}
