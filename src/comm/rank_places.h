/* Messages that say where each of many ranks is, within a limited length. */
#ifndef BG_COMM_RANK_PLACES_H
#define BG_COMM_RANK_PLACES_H

#include <stddef.h>
#include <stdint.h>

enum { BG__PLACE_MAX = 480, BG__AT_MAX = 124 }; /* AT: the last operation, within a place */

/* A text that is too long is cut after a word, and ends with "...". room is at least 4. */
void bg__truncate_text(char *to, size_t room, const char *from);

typedef struct bg__rank_place {
    const char *text; /* NULL: the rank is not named */
    int group;        /* set by the function below: the first rank at this place */
    uint64_t hash;
} bg__rank_place;

/* Writes "WHY: ranks 0, 2-5: PLACE; rank 1: PLACE". places are by rank. All ranks are named. With too little room,
 * places are cut; then only the first ranks get a place ("ranks 20-63: at other places"). A list that is still too long
 * ends with the number of ranks left out. */
void bg__format_places(char *text, size_t room, const char *why, bg__rank_place *places, int count);

#endif
