/* Calls of softpm.h that are errors, or that are made where one does not expect them: calls DIRECTORY OTHER_DIRECTORY. */
#include <softpm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            printf("line %d: %s (%s)\n", __LINE__, #what, pStatus());                                                  \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static long *first, *second;

static int fails(int result, const char* sentence) { return result == -1 && strstr(pStatus(), sentence) != NULL; }

int main(int count, char** arguments) {
    if (count < 3)
        return 1;
    struct cattr how = {.directory = arguments[1]};
    CHECK(pCSetAttr(0, &how) == 0);
    CHECK(fails(pCRestore(1, NULL), "no place"));
    CHECK(fails(pCAlloc(1, sizeof *first, NULL), "a place for its address"));
    const int one = pCAlloc(1, sizeof *first, (void**)&first);
    CHECK(one > 0);

    /* The same number in another directory is another container; the directory of the first stays. */
    how.directory = arguments[2];
    CHECK(pCSetAttr(0, &how) == 0);
    CHECK(strcmp(pCGetAttr(one)->directory, arguments[1]) == 0);
    const int other = pCAlloc(1, sizeof *second, (void**)&second);
    CHECK(other > 0);
    char again[1000]; /* another name of a directory is none of another one */
    snprintf(again, sizeof again, "%s/../%s/.", arguments[1], strrchr(arguments[1], '/') + 1);
    how.directory = again;
    CHECK(pCSetAttr(0, &how) == 0);
    CHECK(fails(pCRestore(1, (void**)&second), "is in memory already, as number 1"));

    CHECK(fails(pReport(one, "/dev/full"), "cannot write /dev/full"));

    /* A child ends without a word, and takes nothing from its parent. */
    fflush(stdout); /* else a child that exits repeats what is in it */
    const pid_t child = fork();
    if (child == 0) {
        CHECK(fails(pCDelete(one), "child of fork()"));
        exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    *first = 42;
    CHECK(pPoint(one) == 0);
    CHECK(pSync(one) == 0);

    /* Who makes a container since it was not restored is told why it was not. */
    CHECK(pCFree(one) == 0);
    int* smaller = NULL;
    CHECK(fails(pCRestoreAs(1, &smaller), "its struct has 8 bytes, the program's has 4"));
    CHECK(fails(pCAlloc(1, sizeof *smaller, (void**)&smaller), "already. Restore it"));
    CHECK(strstr(pStatus(), "its struct has 8 bytes, the program's has 4") != NULL);
    const int restored = pCRestoreAs(1, &first);
    CHECK(restored > 0 && *first == 42);
    CHECK(pCDelete(restored) == 0);
    CHECK(pCDelete(other) == 0);
    return 0;
}
