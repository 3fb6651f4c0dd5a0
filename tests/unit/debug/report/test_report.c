/* Reports: what is put in comes out as text, as JSON and one by one. */
#include "tests/support/tools/owned.h"

#include "debug/report/report.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];
static char path[96];

static const bg__call call = {.name = (char *)"rope#3", .site = {"model.c", 42}};
static const bg__call nameless = {.site = {NULL, 0}};

static int setup(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/breakgraph-report.XXXXXX");
    if (mkdtemp(directory) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/report", directory);
    return 0;
}

static int count_files(void)
{
    const struct dirent *entry;
    DIR *files = opendir(directory);
    int count = 0;
    assert_non_null(files);
    while ((entry = readdir(files)) != NULL)
        count += entry->d_name[0] != '.';
    assert_int_equal(closedir(files), 0);
    return count;
}

static int teardown(void **state)
{
    (void)state;
    (void)remove(path);
    return rmdir(directory);
}

static bg_report *make(void)
{
    bg_report *report;
    EXPECT_OK(bg__report_create(&report, "check", "decode"));
    return report;
}

/* A note, a fault, a warning, and another fault. */
static bg_report *make_mixed(void)
{
    bg_report *report = make();
    bg__report_add(report, "note-kind", BG_NOTE, NULL, NULL, "", "worth knowing");
    bg__report_add(report, "freed", BG_FAULT, &call, (void *)0x1000, "keep it", "field %s of %d", "x", 7);
    bg__report_add(report, "odd", BG_WARNING, &nameless, NULL, "look", "a \"quoted\" \\ line\nand another");
    bg__report_add(report, "reused", BG_FAULT, &call, (void *)0x2000, "copy it", "field y");
    return report;
}

static bg_finding finding_of(const bg_report *report, int index)
{
    bg_finding finding = BG_FINDING_INIT;
    EXPECT_OK(bg_report_get(report, index, &finding));
    return finding;
}

/* What the file holds; the caller frees it. */
static char *read_all(void)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, file) < (1 << 16) - 1);
    assert_int_equal(fclose(file), 0);
    return text;
}

#define REPORT_TEST(name) TEST_F(name, setup, teardown, void *state)

REPORT_TEST(test_empty)
{
    OWN_REPORT(report, make());
    bg_finding finding = BG_FINDING_INIT;
    assert_int_equal(bg_report_count(report), 0);
    EXPECT_STATUS(bg_report_get(report, 0, &finding), BG_ERROR_NOT_FOUND);
    EXPECT_OK(bg_report_write(report, BG_TEXT, path));
    OWN_TEXT(text, read_all());
    assert_string_equal(text, "check of decode: 0 findings\n");
}

