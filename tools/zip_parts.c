/* Reads a zip file of SIZE bytes of which only parts are there, for tools/fetch-headers.
 *   zip_parts names   SIZE PART...                   the names of all members
 *   zip_parts missing SIZE FOLDER PART... <NAMES     "FROM TO": the bytes that are still needed to unpack FOLDER/NAME
 *   zip_parts unpack  SIZE FOLDER OUT PART... <NAMES   writes OUT/NAME.gz, which gzip unpacks and checks
 * PART is FROM:FILE, the bytes from offset FROM on; one of them holds the end. NAMES: one a line.
 * `missing` first asks for the directory, then for members; when it prints nothing, all is there. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { END_BYTES = 22, ENTRY_BYTES = 46, HEADER_BYTES = 30, STORED = 0, DEFLATED = 8, ENCRYPTED = 1, PARTS = 64 };
/* Members so near to each other are asked for together: a request costs more than these bytes. */
enum { GAP = 65536 };

typedef struct {
    uint64_t from, size;
    unsigned char *bytes;
} part;

typedef struct {
    const unsigned char *name;
    uint32_t name_bytes, flags, method, crc, packed, unpacked, header;
    uint64_t end; /* where the next member, or the directory, begins */
    bool wanted;
} member;

typedef struct {
    uint64_t size, directory, directory_end;
    part parts[PARTS];
    size_t part_count, count;
    member *members; /* in the order of their offsets */
} archive;

static uint32_t two(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t four(const unsigned char *p)
{
    return two(p) | two(p + 2) << 16;
}

static bool fail(const char *what, const char *name)
{
    fprintf(stderr, "%s%s%s\n", what, name ? ": " : "", name ? name : "");
    return false;
}

/* `count` bytes from offset `from` on, or NULL where they are not all there. */
static const unsigned char *bytes_at(const archive *a, uint64_t from, uint64_t count)
{
    for (size_t i = 0; i < a->part_count; i++) {
        const part *p = &a->parts[i];
        if (from >= p->from && from - p->from <= p->size && count <= p->size - (from - p->from))
            return p->bytes + (from - p->from);
    }
    return NULL;
}

/* ---- the parts ---- */

static bool read_file(const char *path, part *p)
{
    bool good = false;
    long size = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return fail(path, strerror(errno));
    if (fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0)
        goto done;
    p->size = (uint64_t)size;
    p->bytes = malloc(p->size + 1);
    good = p->bytes != NULL && fread(p->bytes, 1, p->size, file) == p->size;
done:
    if (!good)
        fail("cannot be read", path);
    fclose(file);
    return good;
}

static bool read_parts(archive *a, char **words, int count)
{
    if (count > PARTS)
        return fail("too many parts", NULL);
    for (int i = 0; i < count; i++) {
        char *path;
        part *p = &a->parts[a->part_count++];
        p->from = strtoull(words[i], &path, 10);
        if (*path != ':')
            return fail("a part is FROM:FILE", words[i]);
        if (!read_file(path + 1, p))
            return false;
        if (p->from > a->size || p->size > a->size - p->from)
            return fail("a part is longer than the zip file", words[i]);
    }
    return true;
}

/* ---- the directory ---- */

/* Its end, which a comment may follow, says where it is. */
static bool find_directory(archive *a)
{
    for (uint64_t back = END_BYTES; back <= END_BYTES + 65535 && back <= a->size; back++) {
        const unsigned char *p = bytes_at(a, a->size - back, back);
        if (p == NULL)
            break;
        if (memcmp(p, "PK\5\6", 4) != 0 || two(p + 20) != back - END_BYTES)
            continue;
        a->count = two(p + 10);
        a->directory = four(p + 16);
        a->directory_end = a->directory + four(p + 12);
        if (a->directory_end > a->size - back || two(p + 4) != 0)
            return fail("the zip file's end is damaged, or is one of a kind that is not read here (zip64)", NULL);
        return true;
    }
    return fail("not a zip file, or its end is missing", NULL);
}

static int compare_offsets(const void *left, const void *right)
{
    const member *l = left, *r = right;
    return l->header < r->header ? -1 : l->header > r->header;
}

static bool read_entry(const archive *a, uint64_t *at, member *m)
{
    const unsigned char *p = bytes_at(a, *at, ENTRY_BYTES);
    if (p == NULL || memcmp(p, "PK\1\2", 4) != 0)
        return false;
    *m = (member){.name = p + ENTRY_BYTES,
                  .name_bytes = two(p + 28),
                  .flags = two(p + 8),
                  .method = two(p + 10),
                  .crc = four(p + 16),
                  .packed = four(p + 20),
                  .unpacked = four(p + 24),
                  .header = four(p + 42)};
    *at += ENTRY_BYTES + m->name_bytes + two(p + 30) + two(p + 32);
    return *at <= a->directory_end && m->header < a->directory && bytes_at(a, a->directory, *at - a->directory) != NULL;
}

/* Needs the whole directory. */
static bool read_directory(archive *a)
{
    uint64_t at = a->directory;
    a->members = calloc(a->count + 1, sizeof *a->members);
    if (a->members == NULL)
        return fail("out of memory", NULL);
    for (size_t i = 0; i < a->count; i++)
        if (!read_entry(a, &at, &a->members[i]))
            return fail("the zip file's directory is damaged", NULL);
    if (a->count > 0)
        qsort(a->members, a->count, sizeof *a->members, compare_offsets);
    for (size_t i = 0; i < a->count; i++)
        a->members[i].end = i + 1 < a->count ? a->members[i + 1].header : a->directory;
    return true;
}

static member *find_member(const archive *a, const char *name)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->members[i].name_bytes == strlen(name) && memcmp(a->members[i].name, name, strlen(name)) == 0)
            return &a->members[i];
    return NULL;
}

