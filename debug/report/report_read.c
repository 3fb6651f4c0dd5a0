#include "report.h"
#include "report_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_BYTES = 256 << 20 }; /* a larger file is no report */

/* ---- the file ---- */

static bg_status read_report_file(const char *path, char **text, size_t *size)
{
    bg_status status = bg__file_read(path, true, LARGEST_BYTES, text, size);
    if (status == BG_OK && *size > LARGEST_BYTES)
        status = bg__fail(BG_ERROR_IO, "%s holds no report: it is larger than %d MiB", path, LARGEST_BYTES >> 20);
    return status;
}

static bg_status parse_report(const char *path, const char *text, size_t size, cJSON **root)
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

/* ---- members ---- */

/* Fails with the path of a member: "findings[3].line", or "lost" if place is "". */
static bg_status refuse_member(const char *place, const char *name, const char *why)
{
    return bg__fail(BG_ERROR_IO, "%s%s%s %s", place, place[0] != '\0' ? "." : "", name, why);
}

/* Reads a string. If the member is missing, *text is unchanged; this is an error if *text is NULL. */
static bg_status read_string(const cJSON *object, const char *place, const char *name, const char **text)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (item == NULL)
        return *text != NULL ? BG_OK : refuse_member(place, name, "is missing");
    *text = cJSON_GetStringValue(item);
    return *text != NULL ? BG_OK : refuse_member(place, name, "is not a string");
}

static bg_status read_int(const cJSON *object, const char *place, const char *name, int *number)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (item == NULL)
        return BG_OK;
    *number = item->valueint;
    return cJSON_IsNumber(item) && item->valuedouble == *number ? BG_OK
                                                                : refuse_member(place, name, "is not a whole number");
}

static bg_status check_objects(const cJSON *list, const char *name)
{
    const cJSON *item;
    bool good = cJSON_IsArray(list);
    cJSON_ArrayForEach(item, list)
    {
        good = good && cJSON_IsObject(item);
    }
    return good ? BG_OK : refuse_member("", name, "is not a list of objects");
}

static bg_status check_version(const char *path, const cJSON *root)
{
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(root, "report_version");
    const char *writer = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "breakgraph"));

    if (!cJSON_IsNumber(version))
        return bg__fail(BG_ERROR_IO, "%s holds no report: it has no number \"report_version\"", path);
    if (version->valuedouble == BG__REPORT_VERSION)
        return BG_OK;
    return bg__fail(BG_ERROR_UNSUPPORTED,
                    "%s is a report of version %.15g, and breakgraph %s reads version %d; read it with the "
                    "breakgraph that wrote it (%s), or write it again with this one",
                    path, version->valuedouble, bg_version(), BG__REPORT_VERSION,
                    writer != NULL ? writer : "of unknown version");
}

/* ---- findings ---- */

static bg_status read_severity(const cJSON *item, const char *place, bg_severity *severity)
{
    const char *name = NULL;
    bg_status status;
    int i = BG_NOTE;

    BG__TRY(read_string(item, place, "severity", &name));
    while (bg__severity_names[i] != NULL && strcmp(bg__severity_names[i], name) != 0)
        i++;
    if (bg__severity_names[i] == NULL)
        return refuse_member(place, "severity", "is not a known word");
    *severity = (bg_severity)i;
done:
    return status;
}

static bg_status read_address(const cJSON *item, const char *place, const void **address)
{
    const char *text = "0";
    unsigned long long value;
    bg_status status = BG_OK;
    char *end;

    if (!cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(item, "address")))
        BG__TRY(read_string(item, place, "address", &text));
    errno = 0;
    value = strtoull(text, &end, 16);
    if ((text[0] != '0' && text[0] != '\0') || *end != '\0' || errno != 0 || value > UINTPTR_MAX)
        return refuse_member(place, "address", "is not an address");
    *address = (const void *)(uintptr_t)value;
done:
    return status;
}

