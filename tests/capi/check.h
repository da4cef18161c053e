/* What the tests in C share: a check that says where it failed, and ends the program. */
#ifndef REMANENCE_TESTS_CAPI_CHECK_H
#define REMANENCE_TESTS_CAPI_CHECK_H

#include <remanence/remanence.h>

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold; the last error: %s\n", __FILE__, __LINE__, #condition,           \
                    rem_last_error()->message);                                                                        \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define CHECK_OK(call) CHECK((call) == REM_OK)

#endif
