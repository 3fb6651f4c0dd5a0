#include "report_data.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { READ_BYTES = 1 << 16, LARGEST_BYTES = 256 << 20 }; /* no report is as large as LARGEST_BYTES */

/* ---- the file ---- */

static bg_status read_stream(FILE *file, const char *path, char **text, size_t *size)
{
    size_t room = 0, got = 1;
    bg_status status = BG_OK;

    *size = 0;
    for (; got > 0; *size += got) {
        BG__TRY(bg__grow(text, &room, *size + READ_BYTES, 1, "bytes of a report"));
        if (*size > LARGEST_BYTES)
            return bg__fail(BG_ERROR_IO, "%s holds no report: it is larger than %d MiB", path, LARGEST_BYTES >> 20);
        got = fread(*text + *size, 1, READ_BYTES, file);
    }
    if (ferror(file) != 0)
        return bg__fail(BG_ERROR_IO, "%s cannot be read: %s", path, strerror(errno));
    (*text)[*size] = '\0';
done:
    return status;
}

static bg_status read_file(const char *path, char **text, size_t *size)
{
    FILE *file = fopen(path, "rb");
    bg_status status;

    if (file == NULL)
        return bg__fail(BG_ERROR_IO, "%s cannot be read: %s", path, strerror(errno));
    status = read_stream(file, path, text, size);
    (void)fclose(file); /* nothing was written */
    return status;
}

static bg_status parse(const char *path, const char *text, size_t size, cJSON **root)
{
    const char *end = text;
    int line = 1;

    if (strlen(text) == size)
        *root = cJSON_ParseWithLengthOpts(text, size + 1, &end, true);
    if (*root != NULL)
        return BG_OK;
    for (const char *at = text; at < end; at++)
        line += *at == '\n';
    return bg__fail(BG_ERROR_IO, "%s holds no report: it is not JSON, or cut off (line %d)", path, line);
}

/* ---- what it holds ---- */

static const char *string_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text != NULL ? text : "";
}

static bg_status check_version(const char *path, const cJSON *root)
{
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(root, "report_version");
    const char *writer = string_of(root, "breakgraph");

    if (!cJSON_IsNumber(version))
        return bg__fail(BG_ERROR_IO, "%s holds no report: it has no number \"report_version\"", path);
    if (version->valuedouble == BG__REPORT_VERSION)
        return BG_OK;
    return bg__fail(BG_ERROR_UNSUPPORTED,
                    "%s is a report of version %.15g, and breakgraph %s reads version %d; read it with the breakgraph "
                    "that wrote it (%s), or write it again with this one",
                    path, version->valuedouble, bg_version(), BG__REPORT_VERSION,
                    writer[0] != '\0' ? writer : "which one, it does not say");
}

static bg_status read_address(const char *text, int index, const void **address)
{
    unsigned long long value;
    char *end;

    *address = NULL;
    if (text[0] == '\0')
        return BG_OK;
    errno = 0;
    value = strtoull(text, &end, 16);
    if (text[0] != '0' || *end != '\0' || errno != 0 || value > UINTPTR_MAX)
        return bg__fail(BG_ERROR_IO, "findings[%d].address is no address", index);
    *address = (const void *)(uintptr_t)value;
    return BG_OK;
}

static bg_severity read_severity(const char *name)
{
    int i = BG_NOTE;
    while (i < BG_FAULT && strcmp(bg__severity_names[i], name) != 0)
        i++;
    return (bg_severity)i;
}

static bg_status take_findings(bg_report *report, const cJSON *list)
{
    const cJSON *item;
    int index = 0;
    bg_status status = BG_OK;

    cJSON_ArrayForEach(item, list)
    {
        const cJSON *line = cJSON_GetObjectItemCaseSensitive(item, "line");
        bg_finding finding = BG_FINDING_INIT;
        finding.kind = string_of(item, "kind");
        finding.severity = read_severity(string_of(item, "severity"));
        finding.call = string_of(item, "call");
        finding.file = string_of(item, "file");
        finding.line = line != NULL ? line->valueint : 0;
        finding.message = string_of(item, "message");
        finding.advice = string_of(item, "advice");
        BG__TRY(read_address(string_of(item, "address"), index++, &finding.address));
        bg__report_put(report, &finding);
    }
done:
    return status;
}

/* All that is in root beside what the report itself keeps. */
static void take_parts(bg_report *report, cJSON *root)
{
    static const char *const own[] = {"breakgraph", "report_version", "tool", "graph", "lost", "findings"};
    const cJSON *lost = cJSON_GetObjectItemCaseSensitive(root, "lost");

    report->lost = lost != NULL && lost->valueint > 0 ? lost->valueint : 0;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        cJSON_DeleteItemFromObjectCaseSensitive(root, own[i]);
    report->parts = root;
}

bg_status bg_report_read(bg_report **report, const char *path)
{
    bg_report *made = NULL;
    char *text = NULL;
    cJSON *root = NULL;
    size_t size = 0;
    bg_status status;

    BG__NEED(report);
    BG__NEED(path);
    *report = NULL;
    BG__TRY(read_file(path, &text, &size));
    BG__TRY(parse(path, text, size, &root));
    BG__TRY(check_version(path, root));
    status = bg__report_check(root);
    if (status == BG_OK)
        status = bg__report_create(&made, string_of(root, "tool"), string_of(root, "graph"));
    if (status == BG_OK)
        status = take_findings(made, cJSON_GetObjectItemCaseSensitive(root, "findings"));
    if (status == BG_ERROR_IO)
        bg__fail_where("%s holds no report", path);
    if (status != BG_OK)
        goto done;
    take_parts(made, root);
    root = NULL;
    *report = made;
    made = NULL;
done:
    if (status != BG_OK)
        bg__fail_where("bg_report_read");
    cJSON_Delete(root);
    free(text);
    bg_report_destroy(made);
    return status;
}

/* ---- two reports ---- */

/* Moves a part, or the items of a list, from parts into the report. */
static bg_status move_part(bg_report *report, cJSON *part)
{
    cJSON *list, *item;

    if (strcmp(part->string, "outline") == 0) {
        if (cJSON_GetObjectItemCaseSensitive(report->parts, "outline") != NULL) {
            cJSON_Delete(part);
            return BG_OK;
        }
        return bg__report_set_outline(report, part);
    }
    list = bg__report_part(report, part->string);
    while (list != NULL && (item = cJSON_DetachItemFromArray(part, 0)) != NULL)
        cJSON_AddItemToArray(list, item);
    cJSON_Delete(part);
    return list != NULL ? BG_OK : bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for a part of a report");
}

bg_status bg_report_merge(bg_report *report, const bg_report *from)
{
    cJSON *parts = NULL;
    bg_status status = BG_OK;

    BG__NEED(report);
    BG__NEED(from);
    if (report == from)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_report_merge: report and from are the same");
    if (from->parts != NULL) {
        parts = cJSON_Duplicate(from->parts, true);
        if (parts == NULL)
            return bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_report_merge: no host memory for a copy");
    }
    while (parts != NULL && parts->child != NULL)
        BG__TRY(move_part(report, cJSON_DetachItemViaPointer(parts, parts->child)));
    for (const bg__report_entry *e = from->first; e != NULL; e = e->next)
        bg__report_put(report, &e->finding);
    report->lost = from->lost > INT_MAX - report->lost ? INT_MAX : report->lost + from->lost;
done:
    cJSON_Delete(parts);
    return status;
}
