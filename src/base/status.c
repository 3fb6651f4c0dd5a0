#include "base/base.h"

const char *bg_status_name(bg_status status)
{
    switch (status) {
#define NAME(name, text)                                                                                               \
    case name: return #name;
        BG_STATUS_MAP(NAME)
#undef NAME
    }
    return "unknown status";
}

const char *bg_status_text(bg_status status)
{
    switch (status) {
#define TEXT(name, text)                                                                                               \
    case name: return text;
        BG_STATUS_MAP(TEXT)
#undef TEXT
    }
    return "unknown status";
}

const char *bg_version(void)
{
    return BG_VERSION;
}

const char *bg_device_kind(void)
{
    return BG_DEVICE_KIND;
}