/* Whether the deflated bytes of a member are there: *data, m->packed of them. */
static bool find_data(const archive *a, const member *m, const unsigned char **data)
{
    const unsigned char *header = bytes_at(a, m->header, HEADER_BYTES);
    uint64_t at;
    if (header == NULL || memcmp(header, "PK\3\4", 4) != 0)
        return false;
    at = m->header + HEADER_BYTES + two(header + 26) + two(header + 28);
    *data = bytes_at(a, at, m->packed);
    return at <= m->end && m->packed <= m->end - at && *data != NULL;
}

/* ---- what the command does ---- */

/* Calls `each` for every name on standard input. */
static bool for_names(archive *a, const char *folder, const char *out,
                      bool (*each)(archive *, member *, const char *, char *))
{
    bool good = true;
    char *line = NULL, path[4096];
    size_t room = 0;
    while (good && getline(&line, &room, stdin) > 0) {
        member *m;
        line[strcspn(line, "\n")] = '\0';
        if (snprintf(path, sizeof path, "%s/%s", folder, line) >= (int)sizeof path)
            good = fail("a name is too long", line);
        else if ((m = find_member(a, path)) == NULL)
            good = fail("not in the zip file", path);
        else
            good = each(a, m, out, line);
    }
    free(line);
    return good;
}

static bool want(archive *a, member *m, const char *out, char *name)
{
    (void)a, (void)out, (void)name;
    m->wanted = true;
    return true;
}

static void print_missing(const archive *a)
{
    uint64_t from = 0, to = 0; /* the bytes [from, to) */
    for (size_t i = 0; i < a->count; i++) {
        const member *m = &a->members[i];
        if (!m->wanted || bytes_at(a, m->header, m->end - m->header) != NULL)
            continue;
        if (to > 0 && m->header - to > GAP) {
            printf("%" PRIu64 " %" PRIu64 "\n", from, to - 1);
            to = 0;
        }
        from = to > 0 ? from : m->header;
        to = m->end;
    }
    if (to > 0)
        printf("%" PRIu64 " %" PRIu64 "\n", from, to - 1);
}

