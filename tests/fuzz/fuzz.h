/* What the fuzzers of the readers share. Each defines LLVMFuzzerTestOneInput, which libFuzzer calls with inputs that it
 * makes, and once.c with those of tests/fuzz/corpus. */
#ifndef BG_TESTS_FUZZ_H
#define BG_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <breakgraph/status.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program where it is false, with the condition and bg_last_error(). */
#define FUZZ_EXPECT(condition) ((condition) ? (void)0 : fuzz_fail(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_fail(const char *condition, const char *file, int line);

/* A failure has set its sentence since this. */
void fuzz_forget_error(void);
void fuzz_expect_refused(bg_status status);

/* A copy of the bytes in a block of their size, for AddressSanitizer, or one with a zero behind them. The caller frees
 * it. */
uint8_t *fuzz_copy(const uint8_t *data, size_t size);
char *fuzz_text(const uint8_t *data, size_t size);

/* The bytes as a file, until the next call; its path. It is in memory alone. */
const char *fuzz_file(const uint8_t *data, size_t size);
/* A directory of this process, which is removed when it exits. */
const char *fuzz_directory(void);

/* Between both, what is written to stderr is kept instead; unhush gives its beginning. */
void fuzz_hush(void);
const char *fuzz_unhush(void);

#endif