/* Reads the names of the other calls. The caller frees them; NULL: there are none. */
static bg_status read_other_calls(const cJSON *item, const char *place, char **others)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(item, "others"), *one;
    size_t bytes = 0;
    FILE *out;

    *others = NULL;
    if (list == NULL)
        return BG_OK;
    if (!cJSON_IsArray(list))
        return refuse_member(place, "others", "is not a list");
    out = open_memstream(others, &bytes);
    cJSON_ArrayForEach(one, list)
    {
        const char *name = cJSON_GetStringValue(one);
        if (out != NULL && name != NULL)
            fprintf(out, "%s%s", one != list->child ? ", " : "", name);
    }
    if (out != NULL && fclose(out) == 0)
        return BG_OK;
    free(*others);
    *others = NULL;
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a finding");
}

static bg_status read_finding(bg_report *report, const cJSON *item, int index)
{
    bg_finding finding = BG_FINDING_INIT;
    char *others = NULL, place[32];
    bg_status status;

    snprintf(place, sizeof place, "findings[%d]", index);
    finding.call = finding.file = finding.advice = "";
    BG__TRY(read_string(item, place, "kind", &finding.kind));
    BG__TRY(read_severity(item, place, &finding.severity));
    BG__TRY(read_string(item, place, "call", &finding.call));
    BG__TRY(read_string(item, place, "file", &finding.file));
    BG__TRY(read_int(item, place, "line", &finding.line));
    BG__TRY(read_address(item, place, &finding.address));
    BG__TRY(read_string(item, place, "message", &finding.message));
    BG__TRY(read_string(item, place, "advice", &finding.advice));
    if (cJSON_GetObjectItemCaseSensitive(item, "graph") != NULL)
        BG__TRY(read_string(item, place, "graph", &finding.graph));
    BG__TRY(read_other_calls(item, place, &others));
    finding.others = others != NULL ? others : "";
    bg__report_add_finding(report, &finding);
done:
    free(others);
    return status;
}

static bg_status read_findings(bg_report *report, const cJSON *root)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "findings"), *item;
    bg_status status;
    int index = 0;

    BG__TRY(check_objects(list, "findings"));
    cJSON_ArrayForEach(item, list)
    {
        BG__TRY(read_finding(report, item, index++));
    }
done:
    return status;
}

/* ---- other parts ---- */

static bool is_known_part(const cJSON *root, const cJSON *item)
{
    static const char *const names[] = {"outline", "outlines", "comparisons", "trials",
                                        "timings", "graphs",   "runners",     "looked"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(item->string, names[i]) == 0)
            return cJSON_GetObjectItemCaseSensitive(root, names[i]) == item; /* the first of a name counts */
    return false;
}

/* The report takes ownership of `root`, without the members that are not parts. The contents of the parts are not
 * checked, since the page accepts any. */
static bg_status adopt_parts(bg_report *report, cJSON *root)
{
    bg_status status = BG_OK;
    cJSON *next;

    for (cJSON *item = root->child; item != NULL; item = next) {
        next = item->next;
        if (!is_known_part(root, item))
            cJSON_Delete(cJSON_DetachItemViaPointer(root, item));
        else if (strcmp(item->string, "outline") != 0)
            BG__TRY(check_objects(item, item->string));
        else if (!cJSON_IsObject(item))
            return refuse_member("", "outline", "is not an object");
    }
    report->parts = root;
done:
    return status;
}

static bg_status read_report(bg_report **report, cJSON *root)
{
    const char *tool = NULL, *graph = NULL;
    bg_status status;

    BG__TRY(read_string(root, "", "tool", &tool));
    BG__TRY(read_string(root, "", "graph", &graph));
    BG__TRY(bg__report_create(report, tool, graph));
    BG__TRY(read_int(root, "", "lost", &(*report)->lost));
    if ((*report)->lost < 0)
        (*report)->lost = 0;
    BG__TRY(read_findings(*report, root));
    BG__TRY(adopt_parts(*report, root));
done:
    return status;
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
    BG__TRY(read_report_file(path, &text, &size));
    BG__TRY(parse_report(path, text, size, &root));
    BG__TRY(check_version(path, root));
    status = read_report(&made, root);
    if (status == BG_ERROR_IO)
        bg__error_add_location("%s holds no report", path);
    if (status != BG_OK)
        goto done;
    root = NULL; /* `made` owns it */
    *report = made;
    made = NULL;
done:
    if (status != BG_OK)
        bg__error_add_location("bg_report_read");
    cJSON_Delete(root);
    free(text);
    bg_report_destroy(made);
    return status;
}
