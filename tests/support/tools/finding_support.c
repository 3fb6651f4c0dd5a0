#include "finding_support.h"

#include "debug/report/kinds.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMA(kind, rank) kind,
static const char *const kinds[] = {BG__FINDING_KINDS(COMMA)};
static const char *const severities[] = {"note", "warning", "fault"};

static bool is_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i], name) == 0)
            return true;
    return false;
}

/* ---- texts ---- */

/* Whether the text has all words, or none of them; else the word that is not as it should be. */
static bool has_words(const char *text, const char *words, bool are_there, char word[400])
{
    while (*words != '\0') {
        size_t length = strcspn(words, "|");
        snprintf(word, 400, "%.*s", (int)length, words);
        if ((strstr(text, word) != NULL) != are_there)
            return false;
        words += length + (words[length] == '|');
    }
    return true;
}

void expect_in(const char *text, const char *words, bool are_there, const char *file, int line)
{
    char word[400];
    if (has_words(text, words, are_there, word))
        return;
    print_error("\"%s\" is%s in: \"%s\"\n", word, are_there ? " not" : "", text);
    _fail(file, line);
}

/* ---- findings ---- */

bg_finding finding_of(const bg_report *report, int index)
{
    bg_finding finding = BG_FINDING_INIT;
    EXPECT_OK(bg_report_get(report, index, &finding));
    return finding;
}

static bool is_equal(const char *found, const char *wanted)
{
    return wanted == NULL || strcmp(found, wanted) == 0;
}

static bool is_of_tests(const char *site, const char *file)
{
    return strcmp(site, file) == 0 || strstr(site, "tests/support/") != NULL;
}

static bool matches(const bg_finding *found, const expected *e, const char *file)
{
    char word[400];
    bool placed = e->call == NULL || e->call[0] == '\0' || is_of_tests(found->file, file);
    return is_equal(found->kind, e->kind) && is_kind(found->kind) && is_equal(found->call, e->call) && placed &&
           (e->line == 0 || found->line == e->line) && (e->address == NULL || found->address == e->address) &&
           is_equal(severities[found->severity], e->severity) && is_equal(found->others, e->others) &&
           (e->words == NULL || has_words(found->message, e->words, true, word)) &&
           (found->advice[0] != '\0' || found->severity == BG_NOTE);
}

static void print_finding(const bg_finding *finding)
{
    print_error("found %s [%s] %s at %s:%d, about %p, others \"%s\": %s (%s)\n", severities[finding->severity],
                finding->kind, finding->call, finding->file, finding->line, finding->address, finding->others,
                finding->message, finding->advice);
}

static void print_all(const bg_report *report)
{
    for (int i = 0; i < bg_report_count(report); i++) {
        bg_finding finding = finding_of(report, i);
        print_finding(&finding);
    }
}

static const char *text_or_any(const char *text)
{
    return text != NULL ? text : "any";
}

static void print_expected(const expected *e)
{
    print_error("expected %s [%s] %s at line %d, about %p, others \"%s\": ...%s...\n", text_or_any(e->severity),
                text_or_any(e->kind), text_or_any(e->call), e->line, e->address, text_or_any(e->others),
                text_or_any(e->words));
}

void expect_findings(bg_report *report, const expected *list, size_t bytes, const char *file, int line)
{
    const int count = (int)(bytes / sizeof *list);
    bool good = bg_report_count(report) == count;
    for (int i = 0; i < count && good; i++) {
        bg_finding finding = finding_of(report, i);
        good = matches(&finding, &list[i], file);
    }
    if (!good) {
        print_error("%d findings, expected %d, or the one that differs:\n", bg_report_count(report), count);
        for (int i = 0; i < count; i++)
            print_expected(&list[i]);
        print_all(report);
    }
    bg_report_destroy(report);
    if (!good)
        _fail(file, line);
}

void expect_each(const bg_report *report, const expected *e, const char *file, int line)
{
    int good = 0;
    for (int i = 0; i < bg_report_count(report); i++) {
        bg_finding finding = finding_of(report, i);
        good += matches(&finding, e, file);
    }
    if (good > 0 && good == bg_report_count(report))
        return;
    print_expected(e);
    print_all(report);
    _fail(file, line);
}

int count_findings(const bg_report *report, const char *kind)
{
    int count = 0;
    for (int i = 0; i < bg_report_count(report); i++)
        count += strcmp(finding_of(report, i).kind, kind) == 0;
    return count;
}

bg_finding expect_the(const bg_report *report, const expected *e, const char *file, int line)
{
    bg_finding found = BG_FINDING_INIT;
    for (int i = 0; i < bg_report_count(report); i++) {
        found = finding_of(report, i);
        if (strcmp(found.kind, e->kind) == 0 && count_findings(report, e->kind) == 1 && matches(&found, e, file))
            return found;
    }
    print_expected(e);
    print_all(report);
    _fail(file, line);
    return found;
}

/* ---- standard error ---- */

static int kept;

FILE *keep_errors(void)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    kept = dup(STDERR_FILENO);
    fflush(stderr);
    assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    return file;
}

char *kept_errors(FILE *file, char *text, size_t bytes)
{
    size_t length;
    fflush(stderr);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    assert_int_equal(close(kept), 0);
    rewind(file);
    length = fread(text, 1, bytes - 1, file);
    text[length] = '\0';
    assert_int_equal(fclose(file), 0);
    return text;
}

const char *errors_said(FILE *errors)
{
    static char text[1 << 14];
    return kept_errors(errors, text, sizeof text);
}

const char *replays_say(bg_graph *graph, cudaStream_t stream, int replays)
{
    FILE *errors = keep_errors();
    bg_status status = BG_OK;
    for (int i = 0; i < replays && status == BG_OK; i++)
        status = bg_replay(graph, stream);
    const char *text = errors_said(errors);
    EXPECT_OK(status);
    return text;
}

void expect_child_status(void (*run)(void), int status, const char *file, int line)
{
    int found = 0;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGINT, SIG_DFL);
        (void)signal(SIGTERM, SIG_DFL);
        (void)signal(SIGSEGV, SIG_DFL);
        run();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &found, 0), child);
    found = WIFSIGNALED(found) ? 128 + WTERMSIG(found) : WEXITSTATUS(found);
    if (found == status)
        return;
    print_error("the child ended with %d, expected %d\n", found, status);
    _fail(file, line);
}
