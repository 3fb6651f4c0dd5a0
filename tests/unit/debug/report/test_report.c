/* Reports: what is put in comes out as text, as JSON and one by one. */
#include "tests/support/tools/report_support.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const bg__call nameless = {.site = {NULL, 0}};

/* A note, a fault, a warning, and another fault. */
static bg_report *make_mixed(void)
{
    bg_report *report = make_report();
    bg__report_add(report, "note-kind", BG_NOTE, NULL, NULL, "", "worth knowing");
    bg__report_add(report, "freed", BG_FAULT, &rope_call, (void *)0x1000, "keep it", "field %s of %d", "x", 7);
    bg__report_add(report, "odd", BG_WARNING, &nameless, NULL, "look", "a \"quoted\" \\ line\nand another");
    bg__report_add(report, "reused", BG_FAULT, &rope_call, (void *)0x2000, "copy it", "field y");
    return report;
}

FILE_TEST(test_empty)
{
    OWN_REPORT(report, make_report());
    bg_finding finding = BG_FINDING_INIT;
    assert_int_equal(bg_report_count(report), 0);
    EXPECT_STATUS(bg_report_get(report, 0, &finding), BG_ERROR_NOT_FOUND);
    assert_string_equal(written(report, BG_TEXT), "check of decode: 0 findings\n");
}

FILE_TEST(test_order)
{
    static const char *const kinds[] = {"freed", "reused", "odd", "note-kind"};
    OWN_REPORT(report, make_mixed());
    assert_int_equal(bg_report_count(report), 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(finding_of(report, i).kind, kinds[i]);
    bg_finding finding = finding_of(report, 0);
    EXPECT_IS(finding, .kind = "freed", .severity = BG_FAULT, .call = "rope#3", .file = "model.c", .line = 42,
              .address = (void *)0x1000, .message = "field x of 7", .advice = "keep it");
    finding = finding_of(report, 2); /* a call without name or place */
    EXPECT_IS(finding, .kind = "odd", .severity = BG_WARNING, .call = "", .file = "");
    EXPECT_STATUS(bg_report_get(report, 4, &finding), BG_ERROR_NOT_FOUND);
    EXPECT_ERROR("there is no finding 4; the report has 4");
    EXPECT_STATUS(bg_report_get(report, -1, &finding), BG_ERROR_NOT_FOUND);
}

/* What a later replay finds is printed, though it stands before what an earlier one has found. */
FILE_TEST(test_new_findings)
{
    OWN_REPORT(report, make_report());
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    assert_non_null(out);
    assert_false(bg__report_print_new(report, out));
    bg__report_add(report, "note-kind", BG_NOTE, NULL, NULL, "", "worth knowing");
    assert_true(bg__report_print_new(report, out));
    bg__report_add(report, "freed", BG_FAULT, NULL, NULL, "", "gone");
    bg__report_add(report, "freed", BG_WARNING, NULL, NULL, "", "gone"); /* the same again, but for its severity */
    assert_true(bg__report_print_new(report, out));
    assert_false(bg__report_print_new(report, out));
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "check of decode: 1 finding\nnote [note-kind]: worth knowing\n"
                              "check of decode: 1 more finding\nfault [freed]: gone\n");
    free(text);
}

FILE_TEST(test_duplicates)
{
    OWN_REPORT(report, make_report());
    const bg__call elsewhere = {.name = (char *)"rope#3", .site = {"model.c", 43}};
    for (int i = 0; i < 2; i++) {
        bg__report_add(report, "freed", BG_FAULT, &rope_call, (void *)0x1000, "", "field x");
        bg__report_add(report, "freed", BG_FAULT, &rope_call, (void *)0x1000, "", "field y");
        bg__report_add(report, "freed", BG_FAULT, &rope_call, (void *)0x2000, "", "field x");
        bg__report_add(report, "freed", BG_FAULT, &elsewhere, (void *)0x1000, "", "field x");
        bg__report_add(report, "reused", BG_FAULT, &rope_call, (void *)0x1000, "", "field x");
        bg__report_add(report, "freed", BG_FAULT, NULL, (void *)0x1000, "", "field x");
        assert_int_equal(bg_report_count(report), 6);
    }
}

/* Its strings are the report's own. */
FILE_TEST(test_copies)
{
    OWN_REPORT(report, make_report());
    char kind[] = "freed", advice[] = "keep it", name[] = "rope#3", file[] = "model.c";
    const bg__call own = {.name = name, .site = {file, 1}};
    bg__report_add(report, kind, BG_FAULT, &own, NULL, advice, "%s", "gone");
    kind[0] = advice[0] = name[0] = file[0] = '?';
    EXPECT_IS(finding_of(report, 0), .kind = "freed", .severity = BG_FAULT, .advice = "keep it", .call = "rope#3",
              .file = "model.c", .line = 1);
}