REPORT_TEST(test_order)
{
    static const char *const kinds[] = {"freed", "reused", "odd", "note-kind"};
    OWN_REPORT(report, make_mixed());
    assert_int_equal(bg_report_count(report), 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(finding_of(report, i).kind, kinds[i]);
    bg_finding finding = finding_of(report, 0);
    assert_int_equal(finding.severity, BG_FAULT);
    assert_string_equal(finding.call, "rope#3");
    assert_string_equal(finding.file, "model.c");
    assert_int_equal(finding.line, 42);
    assert_ptr_equal(finding.address, (void *)0x1000);
    assert_string_equal(finding.message, "field x of 7");
    assert_string_equal(finding.advice, "keep it");
    finding = finding_of(report, 2); /* a call without name or place */
    assert_string_equal(finding.call, "");
    assert_string_equal(finding.file, "");
    assert_int_equal(finding.line, 0);
    assert_null(finding.address);
    EXPECT_STATUS(bg_report_get(report, 4, &finding), BG_ERROR_NOT_FOUND);
    EXPECT_ERROR("there is no finding 4; the report has 4");
    EXPECT_STATUS(bg_report_get(report, -1, &finding), BG_ERROR_NOT_FOUND);
}

REPORT_TEST(test_duplicates)
{
    OWN_REPORT(report, make());
    const bg__call elsewhere = {.name = (char *)"rope#3", .site = {"model.c", 43}};
    for (int i = 0; i < 2; i++) {
        bg__report_add(report, "freed", BG_FAULT, &call, (void *)0x1000, "", "field x");
        bg__report_add(report, "freed", BG_FAULT, &call, (void *)0x1000, "", "field y");
        bg__report_add(report, "freed", BG_FAULT, &call, (void *)0x2000, "", "field x");
        bg__report_add(report, "freed", BG_FAULT, &elsewhere, (void *)0x1000, "", "field x");
        bg__report_add(report, "reused", BG_FAULT, &call, (void *)0x1000, "", "field x");
        bg__report_add(report, "freed", BG_FAULT, NULL, (void *)0x1000, "", "field x");
        assert_int_equal(bg_report_count(report), 6);
    }
}

/* Its strings are the report's own. */
REPORT_TEST(test_copies)
{
    OWN_REPORT(report, make());
    char kind[] = "freed", advice[] = "keep it", name[] = "rope#3", file[] = "model.c";
    const bg__call own = {.name = name, .site = {file, 1}};
    bg__report_add(report, kind, BG_FAULT, &own, NULL, advice, "%s", "gone");
    kind[0] = advice[0] = name[0] = file[0] = '?';
    bg_finding finding = finding_of(report, 0);
    assert_string_equal(finding.kind, "freed");
    assert_string_equal(finding.advice, "keep it");
    assert_string_equal(finding.call, "rope#3");
    assert_string_equal(finding.file, "model.c");
}

REPORT_TEST(test_text)
{
    OWN_REPORT(report, make_mixed());
    EXPECT_OK(bg_report_write(report, BG_TEXT, path));
    OWN_TEXT(text, read_all());
    assert_string_equal(text, "check of decode: 4 findings\n"
                              "fault [freed] rope#3 at model.c:42: field x of 7\n    keep it\n"
                              "fault [reused] rope#3 at model.c:42: field y\n    copy it\n"
                              "warning [odd]: a \"quoted\" \\ line\\x0aand another\n    look\n"
                              "note [note-kind]: worth knowing\n");
}

static bg_report *make_long(void)
{
    bg_report *report = make();
    bg__report_add(report, "freed", BG_FAULT, &call, NULL, "keep it as long as the graph is replayed, or capture again",
                   "the words of gr\303\274n were freed  after the capture: 256 bytes at 0x7f05b66de000, device "
                   "allocation of 256 bytes at 0x7f05b66de000 (allocation id 7)");
    return report;
}

REPORT_TEST(test_wrapped)
{
    OWN_REPORT(report, make_long());
    EXPECT_OK(bg_report_write(report, BG_TEXT, path));
    OWN_TEXT(text, read_all());
    assert_string_equal(text,
                        "check of decode: 1 finding\n"
                        "fault [freed] rope#3 at model.c:42: the words of gr\303\274n were freed  after the capture: "
                        "256 bytes at 0x7f05b66de000, device\n"
                        "        allocation of 256 bytes at 0x7f05b66de000 (allocation id 7)\n"
                        "    keep it as long as the graph is replayed, or capture again\n");
}

/* As wide as the terminal, which has other line ends. */
REPORT_TEST(test_wrapped_in_terminal)
{
    static const char expected[] = "check of decode: 1 finding\r\n"
                                   "fault [freed] rope#3 at model.c:42: the words of\r\n"
                                   "        gr\303\274n were freed  after the capture: 256\r\n"
                                   "        bytes at 0x7f05b66de000, device\r\n"
                                   "        allocation of 256 bytes at\r\n"
                                   "        0x7f05b66de000 (allocation id 7)\r\n"
                                   "    keep it as long as the graph is replayed, or\r\n"
                                   "        capture again\r\n";
    const struct winsize size = {.ws_row = 24, .ws_col = 48};
    OWN_REPORT(report, make_long());
    int terminal = posix_openpt(O_RDWR | O_NOCTTY), user;
    char text[1024] = "";
    size_t used = 0;

    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    user = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    assert_true(user >= 0 && ioctl(user, TIOCSWINSZ, &size) == 0);
    FILE *out = fdopen(user, "w");
    assert_non_null(out);
    bg__report_print(report, out);
    assert_int_equal(fflush(out), 0);
    while (used < sizeof expected - 1) {
        ssize_t got = read(terminal, text + used, sizeof text - 1 - used);
        assert_true(got > 0);
        used += (size_t)got;
    }
    assert_string_equal(text, expected);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(close(terminal), 0);
}

/* Nothing of a report drives a terminal. */
REPORT_TEST(test_hostile_text)
{
    static const bg__call hostile = {.name = (char *)"rope\033[2J", .site = {"\033]0;x\007.c", 42}};
    OWNED_REPORT(report);
    EXPECT_OK(bg__report_create(&report, "to\rol", "gra\302\233ph"));
    bg__report_add(report, "ki\nnd", BG_FAULT, &hostile, NULL, "\177", "%s", "a\033[31m b\233 gr\303\274n");
    EXPECT_OK(bg_report_write(report, BG_TEXT, path));
    char *text = read_all();
    assert_string_equal(text, "to\\x0dol of gra\\xc2\\x9bph: 1 finding\n"
                              "fault [ki\\x0and] rope\\x1b[2J at \\x1b]0;x\\x07.c:42: a\\x1b[31m b\\x9b gr\303\274n\n"
                              "    \\x7f\n");
    free(text);
    EXPECT_OK(bg_report_write(report, BG_JSON, path));
    text = read_all();
    assert_non_null(strstr(text, "\"gra\\u009bph\""));
    assert_non_null(strstr(text, "\"\\u007f\""));
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\177'));
    free(text);
}

static const char *string_of(const cJSON *object, const char *name)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    if (value == NULL)
        fail_msg("no string \"%s\"", name);
    return value;
}

