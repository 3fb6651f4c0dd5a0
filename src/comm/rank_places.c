/* Writes messages that say where ranks are. Ranks at the same place are named together. If room is short, places are
 * cut, so that more of them are equal. */
#include "comm/rank_places.h"

#include "base/base.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* LIST_MAX: room for the longest list of 64 ranks. SHORTEST: the least bytes to which a place is cut. */
enum { LIST_MAX = 224, MORE = 16, SHORTEST = 60 };

typedef struct listing {
    bg__rank_place *places;
    int count;
    size_t most; /* maximum bytes of a place */
} listing;

void bg__truncate_text(char *to, size_t room, const char *from)
{
    size_t length = strlen(from), end = room - sizeof "...";
    if (length < room) {
        memcpy(to, from, length + 1);
        return;
    }
    while (end > 0 && from[end] != ' ')
        end--;
    if (end == 0) /* one long word: do not cut inside a character */
        for (end = room - sizeof "..."; end > 0 && ((unsigned char)from[end] & 0xc0) == 0x80; end--)
            continue;
    while (end > 0 && strchr(" ,;:(", from[end - 1]))
        end--;
    memcpy(to, from, end);
    memcpy(to + end, "...", sizeof "...");
}

/* ---- groups: each has the number of its first rank --------------------------------------------------------------- */

static bool is_same_place(const listing *l, int a, int b)
{
    char one[BG__PLACE_MAX], other[BG__PLACE_MAX];
    if (l->places[a].text == NULL || l->places[a].hash != l->places[b].hash)
        return false;
    bg__truncate_text(one, l->most, l->places[a].text);
    bg__truncate_text(other, l->most, l->places[b].text);
    return strcmp(one, other) == 0;
}

static void find_groups(const listing *l)
{
    for (int i = 0; i < l->count; i++) {
        bg__rank_place *place = &l->places[i];
        char cut[BG__PLACE_MAX];
        place->group = -1;
        if (place->text == NULL)
            continue;
        bg__truncate_text(cut, l->most, place->text);
        place->hash = bg__text_hash(cut);
        for (int other = 0; other < i && place->group < 0; other++)
            if (l->places[other].group == other && is_same_place(l, other, i))
                place->group = other;
        if (place->group < 0)
            place->group = i;
    }
}

/* ---- sentences --------------------------------------------------------------------------------------------------- */

static size_t format_rank_range(char *text, size_t room, const char *before, int from, int to)
{
    if (from == to)
        return (size_t)snprintf(text, room, "%s%d", before, from);
    return (size_t)snprintf(text, room, to - from == 1 ? "%s%d, %d" : "%s%d-%d", before, from, to);
}

static bool is_in_groups(const listing *l, int rank, int first, int last)
{
    return rank < l->count && l->places[rank].group >= first && l->places[rank].group <= last;
}

/* Lists the ranks of these groups, as "0, 2-5". Returns how many there are. */
static int list_ranks(const listing *l, int first, int last, char list[LIST_MAX])
{
    size_t used = 0;
    int ranks = 0, more = 0;
    for (int from = first, to; from < l->count; from = to + 1) {
        char run[40];
        size_t bytes;
        to = from;
        if (!is_in_groups(l, from, first, last))
            continue;
        while (is_in_groups(l, to + 1, first, last))
            to++;
        ranks += to - from + 1;
        bytes = format_rank_range(run, sizeof run, used > 0 ? ", " : "", from, to);
        if (more > 0 || used + bytes + MORE > LIST_MAX) {
            more += to - from + 1;
        } else {
            memcpy(list + used, run, bytes + 1);
            used += bytes;
        }
    }
    if (more > 0)
        snprintf(list + used, LIST_MAX - used, " and %d more", more);
    return ranks;
}

typedef struct sentence {
    char *text;
    size_t room, used;
    bool begun; /* it names ranks */
} sentence;

/* false: there is no room, and nothing was added. */
static bool append_ranks(sentence *s, const listing *l, int first, int last, const char *place)
{
    char list[LIST_MAX], cut[BG__PLACE_MAX], one[LIST_MAX + BG__PLACE_MAX + 16];
    int ranks = list_ranks(l, first, last, list);
    size_t bytes;
    bg__truncate_text(cut, l->most, place);
    bytes =
        (size_t)snprintf(one, sizeof one, "%s rank%s %s: %s", s->begun ? ";" : ":", ranks > 1 ? "s" : "", list, cut);
    if (s->used + bytes >= s->room)
        return false;
    memcpy(s->text + s->used, one, bytes + 1);
    s->used += bytes;
    s->begun = true;
    return true;
}

/* Returns false if there is too little room. `last`: if ranks do not fit, they are named without their places. */
static bool try_to_format(const listing *l, char *text, size_t room, const char *why, bool last)
{
    const size_t rest = last ? LIST_MAX + sizeof "; ranks : at other places" : 0;
    sentence s = {.text = text, .room = room - rest};
    bg__truncate_text(text, s.room, why);
    s.used = strlen(text);
    find_groups(l);
    for (int i = 0; i < l->count; i++) {
        if (l->places[i].group != i || append_ranks(&s, l, i, i, l->places[i].text))
            continue;
        s.room = room;
        return last && append_ranks(&s, l, i, l->count, "at other places");
    }
    return true;
}

void bg__format_places(char *text, size_t room, const char *why, bg__rank_place *places, int count)
{
    static const size_t most[] = {BG__PLACE_MAX, 240, 160, 120, 90, SHORTEST};
    bool said = false;
    for (size_t i = 0; i < sizeof most / sizeof *most && !said; i++)
        said = try_to_format(&(listing){places, count, most[i]}, text, room, why, false);
    if (!said)
        (void)try_to_format(&(listing){places, count, SHORTEST}, text, room, why, true); /* this always fits */
}
