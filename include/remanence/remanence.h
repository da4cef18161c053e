/*
 * remanence.h: persistent heaps for C.
 *
 * A heap is memory that stays: a file whose contents are ordinary C objects with ordinary pointers, at the same addresses in
 * each process that opens it. This header is C99 and C++, and its functions may be mixed with those of remanence.hpp.
 * remanence(3) and docs/guide/c.md show it in use.
 *
 *     rem_heap* heap;
 *     rem_open("accounts.rem", NULL, &heap);
 *     struct account* first = rem_alloc(heap, sizeof *first);
 *     rem_root_set(heap, "first", first);
 *     rem_write_begin(heap);
 *     first->balance += 5;
 *     rem_write_end(heap);              // durable, or as if it had never begun
 *     rem_close(heap);
 *
 * Status. What can fail returns a rem_status, or a null pointer; rem_last_error() of the same thread then says more. Whatever
 * the caller gets wrong is a status, and the heap stays as it was: NULL, a closed heap, a pointer to no block, a size that no
 * memory has. What the library cannot see is said where it matters ("undefined").
 *
 * Handles. A rem_heap* is a number that is never used twice, not an address. After rem_close() every call with it is
 * REM_CLOSED, and so it is in a child of fork(). A rem_close() while another thread is in a call with the same heap, outside of
 * its sections, is undefined.
 *
 * Threads. Every function may be called by several threads at once. A section belongs to the thread that began it.
 *
 * Callbacks. A function that a call of the library runs may make any call, unless it says otherwise; but it ends only those sections that
 * it began itself, and does not close the heap. longjmp() out of one is undefined, and so is an exception of C++.
 */