static void expect_item(const cJSON *item, const bg_finding *finding)
{
    static const char *const severities[] = {"note", "warning", "fault"};
    const cJSON *address = cJSON_GetObjectItemCaseSensitive(item, "address");
    assert_string_equal(string_of(item, "kind"), finding->kind);
    assert_string_equal(string_of(item, "severity"), severities[finding->severity]);
    assert_string_equal(string_of(item, "call"), finding->call);
    assert_string_equal(string_of(item, "file"), finding->file);
    assert_string_equal(string_of(item, "message"), finding->message);
    assert_string_equal(string_of(item, "advice"), finding->advice);
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(item, "line")) == finding->line);
    if (finding->address == NULL)
        assert_true(cJSON_IsNull(address));
    else
        assert_ptr_equal((void *)(uintptr_t)strtoull(cJSON_GetStringValue(address), NULL, 16), finding->address);
}

REPORT_TEST(test_json)
{
    OWN_REPORT(report, make_mixed());
    const cJSON *list, *item;
    int i = 0;
    EXPECT_OK(bg_report_write(report, BG_JSON, path));
    OWN_TEXT(text, read_all());
    OWN_JSON(root, cJSON_Parse(text));
    assert_non_null(root);
    assert_string_equal(string_of(root, "breakgraph"), bg_version());
    assert_string_equal(string_of(root, "tool"), "check");
    assert_string_equal(string_of(root, "graph"), "decode");
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(root, "report_version")) == 2);
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(root, "lost")) == 0);
    list = cJSON_GetObjectItemCaseSensitive(root, "findings");
    assert_int_equal(cJSON_GetArraySize(list), 4);
    cJSON_ArrayForEach(item, list)
    {
        bg_finding finding = finding_of(report, i++);
        expect_item(item, &finding);
    }
    assert_int_equal(i, 4);
}

