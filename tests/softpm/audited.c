/* The audit names what a stranger stored: audited DIRECTORY. */
#include <softpm.h>
#include <stdio.h>
#include <stdlib.h>

void store(void** into, void* pointer);

int main(int count, char** arguments) {
    const struct cattr how = {.directory = arguments[count - 1]};
    pCSetAttr(0, &how);
    struct {
        void **ours, **theirs;
    }* state;
    const int id = pCAlloc(1, sizeof *state, (void**)&state);
    state->ours = calloc(4, sizeof(void*));
    state->theirs = calloc(9, sizeof(void*));
    state->ours[1] = state;
    store(&state->theirs[2], state);
    sscanf("a word", "%ms", (char**)&state->theirs[3]);
    return pPoint(id) == 0 && pSync(id) == 0 ? 0 : 1;
}
