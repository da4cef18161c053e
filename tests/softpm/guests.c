/* Blocks of volatile memory come and go between points: guests DIRECTORY POINTS. Each point has another set of guests, of several sizes and chained
   to each other; the struct says which, and a start checks that all of them are there. Prints how many points were kept. */
#include <softpm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { k_guests = 40, k_held = 12 };

struct guest {
    struct guest* next;
    struct guest** held_by;
    long number, room;
    char text[];
};
static struct state {
    long points;
    struct guest* held[k_held];
} * state;

static size_t room_of(long number) { return (size_t)(20 + number * 37 % 9000); }

static int check(void) {
    for (int i = 0; i < k_held && state->points > 0; ++i) {
        const long wanted = (state->points * 7 + i) % k_guests;
        const struct guest* const first = state->held[i];
        if (first == NULL || first->number != wanted || first->held_by != &state->held[i])
            return printf("guest %d of point %ld is wrong\n", i, state->points), 1;
        long length = 0;
        for (const struct guest* each = first; each != NULL; each = each->next) {
            if (each->room != (long)room_of(each->number) || each->text[each->room - 1] != 0 ||
                (long)strlen(each->text) != each->room - 1)
                return printf("guest %ld of point %ld has another text\n", each->number, state->points), 1;
            ++length;
        }
        if (length != 1 + wanted % 3)
            return printf("guest %d of point %ld leads to %ld\n", i, state->points, length), 1;
    }
    return 0;
}

int main(int count, char** arguments) {
    struct guest* all[k_guests]; /* allocated before there is a container */
    for (long i = 0; i < k_guests; ++i) {
        all[i] = calloc(1, sizeof *all[i] + room_of(i));
        all[i]->number = i;
        all[i]->room = (long)room_of(i);
        memset(all[i]->text, 'a' + (int)(i % 26), room_of(i) - 1);
    }
    for (int i = 0; i < k_guests; ++i) /* chains of up to three, which others share */
        all[i]->next = i % 3 == 0 ? NULL : all[i / 3 * 3 + i % 3 - 1];
    const struct cattr how = {.directory = arguments[1], .synchronous = 1};
    pCSetAttr(0, &how);
    int id = pCRestoreAs(1, &state);
    if (id < 0 && strstr(pStatus(), "there is no container") == NULL && strstr(pStatus(), "never finished") == NULL)
        return puts(pStatus()), 1;
    if (id < 0 && (id = pCAlloc(1, sizeof *state, (void**)&state)) < 0)
        return puts(pStatus()), 1;
    if (count < 3 || check() != 0)
        return 1;
    printf("%ld points\n", state->points);
    fflush(stdout);
    for (long i = atol(arguments[2]); i-- > 0;) {
        ++state->points;
        for (int k = 0; k < k_held; ++k) {
            state->held[k] = all[(state->points * 7 + k) % k_guests];
            state->held[k]->held_by = &state->held[k];
        }
        if (pPoint(id) != 0)
            return puts(pStatus()), 1;
        printf("%ld\n", state->points);
        fflush(stdout);
    }
    return 0;
}