/* JSON and pages are UTF-8, whatever names hold: what is no character becomes U+FFFD, byte by byte. */
REPORT_TEST(test_bytes)
{
#define BAD "\xef\xbf\xbd"
    static const char *const rows[][2] = {
        {"plain", "plain"},
        {"\x7f \xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf",
         "\x7f \xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"},
        {"a\xff", "a" BAD},
        {"\x80"
         "b",
         BAD "b"},
        {"\xc3", BAD},
        {"\xc3(\xc3\xa9", BAD "(\xc3\xa9"},
        {"\xc0\xaf", BAD BAD},
        {"\xe2\x82", BAD BAD},
        {"\xe0\x9f\xbf", BAD BAD BAD},
        {"\xed\xa0\x80", BAD BAD BAD},
        {"\xf0\x8f\xbf\xbf", BAD BAD BAD BAD},
        {"\xf4\x90\x80\x80", BAD BAD BAD BAD},
        {"\xf5", BAD},
    };
#undef BAD
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OWN_REPORT(report, make());
        bg__report_add(report, "freed", BG_FAULT, &call, NULL, "", "%s", rows[i][0]);
        EXPECT_OK(bg_report_write(report, BG_JSON, path));
        OWN_TEXT(text, read_all());
        OWN_JSON(root, cJSON_Parse(text));
        assert_string_equal(string_of(cJSON_GetObjectItemCaseSensitive(root, "findings")->child, "message"),
                            rows[i][1]);
    }
}

/* Very many findings: each is looked for, read and written in about the same time. Were it in the time of all before
 * it, this took half an hour; the limit ends the program then. */
REPORT_TEST(test_many)
{
    enum { MANY = 100000, LIMIT_S = 300 };
    static const bg_format formats[] = {BG_TEXT, BG_HTML, BG_JSON};
    bg_report *report = make(), *read = NULL;
    bg_finding finding = BG_FINDING_INIT;
    (void)alarm(LIMIT_S);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < MANY; i++)
            bg__report_add(report, "freed", (bg_severity)(i % 3), &call, NULL, "free it later", "field x of %d", i);
    assert_int_equal(bg_report_count(report), MANY);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        EXPECT_OK(bg_report_write(report, formats[i], path));
    EXPECT_OK(bg_report_read(&read, path));
    bg__report_add(read, "freed", BG_FAULT, &call, NULL, "free it later", "field y");
    EXPECT_OK(bg_report_merge(report, read));
    assert_int_equal(bg_report_count(report), MANY + 1);
    for (int i = 0; i <= MANY; i++)
        EXPECT_OK(bg_report_get(report, i, &finding));
    assert_int_equal(finding.severity, BG_NOTE);
    (void)alarm(0);
    bg_report_destroy(read);
    bg_report_destroy(report);
}

