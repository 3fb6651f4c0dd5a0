/* JSON as columns, as a page holds it. */
#include "tests/support/tools/owned.h"

#include "debug/report/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *written(const char *json)
{
    cJSON *root = cJSON_Parse(json), *again;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(root);
    assert_non_null(out);
    EXPECT_OK(bg__columns_write(root, out));
    assert_int_equal(fclose(out), 0);
    cJSON_Delete(root);
    again = cJSON_Parse(text);
    assert_non_null(again);
    cJSON_Delete(again);
    return text;
}

static void expect(const char *json, const char *expected)
{
    OWN_TEXT(text, written(json));
    assert_string_equal(text, expected);
}

TEST(test_lists)
{
    expect(
        "{\"a\": 1.5, \"calls\": [{\"name\": \"x\", \"line\": 5}, {\"line\": null}, {\"line\": true, \"name\": \"y\"}, "
        "{\"name\": \"x\"}]}",
        "{\"a\":1.5,\"calls\":{\"texts\":{\"name\":[0,-1,1,0]},\"values\":{\"line\":[5,null,true,{}]}},\n"
        "\"strings\":[\"x\",\"y\"]}\n");
    expect("{\"trials\": [{\"eager\": [\"x\", \"x\"], \"nan\": [0, 1]}]}",
           "{\"trials\":{\"texts\":{},\"values\":{\"eager\":[{\"places\":[0,0]}],\"nan\":[[0,1]]}},\n\"strings\":["
           "\"x\"]}\n");
}

/* What is no list of objects with members stays as it is. */
TEST(test_other_forms)
{
    expect("{}", "{\"strings\":[]}\n");
    expect("{\"a\": [], \"b\": [{}], \"c\": [{\"x\": 1}, 7], \"d\": {\"e\": \"f\"}}",
           "{\"a\":[],\"b\":[{}],\"c\":[{\"x\":1},7],\"d\":{\"e\":\"f\"},\n\"strings\":[]}\n");
}

TEST(test_escapes)
{
    OWN_TEXT(text, written("{\"</script>\": [{\"<!--\": \"</script>\"}], \"b\": \"<\xe2\x80\xa8\"}"));
    assert_null(strchr(text, '<'));
    assert_null(strstr(text, "\xe2\x80\xa8"));
}

/* Rows of very many different members are no table. */
TEST(test_many_members)
{
    enum { ROWS = 3000 };
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "list");
    char *json, *text, name[16];
    for (int i = 0; i < ROWS; i++) {
        cJSON *row = cJSON_CreateObject();
        snprintf(name, sizeof name, "m%d", i);
        assert_non_null(cJSON_AddNumberToObject(row, name, i));
        assert_true(cJSON_AddItemToArray(list, row));
    }
    json = cJSON_PrintUnformatted(root);
    text = written(json);
    assert_non_null(strstr(text, "[{\"m0\":0},{\"m1\":1},"));
    cJSON_free(json);
    cJSON_Delete(root);
    free(text);
}

/* A text that occurs often is written once. */
TEST(test_size)
{
    enum { ROWS = 1000 };
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "nodes");
    for (int i = 0; i < ROWS; i++) {
        cJSON *row = cJSON_CreateObject();
        assert_non_null(cJSON_AddStringToObject(row, "kernel", "void gemm<float, 128, 128>(float const*, float*)"));
        assert_non_null(cJSON_AddNumberToObject(row, "node", i));
        assert_true(cJSON_AddItemToArray(list, row));
    }
    char *json = cJSON_PrintUnformatted(root);
    OWN_TEXT(text, written(json));
    assert_true(strlen(text) * 8 < strlen(json));
    cJSON_free(json);
    cJSON_Delete(root);
}