static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return fail(path, strerror(errno));
        *slash = '/';
    }
    return true;
}

/* A gzip file of deflated bytes: a header without a name or a time, the bytes, their CRC and their unpacked size. */
static bool write_gzip(const char *path, const member *m, const unsigned char *data)
{
    static const unsigned char header[10] = {0x1f, 0x8b, DEFLATED, [9] = 255};
    /* Stored bytes become one block that is not compressed, which has room for 65535 of them. */
    unsigned char stored[5] = {1}, trailer[8];
    bool good;
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return fail(path, strerror(errno));
    for (int i = 0; i < 4; i++) {
        trailer[i] = m->crc >> 8 * i & 255;
        trailer[4 + i] = m->unpacked >> 8 * i & 255;
        stored[1 + i] = (i < 2 ? m->packed : ~m->packed) >> 8 * (i % 2) & 255;
    }
    good = fwrite(header, sizeof header, 1, file) == 1 &&
           (m->method == DEFLATED || fwrite(stored, sizeof stored, 1, file) == 1) &&
           fwrite(data, 1, m->packed, file) == m->packed && fwrite(trailer, sizeof trailer, 1, file) == 1;
    good = fclose(file) == 0 && good;
    return good || fail(path, strerror(errno));
}

static bool unpack(archive *a, member *m, const char *out, char *name)
{
    char path[4096];
    const unsigned char *data;
    if (m->flags & ENCRYPTED || (m->method != DEFLATED && (m->method != STORED || m->packed > 65535)))
        return fail("packed in a way that is not read here", name);
    if (!find_data(a, m, &data))
        return fail("damaged in the zip file", name);
    if (snprintf(path, sizeof path, "/%s/", name) >= (int)sizeof path || strstr(path, "/../") != NULL)
        return fail("a name leads out of the folder", name);
    if (snprintf(path, sizeof path, "%s/%s.gz", out, name) >= (int)sizeof path)
        return fail("a name is too long", name);
    return make_folders(path) && write_gzip(path, m, data);
}

static bool list_missing(archive *a, const char *folder)
{
    if (bytes_at(a, a->directory, a->directory_end - a->directory) == NULL) {
        printf("%" PRIu64 " %" PRIu64 "\n", a->directory, a->size - 1);
        return true;
    }
    if (!read_directory(a) || !for_names(a, folder, "", want))
        return false;
    print_missing(a);
    return true;
}

static bool list_names(archive *a)
{
    if (!read_directory(a))
        return false;
    for (size_t i = 0; i < a->count; i++)
        printf("%.*s\n", (int)a->members[i].name_bytes, (const char *)a->members[i].name);
    return true;
}

static bool run(archive *a, int count, char **words)
{
    const char *what = count > 2 ? words[1] : "";
    int first = strcmp(what, "names") == 0 ? 3 : strcmp(what, "missing") == 0 ? 4 : strcmp(what, "unpack") == 0 ? 5 : 0;
    if (first == 0 || count <= first)
        return fail(
            "usage: zip_parts names SIZE PART... | missing SIZE FOLDER PART... | unpack SIZE FOLDER OUT PART...", NULL);
    a->size = strtoull(words[2], NULL, 10);
    if (!read_parts(a, words + first, count - first) || !find_directory(a))
        return false;
    if (first == 3)
        return list_names(a);
    if (first == 4)
        return list_missing(a, words[3]);
    return read_directory(a) && for_names(a, words[3], words[4], unpack);
}

int main(int count, char **words)
{
    archive a = {0};
    bool good = run(&a, count, words);
    for (size_t i = 0; i < a.part_count; i++)
        free(a.parts[i].bytes);
    free(a.members);
    if (fflush(stdout) != 0 || ferror(stdout))
        good = fail("standard output", strerror(errno));
    return good ? 0 : 1;
}