FILE_TEST(test_text)
{
    OWN_REPORT(report, make_mixed());
    assert_string_equal(written(report, BG_TEXT), "check of decode: 4 findings\n"
                                                  "fault [freed] rope#3 at model.c:42: field x of 7\n    keep it\n"
                                                  "fault [reused] rope#3 at model.c:42: field y\n    copy it\n"
                                                  "warning [odd]: a \"quoted\" \\ line\\x0aand another\n    look\n"
                                                  "note [note-kind]: worth knowing\n");
}

static bg_report *make_long(void)
{
    bg_report *report = make_report();
    bg__report_add(report, "freed", BG_FAULT, &rope_call, NULL,
                   "keep it as long as the graph is replayed, or capture again",
                   "the words of gr\303\274n were freed  after the capture: 256 bytes at 0x7f05b66de000, device "
                   "allocation of 256 bytes at 0x7f05b66de000 (allocation id 7)");
    return report;
}

FILE_TEST(test_wrapped)
{
    OWN_REPORT(report, make_long());
    assert_string_equal(written(report, BG_TEXT),
                        "check of decode: 1 finding\n"
                        "fault [freed] rope#3 at model.c:42: the words of gr\303\274n were freed  after the capture: "
                        "256 bytes at 0x7f05b66de000, device\n"
                        "        allocation of 256 bytes at 0x7f05b66de000 (allocation id 7)\n"
                        "    keep it as long as the graph is replayed, or capture again\n");
}

/* As wide as the terminal, which has other line ends. */
FILE_TEST(test_wrapped_in_terminal)
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
FILE_TEST(test_hostile_text)
{
    static const bg__call hostile = {.name = (char *)"rope\033[2J", .site = {"\033]0;x\007.c", 42}};
    OWNED_REPORT(report);
    EXPECT_OK(bg__report_create(&report, "to\rol", "gra\302\233ph"));
    bg__report_add(report, "ki\nnd", BG_FAULT, &hostile, NULL, "\177", "%s", "a\033[31m b\233 gr\303\274n");
    assert_string_equal(written(report, BG_TEXT),
                        "to\\x0dol of gra\\xc2\\x9bph: 1 finding\n"
                        "fault [ki\\x0and] rope\\x1b[2J at \\x1b]0;x\\x07.c:42: a\\x1b[31m b\\x9b gr\303\274n\n"
                        "    \\x7f\n");
    const char *text = written(report, BG_JSON);
    EXPECT_IN(text, "\"gra\\u009bph\"|\"\\u007f\"");
    EXPECT_NOT_IN(text, "\033|\177");
}

static void expect_item(const cJSON *item, const bg_finding *finding)
{
    static const char *const severities[] = {"note", "warning", "fault"};
    const cJSON *address = member(item, "address");
    assert_string_equal(string_of(item, "kind"), finding->kind);
    assert_string_equal(string_of(item, "severity"), severities[finding->severity]);
    assert_string_equal(string_of(item, "call"), finding->call);
    assert_string_equal(string_of(item, "file"), finding->file);
    assert_string_equal(string_of(item, "message"), finding->message);
    assert_string_equal(string_of(item, "advice"), finding->advice);
    assert_true(number_of(item, "line") == finding->line);
    if (finding->address == NULL)
        assert_true(cJSON_IsNull(address));
    else
        assert_ptr_equal((void *)(uintptr_t)strtoull(cJSON_GetStringValue(address), NULL, 16), finding->address);
}

FILE_TEST(test_json)
{
    OWN_REPORT(report, make_mixed());
    OWN_JSON(root, parsed(written(report, BG_JSON)));
    assert_string_equal(string_of(root, "breakgraph"), bg_version());
    assert_string_equal(string_of(root, "tool"), "check");
    assert_string_equal(string_of(root, "graph"), "decode");
    assert_true(number_of(root, "report_version") == 2);
    assert_true(number_of(root, "lost") == 0);
    assert_int_equal(size_of(root, "findings"), 4);
    for (int i = 0; i < 4; i++) {
        bg_finding finding = finding_of(report, i);
        expect_item(element(root, "findings", i), &finding);
    }
}

/* JSON and pages are UTF-8, whatever names hold: what is no character becomes U+FFFD, byte by byte. */
FILE_TEST(test_bytes)
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
        OWN_REPORT(report, make_report());
        bg__report_add(report, "freed", BG_FAULT, &rope_call, NULL, "", "%s", rows[i][0]);
        OWN_JSON(root, parsed(written(report, BG_JSON)));
        assert_string_equal(string_of(element(root, "findings", 0), "message"), rows[i][1]);
    }
}

/* Very many findings: each is looked for, read and written in about the same time. Were it in the time of all before
 * it, this took half an hour; the limit ends the program then. */
