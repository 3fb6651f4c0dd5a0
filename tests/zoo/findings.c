/* findings FILE...: the findings in reports and in what the commands print as JSON, one a line, with tabs between
 *   kind severity call file line text
 * where text is the message and the advice. The culprits of a bisect are findings of the kind "culprit". Unknown
 * strings are
 * "-". Files that are not JSON are left out. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In a field of its own: the separators become blanks. */
static void print_text(const char *text, char after)
{
    if (text == NULL || *text == '\0')
        putchar('-');
    for (; text != NULL && *text != '\0'; text++)
        putchar(strchr("\t\n\r", *text) != NULL ? ' ' : *text);
    putchar(after);
}

static const char *string_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static void print_finding(const cJSON *finding, const char *kind, const char *severity, const char *call)
{
    const cJSON *line = cJSON_GetObjectItemCaseSensitive(finding, "line");
    const char *advice = string_of(finding, "advice");

    print_text(kind, '\t');
    print_text(severity, '\t');
    print_text(call, '\t');
    print_text(string_of(finding, "file"), '\t');
    printf("%d\t", cJSON_IsNumber(line) ? line->valueint : 0);
    print_text(string_of(finding, "message"), advice != NULL ? ' ' : '\n');
    if (advice != NULL)
        print_text(advice, '\n');
}

/* Reports are inside what the commands print, at any depth. */
static void print_findings(const cJSON *item)
{
    const cJSON *part;

    cJSON_ArrayForEach(part, item)
    {
        const cJSON *one;
        if (part->string != NULL && strcmp(part->string, "findings") == 0)
            cJSON_ArrayForEach(one, part)
                print_finding(one, string_of(one, "kind"), string_of(one, "severity"), string_of(one, "call"));
        else if (part->string != NULL && strcmp(part->string, "culprits") == 0)
            cJSON_ArrayForEach(one, part) print_finding(one, "culprit", "fault", string_of(one, "name"));
        else
            print_findings(part);
    }
}

/* NULL: it cannot be read. */
static char *read_all(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL, chunk[4096];
    size_t size = 0, got;
    FILE *out;

    if (file == NULL)
        return NULL;
    out = open_memstream(&text, &size);
    while (out != NULL && (got = fread(chunk, 1, sizeof chunk, file)) > 0)
        fwrite(chunk, 1, got, out);
    fclose(file);
    if (out != NULL && fclose(out) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *text = read_all(argv[i]);
        cJSON *json = text != NULL ? cJSON_Parse(text) : NULL;
        if (json != NULL)
            print_findings(json);
        cJSON_Delete(json);
        free(text);
    }
    return fflush(stdout) != 0;
}