/* An old report stays where a new one cannot be written, and nothing else is left behind. */
REPORT_TEST(test_whole_or_not)
{
    bg_report *empty = make(), *mixed = make_mixed();
    struct rlimit limit, none;
    struct stat about;
    void (*before)(int);
    mode_t mask = umask(027);
    EXPECT_OK(bg_report_write(empty, BG_TEXT, path));
    (void)umask(mask);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
    before = signal(SIGXFSZ, SIG_IGN);
    assert_true(before != SIG_ERR);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    bg_status status = bg_report_write(mixed, BG_JSON, path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_true(signal(SIGXFSZ, before) != SIG_ERR);
    EXPECT_STATUS(status, BG_ERROR_IO);
    EXPECT_ERROR(path);
    char *text = read_all();
    assert_string_equal(text, "check of decode: 0 findings\n");
    free(text);
    assert_int_equal(count_files(), 1);
    EXPECT_OK(bg_report_write(mixed, BG_TEXT, path)); /* in its place */
    text = read_all();
    assert_non_null(strstr(text, "4 findings"));
    free(text);
    assert_int_equal(count_files(), 1);
    bg_report_destroy(empty);
    bg_report_destroy(mixed);
}

REPORT_TEST(test_no_place)
{
    OWN_REPORT(report, make_mixed());
    char nowhere[128];
    snprintf(nowhere, sizeof nowhere, "%s/nowhere/report", directory);
    EXPECT_STATUS(bg_report_write(report, BG_TEXT, nowhere), BG_ERROR_IO);
    EXPECT_ERROR("No such file");
    assert_int_equal(count_files(), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    EXPECT_STATUS(bg_report_write(report, BG_TEXT, path), BG_ERROR_IO);
    assert_int_equal(count_files(), 1); /* nothing is left beside it */
}

/* Runs bg_report_write with standard output there. */
static bg_status write_to_stdout(const bg_report *report, const char *there)
{
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    int target = open(there, O_WRONLY | O_CREAT, 0600);
    assert_true(kept >= 0 && target >= 0);
    assert_true(dup2(target, STDOUT_FILENO) >= 0);
    bg_status status = bg_report_write(report, BG_TEXT, "-");
    clearerr(stdout);
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    assert_int_equal(close(kept), 0);
    assert_int_equal(close(target), 0);
    return status;
}

/* Written through links, there or not, which stay links; an endless one is an error. */
REPORT_TEST(test_links)
{
    static const char *const targets[] = {"report", "second", "loop"};
    static const bg_status wanted[] = {BG_OK, BG_OK, BG_ERROR_IO};
    OWN_REPORT(report, make());
    char names[3][128];
    struct stat about;

    snprintf(names[0], sizeof names[0], "%s/first", directory);
    snprintf(names[1], sizeof names[1], "%s/second", directory);
    snprintf(names[2], sizeof names[2], "%s/loop", directory);
    assert_int_equal(symlink(path, names[1]), 0); /* whole paths, and relative ones */
    assert_int_equal(symlink(targets[1], names[0]), 0);
    assert_int_equal(symlink(targets[2], names[2]), 0);
    for (int i = 0; i < 3; i++) {
        EXPECT_STATUS(bg_report_write(report, BG_TEXT, names[i]), wanted[i]);
        assert_int_equal(lstat(names[i], &about), 0);
        assert_true(S_ISLNK(about.st_mode));
        assert_int_equal(lstat(path, &about), 0);
        assert_true(S_ISREG(about.st_mode) && about.st_size > 0);
    }
    assert_int_equal(count_files(), 4);
    for (int i = 0; i < 3; i++)
        assert_int_equal(remove(names[i]), 0);
}

REPORT_TEST(test_stdout)
{
    OWN_REPORT(report, make_mixed());
    EXPECT_OK(write_to_stdout(report, path));
    char *text = read_all();
    assert_non_null(strstr(text, "fault [freed] rope#3 at model.c:42: field x of 7\n"));
    free(text);
    EXPECT_STATUS(write_to_stdout(report, "/dev/full"), BG_ERROR_IO);
    EXPECT_ERROR("standard output");
}

REPORT_TEST(test_arguments)
{
    OWN_REPORT(report, make_mixed());
    bg_finding finding = BG_FINDING_INIT;
    assert_int_equal(bg_report_count(NULL), 0);
    bg_report_destroy(NULL);
    EXPECT_STATUS(bg_report_get(NULL, 0, &finding), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_report_get(report, 0, NULL), BG_ERROR_INVALID_ARGUMENT);
    finding.struct_size = 0;
    EXPECT_STATUS(bg_report_get(report, 0, &finding), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("BG_FINDING_INIT");
    EXPECT_STATUS(bg_report_write(NULL, BG_TEXT, path), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_report_write(report, BG_TEXT, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_report_write(report, (bg_format)9, path), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("format 9 is not a bg_format");
    assert_int_equal(count_files(), 0);
}