FILE_TEST(test_many)
{
    enum { MANY = 100000, LIMIT_S = 300 };
    static const bg_format formats[] = {BG_TEXT, BG_HTML, BG_JSON};
    OWN_REPORT(report, make_report());
    OWNED_REPORT(read);
    bg_finding finding = BG_FINDING_INIT;
    (void)alarm(LIMIT_S);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < MANY; i++)
            bg__report_add(report, "freed", (bg_severity)(i % 3), &rope_call, NULL, "free it later", "field x of %d",
                           i);
    assert_int_equal(bg_report_count(report), MANY);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        EXPECT_OK(bg_report_write(report, formats[i], test_file));
    EXPECT_OK(bg_report_read(&read, test_file));
    bg__report_add(read, "freed", BG_FAULT, &rope_call, NULL, "free it later", "field y");
    EXPECT_OK(bg_report_merge(report, read));
    assert_int_equal(bg_report_count(report), MANY + 1);
    for (int i = 0; i <= MANY; i++)
        EXPECT_OK(bg_report_get(report, i, &finding));
    assert_int_equal(finding.severity, BG_NOTE);
    (void)alarm(0);
}

/* An old report stays where a new one cannot be written, and nothing else is left behind. */
FILE_TEST(test_whole_or_not)
{
    OWN_REPORT(empty, make_report());
    OWN_REPORT(mixed, make_mixed());
    struct stat about;
    mode_t mask = umask(027);
    EXPECT_OK(bg_report_write(empty, BG_TEXT, test_file));
    (void)umask(mask);
    assert_int_equal(stat(test_file, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
    EXPECT_STATUS(write_limited(mixed, BG_JSON, 0), BG_ERROR_IO);
    EXPECT_ERROR(test_file);
    OWN_TEXT(text, read_file(test_file, NULL));
    assert_string_equal(text, "check of decode: 0 findings\n");
    assert_int_equal(count_files(test_directory), 1);
    EXPECT_IN(written(mixed, BG_TEXT), "4 findings"); /* in its place */
    assert_int_equal(count_files(test_directory), 1);
}

FILE_TEST(test_no_place)
{
    OWN_REPORT(report, make_mixed());
    char nowhere[128];
    snprintf(nowhere, sizeof nowhere, "%s/nowhere/report", test_directory);
    EXPECT_STATUS(bg_report_write(report, BG_TEXT, nowhere), BG_ERROR_IO);
    EXPECT_ERROR("No such file");
    assert_int_equal(count_files(test_directory), 0);
    assert_int_equal(mkdir(test_file, 0700), 0);
    EXPECT_STATUS(bg_report_write(report, BG_TEXT, test_file), BG_ERROR_IO);
    assert_int_equal(count_files(test_directory), 1); /* nothing is left beside it */
}

/* Runs bg_report_write with standard output there. */
static bg_status write_to_stdout(const bg_report *report, const char *there)
{
    int kept = begin_stdout(there);
    bg_status status = bg_report_write(report, BG_TEXT, "-");
    end_stdout(kept);
    return status;
}

/* Written through links, there or not, which stay links; an endless one is an error. */
FILE_TEST(test_links)
{
    static const char *const targets[] = {"report", "second", "loop"};
    static const bg_status wanted[] = {BG_OK, BG_OK, BG_ERROR_IO};
    OWN_REPORT(report, make_report());
    char names[3][128];
    struct stat about;

    snprintf(names[0], sizeof names[0], "%s/first", test_directory);
    snprintf(names[1], sizeof names[1], "%s/second", test_directory);
    snprintf(names[2], sizeof names[2], "%s/loop", test_directory);
    assert_int_equal(symlink(test_file, names[1]), 0); /* whole paths, and relative ones */
    assert_int_equal(symlink(targets[1], names[0]), 0);
    assert_int_equal(symlink(targets[2], names[2]), 0);
    for (int i = 0; i < 3; i++) {
        EXPECT_STATUS(bg_report_write(report, BG_TEXT, names[i]), wanted[i]);
        assert_int_equal(lstat(names[i], &about), 0);
        assert_true(S_ISLNK(about.st_mode));
        assert_int_equal(lstat(test_file, &about), 0);
        assert_true(S_ISREG(about.st_mode) && about.st_size > 0);
    }
    assert_int_equal(count_files(test_directory), 4);
    for (int i = 0; i < 3; i++)
        assert_int_equal(remove(names[i]), 0);
}

FILE_TEST(test_stdout)
{
    OWN_REPORT(report, make_mixed());
    EXPECT_OK(write_to_stdout(report, test_file));
    OWN_TEXT(text, read_file(test_file, NULL));
    EXPECT_IN(text, "fault [freed] rope#3 at model.c:42: field x of 7\n");
    EXPECT_STATUS(write_to_stdout(report, "/dev/full"), BG_ERROR_IO);
    EXPECT_ERROR("standard output");
}

FILE_TEST(test_arguments)
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
    EXPECT_STATUS(bg_report_write(NULL, BG_TEXT, test_file), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_report_write(report, BG_TEXT, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_report_write(report, (bg_format)9, test_file), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("format 9 is not a bg_format");
    assert_int_equal(count_files(test_directory), 0);
}
