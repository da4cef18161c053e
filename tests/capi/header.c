/* The header alone, as the first and only one of a file: compiled by several compilers, as C99 and as C++. */
#include <remanence/remanence.h>

struct account {
    long balance;
};

struct account* first_of(rem_heap* heap);
struct account* first_of(rem_heap* heap) { return REM_ROOT_GET(heap, "first", struct account); }

rem_status keep(rem_heap* heap, const struct account* first);
rem_status keep(rem_heap* heap, const struct account* first) {
    return REM_ROOT_SET(heap, "first", first, struct account);
}

rem_status open_by_default(rem_heap** heap);
rem_status open_by_default(rem_heap** heap) {
    rem_options options = {sizeof(rem_options), REM_SNAPSHOT, REM_LAZY};
    return rem_open("a.rem", &options, heap);
}

struct date {
    short day, month;
};
struct person {
    enum { is_child, is_adult } age;
    unsigned char marks[3];
    char name[20];
    double balance;
    struct date born;
    struct person* next;
    void* anything;
};
static const rem_member date_members[] = {REM_NUMBER(struct date, day), REM_NUMBER(struct date, month)};
static const rem_member person_members[] = {
    REM_NUMBER(struct person, age),
    REM_NUMBERS(struct person, marks),
    REM_TEXT(struct person, name),
    REM_NUMBER(struct person, balance),
    REM_STRUCT_OF(struct person, born, struct date),
    REM_POINTER_TO(struct person, next, struct person),
    REM_POINTER_TO(struct person, anything, void),
};
rem_status describe(void);
rem_status describe(void) {
    const rem_status status = REM_DESCRIBE(struct date, date_members);
    return status != REM_OK ? status : REM_DESCRIBE(struct person, person_members);
}