#ifndef REMANENCE_REMANENCE_H
#define REMANENCE_REMANENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
template <class T, bool IsEnumeration = __is_enum(T)>
struct rem_number_of_ {
    typedef T type;
};
template <class T>
struct rem_number_of_<T, true> {
    typedef __underlying_type(T) type;
};
extern "C" {
#define REM_AS_INT : int /* as in C, any int may be in one */
#define REM_CAST(type, pointer) static_cast<type>(pointer)
#define REM_AS_NUMBER_(of, value) static_cast<typename rem_number_of_<__typeof__(of)>::type>(value)
#define REM_NONE_(type) static_cast<type*>(nullptr)
#else
#define REM_AS_INT
#define REM_CAST(type, pointer) (pointer)
#define REM_AS_NUMBER_(of, value) ((__typeof__(of))(value))
#define REM_NONE_(type) ((type*)0)
#endif

/* The numbers are stable. Those below 1002 are the ones of remanence::errc; docs/errors.md has cause and remedy of each. */
typedef enum rem_status REM_AS_INT {
    REM_OK = 0,
    REM_NOT_A_HEAP = 1,
    REM_TRUNCATED = 2,
    REM_UNSUPPORTED_FORMAT = 3,
    REM_ABI_MISMATCH = 4,
    REM_TYPE_MISMATCH = 5,
    REM_CORRUPT = 6,
    REM_LOG_MISSING = 7,
    REM_LOG_FOREIGN = 8,
    REM_BASE_TAKEN = 9,
    REM_PERMISSION_DENIED = 10,
    REM_READ_ONLY_FILE_SYSTEM = 11,
    REM_NOT_FOUND = 12,
    REM_NO_SPACE = 13,
    REM_IN_USE = 14,
    REM_CLOSED = 15,
    REM_EXHAUSTED = 16,
    REM_POISONED = 17,
    REM_EXISTS = 18,
    REM_SECTION_OPEN = 19,
    REM_SECTION_CONFLICT = 20,
    REM_READ_ONLY = 21,
    REM_NOT_SUPPORTED = 22,
    REM_INVALID_ARGUMENT = 23,
    REM_IO = 24,
    REM_UNNAMEABLE_TYPE = 25,
    REM_FOREIGN_POINTER = 26,
    REM_RECOVERY_NEEDED = 27,
    REM_ROLLED_BACK = 28,
    REM_UNDECLARED_CHANGE = 29,
    REM_UNLINKED = 30,
    REM_WRONG_APPLICATION = 31,
    REM_READERS_BEHIND = 32,
    REM_OUTSIDE_SECTION = 33,
    REM_NO_STEP = 34,
    REM_HISTORY_FULL = 35,
    REM_UNCOMMITTED = 36,
    REM_NO_PROCEDURE = 37,

    REM_NO_MEMORY = 1001,  /* the process, not the heap, has no memory left */
    REM_WOULD_WAIT = 1002, /* a call that does not wait would have had to */
    REM_NO_SECTION = 1003, /* the end of a section that this thread is not in */
    REM_UNEXPECTED = 1004  /* a fault of the library: please report it */
} rem_status;

/* One sentence about a status: a literal, never NULL. */
const char* rem_status_text(rem_status status);

/* What went wrong. The texts live until the same thread's next call that fails. */
typedef struct rem_error {
    rem_status status;
    int os_error;        /* errno of the system call that failed; 0: none did */
    const char* message; /* names the file, the operation and what to do next; never NULL */
    const char* path;    /* of the file concerned; "": none */
    uint64_t offset;     /* in that file, in bytes; UINT64_MAX: none */
} rem_error;

/* Of the calling thread's last call that failed; calls that succeed leave it. Before the first one its status is REM_OK. */
const rem_error* rem_last_error(void);

/* ---- Opening and closing ---- */

typedef struct rem_heap rem_heap;

/* What makes changes durable. A property of the handle, not of the file: it may be another one at the next open. */
typedef enum rem_kind REM_AS_INT {
    REM_TRANSACTIONAL = 0, /* the end of each write section commits; rem_write_abort() undoes it */
    REM_SNAPSHOT = 1,      /* rem_commit() does, whenever it is asked; sections are a lock */
    REM_ARCHIVE = 2        /* rem_close() does; without it, nothing of this session stays. Sections are a lock */
} rem_kind;

/* What a commit waits for. Commits become durable in their order, each one as a whole. */
typedef enum rem_durability REM_AS_INT {
    REM_AS_OPENED = 0, /* as rem_options says; there: REM_DURABLE */
    REM_DURABLE = 1,   /* until it is on the device, with all before it */
    REM_LAZY = 2, /* for the operating system only: it survives the process; on the device within lazy_interval_ms */
    REM_NONE = 3  /* for nothing: lost with the process, unless another commit, or 1 MiB of them, has followed */
} rem_durability;

/* How a commit finds what changed. */
typedef enum rem_tracking REM_AS_INT {
    REM_TRACK_AUTOMATIC = 0, /* scan where it works, else fallback */
    REM_TRACK_SCAN = 1,      /* the kernel notes written pages (Linux 6.7) */
    REM_TRACK_TRAP = 2,    /* the first write to a page is a trap; read(2) and the like into a heap need rem_touch() */
    REM_TRACK_FALLBACK = 3 /* any Linux; every commit compares what changed since the last checkpoint */
} rem_tracking;

typedef enum rem_phase REM_AS_INT { REM_RECOVERY = 0, REM_CHECKPOINT = 1, REM_VERIFY = 2 } rem_phase;

/*
 * How a heap is opened. Set `size` to sizeof(rem_options) (without it: REM_INVALID_ARGUMENT), and what is not named to zero: zero is
 * the default of each member.
 * Later releases add members at the end. A library takes the smaller struct of an older program, and refuses the larger one
 * of a newer program (REM_NOT_SUPPORTED) only if that sets what it does not know. Members marked (creation) are ignored when
 * the heap is there already.
 */
typedef struct rem_options {
    size_t size;
    rem_kind kind;
    rem_durability durability; /* of commits that do not say */
    rem_tracking tracking;
    bool read_only;
    bool
        catch_stray_writes; /* with REM_TRACK_TRAP: a write outside of write sections ends the process, after a message */
    bool core_dump;         /* core files include the heap's memory */
    bool no_read_ahead;     /* a page fault reads one page, not its neighbours as well */
    const char*
        application; /* whose heap it is; (creation) recorded; else REM_WRONG_APPLICATION when another is recorded */
    unsigned mode;   /* (creation) permissions of the file, less the umask; 0: 0666 */
    unsigned lazy_interval_ms; /* of REM_LAZY: 1 to 3,600,000; 0: 200 */
    size_t reserve_bytes;      /* address space; grows while what lies behind is free. 0: 16 GiB */
    size_t chunk_bytes;        /* (creation) unit of placement: a power of two, 64 KiB to 4 MiB. 0: 256 KiB */
    uintptr_t base;            /* (creation) where the heap is mapped, ever after: a multiple of 1 GiB. 0: at random */
    size_t
        log_limit_bytes; /* redo log at which a commit begins a checkpoint. 0: 64 to 256 MiB, by what it would write */
    size_t
        dirty_limit_bytes; /* uncommitted changes before chunks of them go to the file early. 0: a quarter of memory */
    /* Called during long operations, perhaps by several threads at once. It must not use the heap. May be NULL. */
    void (*on_progress)(void* context, rem_phase phase, size_t bytes_done, size_t bytes_total);
    void* context; /* for on_progress */
    /* (creation) A block of up to a cache line (64 bytes) never straddles one, from a cache line on it begins on one, from a page
       (4 KiB) on on a page. It costs space: blocks of 24 bytes take 32, of 65 take 128, of 5,000 take 8,192. */
    bool aligned_blocks;
    /* (creation) For debugging: each block has 16 bytes of a pattern behind it, or more. If they were written over, a commit that
       would keep this is REM_CORRUPT, memory keeps its changes, rem_verify() reports it, and rem_free() of the block ends the
       process. Blocks take 24 bytes more. */
    bool red_zones;
    const char* log_directory; /* where the redo log lies, recorded when the heap is opened for writing; "": beside the
                                  heap; NULL: as recorded */
    /* rem_open_shared(): how long it waits for a process that opens the heap first, or closes it last: up to 3,600,000. Then REM_IN_USE
       names that process. 0: 10,000 */
    unsigned open_timeout_ms;
} rem_options;

/*
 * Open the heap, creating it if there is none (rem_open), insisting that there is none (rem_create: REM_EXISTS), or that
 * there is one (rem_open_existing: REM_NOT_FOUND). After a crash this recovers the last commit. `options` may be NULL. *heap
 * is NULL when it fails. A heap belongs to one process at a time (REM_IN_USE) unless rem_open_shared() opens it, and always has the same addresses; if these are
 * taken, REM_BASE_TAKEN. O(1) in the heap's size.
 */
rem_status rem_open(const char* path, const rem_options* options, rem_heap** heap);
rem_status rem_create(const char* path, const rem_options* options, rem_heap** heap);
rem_status rem_open_existing(const char* path, const rem_options* options, rem_heap** heap);

/* The blocks that a volatile heap still had when it was closed. All that pointers lead to lives for the call. */
typedef struct rem_leak_class {
    size_t block_bytes; /* usable; of more than 64 KiB: up to this power of two */
    size_t blocks;
} rem_leak_class;
typedef struct rem_leak_place {
    const char* const* calls; /* that led to the allocation, the innermost first, as the C library writes them */
    size_t call_count;
    size_t blocks;
    size_t requested_bytes;
} rem_leak_place;
typedef struct rem_leaks {
    size_t blocks;
    size_t bytes;                  /* usable */
    const rem_leak_class* classes; /* by size */
    size_t class_count;
    const rem_leak_place* places; /* with leak_frames: the most bytes first */
    size_t place_count;
} rem_leaks;

/*
 * A volatile heap has no file: memory for the time that the process runs, apart from malloc()'s, which ends all at once. Set `size`
 * to sizeof(rem_volatile_options); zero is the default of each member.
 */
typedef struct rem_volatile_options {
    size_t size;
    size_t reserve_bytes; /* address space; 0: 64 GiB, or what there is */
    size_t
        red_zone_bytes; /* behind each block a pattern of so many, up to 4,096; a block whose pattern was written over ends the
                             process when it is freed, and is a problem to rem_verify() */
    bool has_numa_node;
    unsigned numa_node; /* all memory is of this node */
    /* Called by rem_close() when there are blocks left. It must not use the heap. May be NULL. */
    void (*on_leaks)(void* context, const rem_leaks* left);
    void* context; /* for on_leaks */
    /* For debugging: each block notes so many of the calls that led to its allocation, up to 32, for on_leaks. An allocation then
       takes microseconds, and blocks have red zones of at least 8 bytes. */
    unsigned leak_frames;
} rem_volatile_options;

/*
 * Of the calls below, those for memory, rem_get_stats(), rem_verify(), rem_is_open() and rem_close() are for volatile heaps, too; all
 * others are REM_NOT_SUPPORTED. Memory is REM_NO_MEMORY when the system has none. Two threads that free the same block at the same
 * time may end the process. In a child of fork() the handle is that of the child's copy. `options` may be NULL.
 */
rem_status rem_open_volatile(const rem_volatile_options* options, rem_heap** heap);

/*
 * Closes the heap; a volatile one is destroyed with all that is in it. An archive heap is committed before; others lose what was
 * not committed. REM_SECTION_OPEN while a section is open, or a commit waits: then the heap stays open, as it does when an
 * archive heap's commit fails for REM_NO_SPACE. After any other status, too, it is closed. In a child of fork() this is REM_CLOSED,
 * as every call, and makes the addresses of the child's copy free, so that it can open the heap itself. A process that ends without closing
 * its heaps leaves them as a crash does: as of their last commits.
 */
rem_status rem_close(rem_heap* heap);

typedef enum rem_address_end REM_AS_INT { REM_LOW = 0, REM_HIGH = 1 } rem_address_end;
/*
 * Finds the lowest or the highest place between 4 GiB and 64 TiB where so many bytes of addresses are free in this process: a multiple
 * of 1 GiB, for rem_options::base. Nothing is reserved: the place is free until something is mapped there. REM_EXHAUSTED: there
 * is none. O(mappings of the process).
 */
rem_status rem_find_address_space(size_t bytes, rem_address_end from, uintptr_t* base);

/* False, too, in a child of fork(), of a heap with a file. */
bool rem_is_open(const rem_heap* heap);
/* The name it was opened with, until it is closed. NULL on failure. */
const char* rem_path(const rem_heap* heap);
/* The address of its first byte. NULL on failure. */
void* rem_base(const rem_heap* heap);
/* The number of its last commit, which may not be durable yet; 0 for a new heap. */
rem_status rem_version(const rem_heap* heap, uint64_t* version);

/* ---- Memory ---- */

/*
 * A block of at least `size` bytes, aligned as malloc() aligns; its contents are arbitrary. Size 0 is size 1. NULL on failure:
 * REM_EXHAUSTED when the heap cannot grow. Like everything in the heap, the allocation itself is undone by a rollback, and by
 * a crash before the next commit.
 */
void* rem_alloc(rem_heap* heap, size_t size);
/* The same at a multiple of `alignment`: a power of two up to 1 GiB. */
void* rem_alloc_aligned(rem_heap* heap, size_t alignment, size_t size);
/*
 * A block of `size` bytes with room to grow where it is, up to `room` bytes; rem_usable_size() counts all of them. What
 * is not written of the room takes addresses, and no memory; pages of it that blocks lay in before keep what memory they have. In
 * a declared section the whole room is declared. rem_realloc() of a volatile heap keeps a room of more than 64 KiB. A smaller one, and
 * any in a heap with a file, it gives back with the first size that is less than half of it: there the block moves.
 */
void* rem_alloc_dynamic(rem_heap* heap, size_t size, size_t room);
/* As rem_alloc(), zeroed, for `count` objects of `size` bytes. REM_INVALID_ARGUMENT when the product exceeds SIZE_MAX. */
void* rem_calloc(rem_heap* heap, size_t count, size_t size);
/*
 * Makes the block larger or smaller, and returns where it is now, aligned as by rem_alloc(). A block of whole pages stays where it
 * is if it shrinks, or the pages behind it are free; one that moves is copied, or, in a volatile heap, moved by its pages. NULL
 * on failure; the block then stays. `block` may be NULL: rem_alloc(). Size 0 is size 1: it frees nothing. Roots and pointers
 * that led to the block must be set anew when it moved.
 */
void* rem_realloc(rem_heap* heap, void* block, size_t size);
/*
 * Frees a block, of whatever open heap; NULL is no block, and REM_OK. REM_INVALID_ARGUMENT, and nothing is changed, when no
 * block begins there: it was freed before, lies in no open heap, or inside of a block. A pointer to a block that was freed
 * and allocated again since frees that one: nobody can tell.
 */
rem_status rem_free(void* block);
/* Bytes that the block may hold, at least those asked for; 0 when no block begins there. */
size_t rem_usable_size(const void* block);
/* The open heap that the address lies in; NULL when there is none, in a child of fork() too, or it was opened in C++. O(1). */
rem_heap* rem_heap_of(const void* address);
/*
 * From now on what this thread takes by malloc(), calloc(), realloc(NULL, n), aligned_alloc(), strdup() and their kin comes from the
 * heap: for code that knows malloc() only. NULL: no longer, and REM_OK. free() and realloc() find a block's heap by its address, at
 * any time and in any thread, in programs that call this somewhere. REM_NOT_SUPPORTED: the process does not have
 * libremanence-malloc.so, linked or by LD_PRELOAD. REM_READ_ONLY, REM_CLOSED.
 *
 * Memory that the C library takes for itself (buffers of streams, threads) stays outside, and so does what its functions give, but
 * for strdup() and strndup(). The heap does not know the types in such blocks: `rem verify --pointers` finds pointers in them that
 * lead out of it. What that code keeps for itself (caches, static objects) must not be made meanwhile: a rollback takes it away, and
 * it ends with the heap. Any other call of Remanence in between is REM_INVALID_ARGUMENT, and ends this.
 */
rem_status rem_malloc_into(rem_heap* heap);
/*
 * Declares that [address, address + size) is about to be written, until the next commit or rollback: needed in declared
 * sections, and for system calls that write into the heap with REM_TRACK_TRAP. REM_INVALID_ARGUMENT when it is not in this heap.
 */
rem_status rem_touch(rem_heap* heap, const void* address, size_t size);

/* ---- Arenas ---- */

/*
 * A named part of a heap with a file, in which blocks of one purpose lie together: by pages of their own, with advice on paging and a
 * limit of memory of their own, and ended all at once. rem_realloc(), rem_free() and rem_usable_size() take its blocks as any others.
 * A heap that ever had one is not opened by releases before this one. Of a volatile heap: REM_NOT_SUPPORTED; open another heap instead.
 */
typedef struct rem_arena rem_arena; /* where it begins; valid until it is destroyed, or the heap closed */
/* Set `size` to sizeof(rem_arena_options); zero is the default of each member. Both are (creation). */
typedef struct rem_arena_options {
    size_t size;
    size_t room_bytes; /* it may have: a power of two, 1 MiB or more. Takes addresses only. 0: 1 GiB */
    size_t
        resident_limit_bytes; /* when a write section ends and more of it is in memory, its pages are taken out. 0: none */
} rem_arena_options;
typedef enum rem_paging REM_AS_INT {
    REM_PAGING_USUAL = 0,
    REM_PAGING_SEQUENTIAL = 1, /* it is going to be read from end to end */
    REM_PAGING_RANDOM = 2,     /* here and there */
    REM_PAGING_PREFETCH = 3,   /* soon, and all of it: it is read now */
    REM_PAGING_KEEP = 4        /* what was read stays in memory, as far as the limit of locked memory allows */
} rem_paging;
/* Finds the arena of this name, or makes it, within the write section; outside of one, in a transactional heap, it commits by itself. */
rem_status rem_arena_open(rem_heap* heap, const char* name, const rem_arena_options* options, rem_arena** arena);
/* As rem_alloc(). REM_INVALID_ARGUMENT when no arena begins there. REM_EXHAUSTED when its room is used up. */
void* rem_arena_alloc(rem_arena* arena, size_t size);
/* Ends it with all blocks and roots in it, as rem_arena_open() makes it. REM_NOT_FOUND. */
rem_status rem_arena_destroy(rem_heap* heap, const char* name);
/* Hints for the kernel, of the memory that the arena has now. REM_NOT_FOUND. */
rem_status rem_arena_advise(rem_heap* heap, const char* name, rem_paging how);

/* ---- Types ---- */

/*
 * What a struct consists of. A heap keeps that of the types of its roots, and then rem schema, get, dump, load and diff, the checks of
 * pointers, and migration know roots of C programs as they know those of C++.
 *
 *     struct account { long number; char owner[40]; double balance; struct account* next; };
 *     static const rem_member account_members[] = {
 *         REM_NUMBER(struct account, number),
 *         REM_TEXT(struct account, owner),
 *         REM_NUMBER(struct account, balance),
 *         REM_POINTER_TO(struct account, next, struct account),
 *     };
 *     REM_DESCRIBE(struct account, account_members);   // once, before roots of that type are set or asked for
 *
 * Members that are left out are carried as bytes; a dump refuses them if they may be addresses. Structs that lie in others are described
 * before these; what pointers lead to is described before a root is set or asked for: rem_migrate() takes a root whose pointers were not. A
 * pointer to what is not described is carried by a migration that moves no object, and dumped if it is NULL. A root of such a type is one
 * object in a block of its own: neither an array, nor a struct with more behind it.
 */
typedef enum rem_member_kind REM_AS_INT {
    REM_SIGNED = 1, /* of 1, 2, 4 or 8 bytes */
    REM_UNSIGNED,
    REM_FLOATING, /* float, double, long double */
    REM_BOOLEAN,
    REM_CHARACTER, /* an array of them is a text, which ends before its last zeros */
    REM_POINTER,
    REM_STRUCT
} rem_member_kind;
typedef struct rem_member {
    const char* name;
    rem_member_kind kind;
    size_t offset; /* in the struct */
    size_t size;   /* in bytes; of an array, of each element */
    size_t count;  /* of an array's elements; 0: it is none */
    /* The struct that it is, or that the pointer leads to, as in "struct account"; NULL: of a pointer, anything. */
    const char* type;
} rem_member;
/*
 * For the process. The same again does nothing; another struct of that name is REM_EXISTS. REM_INVALID_ARGUMENT: members that do not lie in
 * the struct, or in each other, or of a struct that was not described. The texts are copied. O(members of all
 * structs that it leads to).
 */
rem_status rem_describe(const char* type, size_t size, size_t alignment, const rem_member* members, size_t count);
#define REM_DESCRIBE(type, members)                                                                                    \
    rem_describe(#type, sizeof(type), __alignof__(type), (members), sizeof(members) / sizeof((members)[0]))

/* Lines of the table. A number is of any kind, an enumeration too; ..S are arrays of one dimension. */
#define REM_NUMBER(type, member)                                                                                       \
    REM_MEMBER_(type, member, REM_KIND_(REM_NONE_(type)->member), sizeof(REM_NONE_(type)->member), 0, 0)
#define REM_NUMBERS(type, member) REM_ARRAY_(type, member, REM_KIND_(REM_NONE_(type)->member[0]), 0)
#define REM_TEXT(type, member) REM_ARRAY_(type, member, REM_CHARACTER, 0)
#define REM_POINTER_TO(type, member, to) REM_MEMBER_(type, member, REM_POINTER, sizeof(void*), 0, #to)
#define REM_POINTERS_TO(type, member, to) REM_ARRAY_(type, member, REM_POINTER, #to)
#define REM_STRUCT_OF(type, member, of) REM_MEMBER_(type, member, REM_STRUCT, sizeof(of), 0, #of)
#define REM_STRUCTS_OF(type, member, of) REM_ARRAY_(type, member, REM_STRUCT, #of)
#define REM_MEMBER_(type, member, kind, size, count, of)                                                               \
    {#member, (kind), offsetof(type, member), (size), (count), (of)}
#define REM_ARRAY_(type, member, kind, of)                                                                             \
    REM_MEMBER_(type, member, kind, sizeof(REM_NONE_(type)->member[0]),                                                \
                sizeof(REM_NONE_(type)->member) / sizeof(REM_NONE_(type)->member[0]), of)
/* By what is left of a half, of two, and of minus one. */
#define REM_KIND_(of)                                                                                                  \
    (REM_AS_NUMBER_(of, 1) / 2 != 0                   ? REM_FLOATING                                                   \
     : REM_AS_NUMBER_(of, 2) == REM_AS_NUMBER_(of, 1) ? REM_BOOLEAN                                                    \
     : REM_AS_NUMBER_(of, -1) < REM_AS_NUMBER_(of, 1) ? REM_SIGNED                                                     \
                                                      : REM_UNSIGNED)

/*
 * Makes a root, which an earlier release of the program has set as another struct of that name, one of the struct that is described now:
 * before it is asked for, which is REM_TYPE_MISMATCH. Members are matched by their names. Those that are new are zeros, those that are gone
 * must be zero everywhere or named in `dropped`, and numbers may be wider. All of it is one atomic commit; when it fails the heap is as before.
 * Pointers in the objects that the root leads to stay right; others, in roots that are not described, are not known. Nothing happens when
 * the root is not there, or has this type. REM_TYPE_MISMATCH: a change that is none of these, with all changes in rem_last_error().
 * REM_NOT_SUPPORTED: the heap does not know what the root was. REM_SECTION_OPEN and the like as rem_write_begin(). The history of undo begins
 * anew with that commit, but for versions that are kept. O(objects).
 */
typedef struct rem_renamed_member {
    const char* type; /* as in "struct account" */
    const char* old_name;
    const char* new_name;
} rem_renamed_member;
typedef struct rem_migration {
    size_t size; /* sizeof(rem_migration) */
    const rem_renamed_member* renamed;
    size_t renamed_count;
    const char* const* dropped; /* "year" of any struct, or "book.year" */
    size_t dropped_count;
} rem_migration;
rem_status rem_migrate(rem_heap* heap, const char* root, const char* type, const rem_migration* how);

/* ---- Roots ---- */

/*
 * A root is a name for an address, from which everything else is reached: the only thing to be found again by name. Setting
 * it changes one word, and joins the write section; outside of one, in a transactional heap, it commits by itself.
 *
 * The address must lie in a block of this heap (REM_INVALID_ARGUMENT). The directory, which `rem ls` shows, has the root as a
 * "C block", or by the type that the program states: then the same name and size are to be asked for, and anything else is
 * REM_TYPE_MISMATCH, as when a struct has grown. Roots of C++ programs are REM_TYPE_MISMATCH to C, and the reverse.
 *
 * rem_root_get() takes any root of a C program. Both return NULL on failure: REM_NOT_FOUND when there is no such root.
 */
rem_status rem_root_set(rem_heap* heap, const char* name, const void* object);
rem_status rem_root_set_as(rem_heap* heap, const char* name, const void* object, const char* type, size_t size);
void* rem_root_get(rem_heap* heap, const char* name);
void* rem_root_get_as(rem_heap* heap, const char* name, const char* type, size_t size);
/* With the type as it is written, for example REM_ROOT_GET(heap, "first", struct account). */
#define REM_ROOT_SET(heap, name, object, type) rem_root_set_as((heap), (name), (object), #type, sizeof(type))
#define REM_ROOT_GET(heap, name, type) REM_CAST(type*, rem_root_get_as((heap), (name), #type, sizeof(type)))
/* The block stays. REM_NOT_FOUND when there is no such root. */
rem_status rem_root_remove(rem_heap* heap, const char* name);

typedef struct rem_root {
    const char* name;
    const char* type; /* "C block", "C " and what the program stated, or a C++ type */
    void* object;
    size_t bytes; /* of its type; of a "C block": to the end of its block when the root was set */
} rem_root;
/* Calls visit() with each root, by name; it may use the heap, and returns false to end this. The texts live for the call. */
rem_status rem_roots(rem_heap* heap, bool (*visit)(void* context, const rem_root* root), void* context);

/* ---- Sections ---- */

/*
 * A write section excludes all other sections, a read section only write sections. Sections nest: a write section in a write
 * section is part of it, and so is a read section; a write section in a read section is REM_SECTION_CONFLICT. rem_..._try_
 * does not wait: REM_WOULD_WAIT, now and then also when another thread is just entering a section.
 *
 * In a transactional heap the end of the outermost write section commits, as durable as the heap was opened or as
 * rem_write_end_as() says. It waits for the device after others may enter, so that commits of several threads share a write.
 * When it fails, everything the section did is undone, unless the heap is poisoned; the section has ended all the same.
 * rem_write_abort() ends the section and undoes it; of a nested one, also the outermost, whose end is then REM_ROLLED_BACK.
 *
 * In snapshot and archive heaps rem_write_end() commits nothing, rem_write_end_as() and rem_write_end_async() do (when that
 * fails, memory keeps its changes), and rem_write_abort() is REM_NOT_SUPPORTED, the section still open: what other sections
 * did since the last commit would go, too. rem_rollback() does that.
 *
 * A thread that ends within a section leaves it open for good.
 */
rem_status rem_write_begin(rem_heap* heap);
rem_status rem_write_try_begin(rem_heap* heap);
/*
 * The same, but the section promises that it changes nothing but what rem_touch() names in it and what it allocates in it. So its
 * commit looks for changes nowhere else: its cost is that of the change, in a heap of any size. What it changes beyond that
 * is not committed, but found by the next commit that is not declared.
 */
rem_status rem_write_begin_declared(rem_heap* heap);
rem_status rem_write_end(rem_heap* heap);
rem_status rem_write_end_as(rem_heap* heap, rem_durability durability);
/* The same without waiting: see rem_commit_async(). REM_SECTION_CONFLICT, and the section goes on, if it is a nested one. */
rem_status rem_write_end_async(rem_heap* heap, uint64_t* point);
rem_status rem_write_abort(rem_heap* heap);
rem_status rem_read_begin(rem_heap* heap);
rem_status rem_read_try_begin(rem_heap* heap);
rem_status rem_read_end(rem_heap* heap);

/* ---- Commits ---- */

/*
 * Makes every change since the last commit durable, atomically. Waits for the other threads' sections to end. REM_NO_SPACE:
 * nothing is written, memory keeps its changes, call it again when there is space. REM_IO: the heap is poisoned, all
 * later commits are REM_POISONED, and it must be opened anew. O(changed pages), plus a look at resident memory.
 */
rem_status rem_commit(rem_heap* heap, rem_durability durability);
/*
 * The same, but does not wait for the device. *point, which may be left out (NULL), is a number for rem_point_wait(), which
 * waits until the commit is durable, and rem_point_ready(), which does not: REM_WOULD_WAIT when it is not durable yet. Either
 * says REM_IO or REM_POISONED when it never will be; REM_NO_SPACE, REM_CORRUPT or REM_NO_MEMORY when this point alone was
 * not committed, and its changes are left for the next commit. Points need not be waited for.
 */
rem_status rem_commit_async(rem_heap* heap, uint64_t* point);
rem_status rem_point_wait(rem_heap* heap, uint64_t point);
rem_status rem_point_ready(rem_heap* heap, uint64_t point);
/* Makes all commits so far durable. What rem_point_wait() says of the last point, if that failed alone, is said here, too. */
rem_status rem_sync(rem_heap* heap);
/* Memory becomes what the last commit left, allocations and roots included; pointers to what was made since then dangle. */
rem_status rem_rollback(rem_heap* heap);
/*
 * Drops all memory and reads the last commit anew from file and log, as opening the heap after a crash does: for when a rollback
 * has failed. A poisoned heap takes commits again afterwards. The handle and the addresses of what is committed stay. Nobody may use the
 * heap meanwhile. REM_SECTION_OPEN, REM_UNLINKED, REM_INVALID_ARGUMENT (it is shared): nothing was done. After any other error the heap is closed.
 */
rem_status rem_rebuild(rem_heap* heap);
/*
 * A moment of this thread's write section, to which rem_rollback_to() brings all memory of the heap back, allocations and roots
 * included. Both take time, and rem_savepoint() memory, as the section has written. Savepoints end with their section, with a
 * commit or rem_rollback() in it, by rem_savepoint_end(), and when the section goes back to an earlier one, which itself stays
 * open. rem_write_abort() of a nested section goes back to the last savepoint made around it, if there is one. Nothing is spilled
 * while a savepoint is open.
 * REM_NO_SECTION; REM_INVALID_ARGUMENT: the savepoint has ended; REM_EXHAUSTED: part of the changes was spilled already.
 */
rem_status rem_savepoint(rem_heap* heap, uint64_t* savepoint);
rem_status rem_rollback_to(rem_heap* heap, uint64_t savepoint);
/* It ends, and later ones with it; changes stay. Nothing happens when it has ended. */
rem_status rem_savepoint_end(rem_heap* heap, uint64_t savepoint);
/* Applies the redo log into the heap's file, and gives free space back. Commits begin one by themselves when it is due. */
rem_status rem_checkpoint(rem_heap* heap);

/*
 * The pages of 4 KiB that may have changed since the last commit: all that were written, and perhaps a few of their neighbours.
 * Nothing is compared, so this is cheap enough to be asked often, for a commit when there are so many; but with
 * REM_TRACK_FALLBACK it costs as much as the look for changes of a commit. It waits for write sections of other threads.
 */
rem_status rem_changed_pages(rem_heap* heap, size_t* pages);
typedef struct rem_range {
    void* start;
    size_t bytes;
} rem_range;
/* Where they are: by address, the first `capacity` of `*count` ranges. `ranges` may be NULL if `capacity` is 0. */
rem_status rem_changed_ranges(rem_heap* heap, rem_range* ranges, size_t capacity, size_t* count);

/* ---- History ---- */

/* What becomes of steps when a commit comes that would be one too many. */
typedef enum rem_when_full REM_AS_INT {
    REM_OLDEST_GO = 0, /* until there is room */
    REM_REFUSE = 1     /* it is REM_HISTORY_FULL; nothing is written, and memory keeps its changes */
} rem_when_full;
/* Set `size` to sizeof(rem_history_options). A limit of 0 is none; where both are 0, bytes_max is 64 MiB. */
typedef struct rem_history_options {
    size_t size;
    size_t bytes_max; /* of all steps: what their commits changed, in words of 8 bytes */
    size_t steps_max;
    rem_when_full when_full;
    bool
        kept_over_sessions; /* also in NAME-history beside the heap, which records it: all later sessions go on there, after a crash, too */
} rem_history_options;
/*
 * Opens the heap as rem_open() does, and keeps what undoes each commit from then on, in memory, until it is closed, or over sessions. A
 * program has the code of the calls below if it calls this one. Not read-only (REM_INVALID_ARGUMENT). A history that the heap records goes
 * on, with the recorded limits, whatever is given here, and with rem_open() too; programs without this code are refused for writing
 * (REM_NOT_SUPPORTED).
 */
rem_status rem_open_with_history(const char* path, const rem_options* options, const rem_history_options* history,
                                 rem_heap** heap);
/*
 * Memory becomes what it was before the last `steps` steps, or before these were undone, or at a version that rem_history() shows.
 * Each is an atomic commit of its own, as durable as rem_options says. Roots and blocks go with all else: pointers to what was made
 * since dangle. REM_NO_STEP: the history does not lead there; a commit after an undo begins a branch, in which what was undone is
 * reached by rem_go_to() alone. REM_SECTION_OPEN in a section of the thread, or while a group is open. REM_UNCOMMITTED: memory has
 * changes that are not committed. REM_INVALID_ARGUMENT: the heap was opened without a history. Memory is as before then.
 */
rem_status rem_undo(rem_heap* heap, uint64_t steps);
rem_status rem_redo(rem_heap* heap, uint64_t steps);
rem_status rem_go_to(rem_heap* heap, uint64_t version);
/* How many steps rem_undo() and rem_redo() can go; 0 without a history. */
rem_status rem_undo_depth(const rem_heap* heap, uint64_t* steps);
rem_status rem_redo_depth(const rem_heap* heap, uint64_t* steps);
/*
 * All commits until rem_group_end(), of whatever thread, are one step of this name, which may be NULL. A group within a group is part
 * of it. Without a history nothing begins, and rem_group_end() is REM_NO_SECTION. REM_SECTION_OPEN in a section of the thread.
 */
rem_status rem_group_begin(rem_heap* heap, const char* name);
rem_status rem_group_end(rem_heap* heap);
/* One state that can be reached, with the step that led to it. */
typedef struct rem_step {
    uint64_t version; /* that the heap had after it */
    uint64_t parent;  /* version of the state before it */
    bool has_parent;  /* false: it is the oldest one that there is */
    const char* name; /* "": none. Lives for the call */
    int64_t time;     /* of its last commit, in nanoseconds since 1970 */
    uint64_t bytes;   /* as rem_history_options counts them */
    bool is_present;  /* memory is in this state */
} rem_step;
/* Calls visit() with each, by version, until it returns false. */
rem_status rem_history(rem_heap* heap, bool (*visit)(void* context, const rem_step* step), void* context);
/* Lets all steps go: what is committed stays, and what is kept. With kept_over_sessions a durable commit, which fails as rem_commit() does. */
rem_status rem_history_forget(rem_heap* heap);
/*
 * Why a history that is kept over sessions has no steps of earlier ones, in a sentence that lives until the heap is closed: there was no
 * file, it is damaged, or not that of this heap; or that the file was removed while the heap was open, or could not follow its new name,
 * and all steps are in a new one. "": it goes on, or nobody asked.
 */
const char* rem_why_history_is_new(const rem_heap* heap);
/*
 * Give the history that the heap at `path` records other limits, from the next open on; or end it: its steps and kept versions are gone,
 * and NAME-history with them. Durable once they return. REM_NO_STEP: it has none; REM_IN_USE: somebody has the heap open.
 */
rem_status rem_history_set_limits(const char* path, const rem_history_options* limits);
rem_status rem_history_end(const char* path);
/*
 * A procedure of the program, which a history may hold in place of the bytes that it changes. It gets the parameters of rem_call() and writes
 * blocks of the heap that are there; what it does depends on nothing but memory and parameters. Another status than REM_OK says that it
 * has failed: memory becomes what it was.
 */
typedef rem_status (*rem_procedure_function)(rem_heap* heap, const void* parameters, size_t bytes, void* context);
typedef struct rem_procedure {
    const char* name;
    rem_procedure_function call;
    rem_procedure_function inverse; /* brings back what `call` changed, or nearly so; NULL: the history holds bytes */
    void* context;                  /* handed to both */
} rem_procedure;
/* Opens the heap as rem_open_with_history() does, and knows these procedures until it is closed. */
rem_status rem_open_with_procedures(const char* path, const rem_options* options, const rem_history_options* history,
                                    const rem_procedure* procedures, size_t count, rem_heap** heap);
/*
 * Runs a procedure in a write section of its own, commits, and makes this a step of the history, with the procedure's name. The step holds
 * the call where that is smaller, and rem_undo() then calls the inverse, rem_redo() the procedure; it holds bytes, as others do, if the
 * procedure allocates or frees, if memory had changes that were not committed, and while versions are kept. Steps before it write the
 * bytes that they hold, and leave all others as the inverse left them. A section that it leaves open is rolled back with all else, and
 * the call is REM_SECTION_OPEN. REM_NO_PROCEDURE: there is none of this name; from rem_undo() and its
 * like also: the inverse is not there, or commits, rolls back, allocates or frees. REM_SECTION_OPEN in a section of the thread. What the
 * procedure returns.
 */
rem_status rem_call(rem_heap* heap, const char* name, const void* parameters, size_t bytes);
/*
 * The last `steps` steps become one, which rem_undo() takes back at once. REM_NO_STEP: there are not so many. REM_INVALID_ARGUMENT: a
 * version among them is kept, or another branch begins there.
 */
rem_status rem_squash(rem_heap* heap, uint64_t steps);
/*
 * Keeps the version of the last commit by this name, whatever the limits of the history, and says its number. It holds what has changed
 * since, each byte once. REM_EXISTS: the name is taken, or that version has another one.
 */
rem_status rem_keep(rem_heap* heap, const char* name, uint64_t* version);
/* A version that is kept. */
typedef struct rem_kept_version {
    uint64_t version;
    uint64_t parent; /* the kept version before it */
    bool has_parent;
    const char* name; /* Lives for the call */
    int64_t time;     /* of its last commit, in nanoseconds since 1970 */
    uint64_t bytes;   /* that have changed between it and the next state */
    bool is_present;  /* memory is in this state */
} rem_kept_version;
/* Calls visit() with each, by version, until it returns false. */
rem_status rem_versions(rem_heap* heap, bool (*visit)(void* context, const rem_kept_version* version), void* context);
/* Says the number of the version that has this name. REM_NO_STEP: none has it. */
rem_status rem_find_version(rem_heap* heap, const char* name, uint64_t* version);
/* Memory becomes what it was, by a commit, as rem_go_to() does. REM_NO_STEP: the version is not kept. */
rem_status rem_restore(rem_heap* heap, uint64_t version);
/* The version is a step like others again, and goes if it would have gone without rem_keep(). REM_NO_STEP: it is not kept. */
rem_status rem_drop(rem_heap* heap, uint64_t version);
/* Makes the heap `path` of a version that is kept or that rem_history() shows: as a whole and durable, or not at all. REM_EXISTS. */
rem_status rem_branch(rem_heap* heap, uint64_t version, const char* path);
/*
 * Opens a version of the history that lies beside the heap (rem_history_options::kept_over_sessions), read-only, instead of the last
 * commit: by its number, or, unless `name` is NULL, by the name that it is kept by. What has changed since is taken back in memory of
 * the process. While another process has the heap open for writing, or several share it, the last commit is copied to memory first: then
 * the version stays what it is whatever becomes of the heap, and keeps nobody from it. REM_NO_STEP, saying what there is: the heap has no
 * such version, or no history. REM_NO_SPACE: the copy takes more memory than the process may use. O(history, and bytes that changed
 * since); with the copy O(pages in use) besides.
 */
rem_status rem_open_version(const char* path, const rem_options* options, uint64_t version, const char* name,
                            rem_heap** heap);
typedef enum rem_difference_kind REM_AS_INT {
    REM_RANGE_DIFFERS = 0, /* bytes of the heap, in words of 8 */
    REM_BLOCK_DIFFERS = 1, /* allocated memory */
    REM_ROOT_DIFFERS = 2,  /* a root, or something that it leads to */
    REM_MEMBER_DIFFERS = 3 /* a part of a root that has a schema */
} rem_difference_kind;
typedef enum rem_change REM_AS_INT { REM_ADDED = 0, REM_REMOVED = 1, REM_CHANGED = 2 } rem_change;
/* Texts live for the call; those that mean nothing for its kind are "". */
typedef struct rem_difference {
    rem_difference_kind kind;
    rem_change how;     /* of a range: REM_CHANGED */
    uint64_t offset;    /* of a range or block, from the heap's base */
    uint64_t bytes;     /* likewise */
    const char* name;   /* of a root; of a block, of a root that leads to it; of a member its path */
    const char* type;   /* of a root */
    const char* before; /* of a member, as JSON */
    const char* after;  /* likewise */
} rem_difference;
/* Calls visit() with what differs between two versions that are kept or that rem_history() shows, until it returns false. */
rem_status rem_diff(rem_heap* heap, uint64_t before, uint64_t after,
                    bool (*visit)(void* context, const rem_difference* difference), void* context);

/* ---- The portable form ---- */

/*
 * Hands the objects of a root of a C++ program, or of all (NULL), to put() in pieces of whole lines, as docs/reference/dump.md has them; it
 * returns false to stop, which is REM_IO. Memory as it is, in a read section. Roots of C programs, whose types nobody knows, are told
 * without their objects. REM_NOT_FOUND: no such root. REM_NOT_SUPPORTED, before anything is put: a pointer may lead to several objects, or to a
 * part of one that no schema knows; or objects lie too deep in each other. REM_CORRUPT: an object is not as its schema says.
 */
rem_status rem_dump(rem_heap* heap, const char* root, bool (*put)(void* context, const char* text, size_t bytes),
                    void* context);
/*
 * Makes the roots of a dump, in one atomic commit (within a write section in that). read() puts up to so many bytes there and returns how many;
 * 0 at the end. What fails leaves the heap as it was: REM_EXISTS when it has such a root, REM_INVALID_ARGUMENT with the line for what
 * is no dump or not whole, REM_NOT_SUPPORTED for a type that only a program can make.
 */
rem_status rem_load(rem_heap* heap, size_t (*read)(void* context, char* into, size_t bytes), void* context);

/* ---- Sharing ---- */

/*
 * Opens the heap as rem_open() does, for any number of processes at once, which must all open it so: an exclusive open is REM_IN_USE.
 * One process writes at a time; the others read the version that was newest when their section began, and wait for nobody. Memory
 * is changed in write sections and looked at in sections; elsewhere it is of no version in particular. What was changed outside of
 * write sections is undone by the next one, whose beginning says REM_OUTSIDE_SECTION. Commits say REM_READERS_BEHIND while old
 * versions are read for so long that the redo log cannot be reused. The heap is transactional: another kind is
 * REM_INVALID_ARGUMENT. docs/guide/processes.md has the rules, and what happens when processes die.
 */
rem_status rem_open_shared(const char* path, const rem_options* options, rem_heap** heap);
/*
 * The same, with one history for all processes, in which each undoes and redoes what any of them has committed, those of rem_open_shared()
 * too. It must be kept_over_sessions, and cannot begin while others have the heap open without one (REM_INVALID_ARGUMENT).
 */
rem_status rem_open_shared_with_history(const char* path, const rem_options* options,
                                        const rem_history_options* history, rem_heap** heap);
/*
 * As rem_write_begin(), of any heap, but waits no longer than that for threads and processes in sections: REM_WOULD_WAIT. Not at all
 * with 0.
 */
rem_status rem_write_begin_within(rem_heap* heap, unsigned longest_ms);

/* Of a shared heap; of others REM_INVALID_ARGUMENT. */

/* Waits until a commit of this version, of any process, can be seen: REM_WOULD_WAIT when that has not come within this time. */
rem_status rem_wait_for_version(rem_heap* heap, uint64_t version, unsigned longest_ms);
/* A process in a section. */
typedef struct rem_participant {
    int process;         /* its number, in its own PID namespace */
    int thread;          /* that began the section, likewise */
    const char* program; /* as the system names it; "": it does not tell. Lives for the call */
    int64_t since;       /* in nanoseconds since 1970 */
    uint64_t version;    /* that it sees; 0 of a writer */
} rem_participant;
/* Calls visit() with each process in a read section, that with the oldest version first, until it returns false. */
rem_status rem_readers(rem_heap* heap, bool (*visit)(void* context, const rem_participant* who), void* context);
/* Calls visit() with the process in a write section, if there is one: for who waits long for his turn. */
rem_status rem_writer(rem_heap* heap, bool (*visit)(void* context, const rem_participant* who), void* context);

/* ---- Looking ---- */

/* Counters since the heap was opened, and gauges. Set `size` to sizeof(rem_stats); what lies behind it is not written. */
typedef struct rem_stats {
    size_t size;
    uint64_t commits; /* that wrote a record */
    uint64_t checkpoints;
    uint64_t changed_bytes; /* that commits found */
    uint64_t logged_bytes;  /* written to the redo log */
    uint64_t image_bytes;   /* pages written to the heap's file */
    uint64_t spilled_bytes; /* of these, before a commit took them */
    uint64_t written_bytes; /* to both files, all there is */
    uint64_t syncs;         /* waits for the device */
    uint64_t commit_ns_median;
    uint64_t commit_ns_99; /* that 99 of 100 commits did not exceed */
    uint64_t commit_ns_max;
    uint64_t log_used_bytes; /* gauge */
    uint64_t log_limit_bytes;
    uint64_t before_image_bytes; /* gauge: memory held for committed content that is not in the file yet */
    uint64_t heap_bytes;         /* gauge: committed extent */
    uint64_t allocated_bytes;    /* gauge: in live blocks */
    uint64_t recovered_commits;  /* by the open */
    uint64_t recovered_bytes;
    uint64_t open_ns;
    char tracker[16]; /* "scan", "trap", "fallback"; "none" when read-only */
    /* Set it, with `size`, to have the next two worked out, in O(blocks); else they are 0. */
    bool surveys;
    /* How well free memory serves requests, as a share of how well it would in one piece; 1: none is free. */
    double availability;
    double page_efficiency; /* bytes of blocks as a share of the pages that they, and the allocator's tables, are on */
} rem_stats;
rem_status rem_get_stats(const rem_heap* heap, rem_stats* stats);

/* What was compared. Set `size` to sizeof(rem_report). */
typedef struct rem_report {
    size_t size;
    uint64_t pages_checked;
    uint64_t log_records_checked;
    uint64_t blocks_checked;
    uint64_t problems;
} rem_report;
/*
 * Reads everything: checksums of pages, log, allocator, roots. REM_OK when all of it is sound; REM_CORRUPT when it is not:
 * rem_last_error() has the first problem and its offset in the file, and problem(), which may be NULL, is called with each
 * (offset UINT64_MAX: it has none). `report` may be NULL. O(heap).
 */
rem_status rem_verify(const rem_heap* heap, rem_report* report,
                      void (*problem)(void* context, const char* what, uint64_t offset), void* context);

#ifdef __cplusplus
}
#endif

#endif
