/**
 * \file
 * Persistent heaps for C. A heap is a file that is mapped into memory. It contains ordinary C objects with ordinary
 * pointers, at the same addresses in each process that opens it. After a crash the heap holds exactly what the last
 * durable commit left. Named addresses, the *roots*, are the entry points; everything else is reached from them. This
 * header is C99 and C++; its functions may be mixed with those of remanence.hpp.
 *
 *     #include <remanence/remanence.h>
 *     #include <stdio.h>
 *     struct counter { long runs; };
 *
 *     int main(void) {
 *         rem_heap* heap;
 *         if (rem_open("counter.rem", NULL, &heap) != REM_OK) { // created when absent
 *             fprintf(stderr, "%s\n", rem_last_error()->message);
 *             return 1;
 *         }
 *         rem_write_begin(heap);
 *         struct counter* counter = REM_ROOT_GET(heap, "counter", struct counter);
 *         if (counter == NULL) {
 *             counter = rem_calloc(heap, 1, sizeof *counter);
 *             REM_ROOT_SET(heap, "counter", counter, struct counter);
 *         }
 *         ++counter->runs;
 *         if (rem_write_end(heap) == REM_OK)                    // durable now; rem_write_abort() would undo it
 *             printf("run %ld\n", counter->runs);
 *         rem_close(heap);
 *     }
 *
 * Status. A function that can fail returns a rem_status, or a null pointer; rem_last_error() then says more, in the
 * same thread. Mistakes of the caller, such as NULL, a closed heap, a pointer to no block or an impossible size, also
 * return a status, and leave the heap as it was. What the library cannot detect is called "undefined" below. "REM_X: …"
 * and "REM_X when …" name errors.
 *
 * Handles. A rem_heap* is a number that is never used twice, not an address. After rem_close() every call with it
 * returns REM_CLOSED. Undefined: rem_close() while another thread is in a call with the same heap, outside of its
 * sections.
 *
 * Threads. Several threads may call every function at once. A section belongs to the thread that began it.
 *
 * Callbacks. A function that the library calls may make any call, unless its description says otherwise. It must end
 * only sections that it began, and must not close the heap. Undefined: longjmp() out of a callback, and C++ exceptions
 * that leave a callback.
 *
 * Caveats:
 * 1. A heap has a fixed address. Opening it returns REM_BASE_TAKEN if another mapping is there.
 * 2. One process has a heap open at a time (REM_IN_USE), unless all use rem_open_shared(). In a forked child, calls
 *    with the handle return REM_CLOSED.
 * 3. Pointers in the heap must lead into the same heap. The compiler does not check this in C; `rem verify --pointers`
 *    looks for pointers that leave the heap.
 * 4. The library knows the members of a struct only if the program describes them (REM_DESCRIBE): then tools, dumps and
 *    migrations work, and a changed struct is refused (REM_TYPE_MISMATCH). A root set by rem_root_set() has no type.
 * 5. Pointers to blocks that were allocated since the last commit dangle after rem_write_abort(), rem_rollback() or
 *    rem_undo().
 * 6. After a failed write or sync the heap is poisoned: it can be read; commits return REM_POISONED until it is
 *    reopened or rebuilt. A full disk is not such a failure: after REM_NO_SPACE the commit may be repeated.
 * 7. REM_LAZY, REM_NONE and asynchronous commits return before they are on the device. A crash may lose the last of
 *    them, but none that a durable commit has followed.
 * 8. rem_write_begin() waits for all other sections to end. A thread that ends within a section leaves the section open
 *    for ever.
 * 9. With REM_TRACK_TRAP, and when uncommitted changes exceed dirty_limit_bytes, system calls that write into the heap
 *    fail with EFAULT unless rem_touch() has declared the memory. A thread that blocks SIGSEGV may be killed when it
 *    writes to the heap.
 * 10. NAME-log, and NAME-history if there is one, belong to the heap: copy or remove them together, and only while the
 *     heap is closed. `rem copy` copies an open heap.
 * 11. A heap is trusted as the program's own memory is. x86-64 Linux only. The format is provisional.
 *
 * See docs/guide/c.md for a whole program, docs/errors.md for each error with its remedy, docs/guide/unmodified-c.md
 * for programs that should not be changed, heap.hpp for the concepts in detail, and remanence(3).
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
#define REM_AS_INT : int /* an enumeration may hold any int, as in C */
#define REM_CAST(type, pointer) static_cast<type>(pointer)
#define REM_AS_NUMBER_(of, value) static_cast<typename rem_number_of_<__typeof__(of)>::type>(value)
#define REM_NONE_(type) static_cast<type*>(nullptr)
#else
#define REM_AS_INT
#define REM_CAST(type, pointer) (pointer)
#define REM_AS_NUMBER_(of, value) ((__typeof__(of))(value))
#define REM_NONE_(type) ((type*)0)
#endif

/**
 * The result of a call. The numbers are stable. Those below 1002 are the ones of remanence::errc (error.hpp);
 * docs/errors.md has cause and remedy of each.
 */
typedef enum rem_status REM_AS_INT {
    REM_OK = 0, /**< success */
    /** The file is empty, something other than a heap, or not a regular file. */
    REM_NOT_A_HEAP = 1,
    REM_TRUNCATED = 2,              /**< a file is shorter than the contents that it should have */
    REM_UNSUPPORTED_FORMAT = 3,     /**< written by a newer release, or in an older format */
    REM_ABI_MISMATCH = 4,           /**< written with another standard library layout */
    REM_TYPE_MISMATCH = 5,          /**< a root is stored as another type, or its type has changed */
    REM_CORRUPT = 6,                /**< a checksum or a structure is wrong; rem_error::offset says where */
    REM_LOG_MISSING = 7,            /**< the heap was not closed cleanly, and its redo log is missing */
    REM_LOG_FOREIGN = 8,            /**< the redo log belongs to another heap, copy or session */
    REM_BASE_TAKEN = 9,             /**< another mapping is at the heap's address */
    REM_PERMISSION_DENIED = 10,     /**< the operating system refused access */
    REM_READ_ONLY_FILE_SYSTEM = 11, /**< the file system cannot be written */
    REM_NOT_FOUND = 12,             /**< there is no such file, directory, root or arena */
    /** The disk or the quota is full, or a limit of files is reached; nothing was changed on disk. */
    REM_NO_SPACE = 13,
    REM_IN_USE = 14,    /**< another process, or another handle, has the heap open */
    REM_CLOSED = 15,    /**< the handle is closed, or inherited through fork() */
    REM_EXHAUSTED = 16, /**< the heap's address range, or an arena's room, is used up */
    /** An earlier write or sync failed: no commits until the heap is reopened or rebuilt. */
    REM_POISONED = 17,
    REM_EXISTS = 18,           /**< the file, root, name or description exists already */
    REM_SECTION_OPEN = 19,     /**< not allowed while a section is open */
    REM_SECTION_CONFLICT = 20, /**< a write section was to begin in a read section of the same thread */
    REM_READ_ONLY = 21,        /**< the heap was opened read-only */
    REM_NOT_SUPPORTED = 22,    /**< this release, program or machine does not support it */
    REM_INVALID_ARGUMENT = 23, /**< an argument or option is out of its range */
    /** The device or the system reported a failure. If a commit returns this, the heap is poisoned. */
    REM_IO = 24,
    REM_UNNAMEABLE_TYPE = 25,   /**< C++ only: a local type as a root */
    REM_FOREIGN_POINTER = 26,   /**< a commit would store a pointer that leaves the heap */
    REM_RECOVERY_NEEDED = 27,   /**< opened read-only, but only a newer release can recover the heap */
    REM_ROLLED_BACK = 28,       /**< a nested section failed, so the outermost one was rolled back */
    REM_UNDECLARED_CHANGE = 29, /**< checking library: a declared section changed what it did not declare */
    REM_UNLINKED = 30,          /**< the heap's file or log was removed or replaced while it was open */
    REM_WRONG_APPLICATION = 31, /**< the heap belongs to another application */
    REM_READERS_BEHIND = 32,    /**< shared heap: stopped processes keep the redo log from being reused */
    REM_OUTSIDE_SECTION = 33,   /**< shared heap: memory was changed outside of write sections */
    REM_NO_STEP = 34,           /**< the history has no such step or version */
    REM_HISTORY_FULL = 35,      /**< the history has reached a limit and may not drop steps (REM_REFUSE) */
    REM_UNCOMMITTED = 36,       /**< memory has uncommitted changes, which an undo would mix with the step */
    REM_NO_PROCEDURE = 37,      /**< no procedure has this name, or its inverse does what an inverse must not */
    REM_LIMIT_REACHED = 38,     /**< C++ only: a call has used up the steps or bytes that it may take */

    REM_NO_MEMORY = 1001,  /**< the process, not the heap, has no memory left */
    REM_WOULD_WAIT = 1002, /**< a call that must not wait would have had to wait */
    REM_NO_SECTION = 1003, /**< this thread is not in a section, or not in one of this kind */
    REM_UNEXPECTED = 1004  /**< a fault of the library: please report it */
} rem_status;

/** Returns one sentence about a status: a literal, never NULL. */
const char* rem_status_text(rem_status status);

/** What went wrong. The texts live until the same thread's next call that fails. */
typedef struct rem_error {
    rem_status status;   /**< the status that the call returned, or would have returned */
    int os_error;        /**< errno of the system call that failed; 0: none did */
    const char* message; /**< names the file, the operation and what to do next; never NULL */
    const char* path;    /**< the file that the error is about; "": none */
    uint64_t offset;     /**< offset in that file, in bytes; UINT64_MAX: none */
} rem_error;

/**
 * Returns the error of the calling thread's last call that failed. Calls that succeed do not change it. At first its
 * status is REM_OK.
 */
const rem_error* rem_last_error(void);

/* ---- Opening and closing ---- */

/** An open heap: a handle, not an address. */
typedef struct rem_heap rem_heap;

/** What makes changes durable. It is a property of the handle, not of the file: the next open may choose another. */
typedef enum rem_kind REM_AS_INT {
    REM_TRANSACTIONAL = 0, /**< the end of each write section commits; rem_write_abort() undoes it */
    REM_SNAPSHOT = 1,      /**< rem_commit() commits, whenever it is called; sections are only a lock */
    /**
     * rem_close() commits; if the process ends without rem_close(), all uncommitted changes are lost. Sections are only
     * a lock.
     */
    REM_ARCHIVE = 2
} rem_kind;

/** What a commit waits for. Commits become durable in their order, each one as a whole. */
typedef enum rem_durability REM_AS_INT {
    REM_AS_OPENED = 0, /**< durability as in rem_options; in rem_options itself: REM_DURABLE */
    REM_DURABLE = 1,   /**< waits until the commit, and all before it, are on the device */
    /**
     * Waits for the operating system only: the commit survives the process, and is on the device within
     * lazy_interval_ms.
     */
    REM_LAZY = 2,
    /**
     * Waits for nothing: the commit is lost if the process dies before a stronger commit, or before 1 MiB of such
     * commits has gathered.
     */
    REM_NONE = 3
} rem_durability;

/** How a commit finds what changed. */
typedef enum rem_tracking REM_AS_INT {
    REM_TRACK_AUTOMATIC = 0, /**< scan if the machine has it, otherwise fallback */
    REM_TRACK_SCAN = 1,      /**< the kernel records written pages (Linux 6.7) */
    /**
     * The first write to a page causes a signal. System calls that write into the heap, such as read(2), need
     * rem_touch().
     */
    REM_TRACK_TRAP = 2,
    REM_TRACK_FALLBACK = 3 /**< works on any Linux; each commit compares what changed since the last checkpoint */
} rem_tracking;

/** The long operation that rem_options::on_progress reports. */
typedef enum rem_phase REM_AS_INT {
    REM_RECOVERY = 0,   /**< opening applies the log after a crash */
    REM_CHECKPOINT = 1, /**< a checkpoint applies the log to the heap's file */
    REM_VERIFY = 2      /**< rem_verify() */
} rem_phase;

/**
 * How a heap is opened. Set `size` to sizeof(rem_options), and all members that you do not name to zero: zero is the
 * default of each. Members marked "Creation" are ignored when the heap exists. REM_INVALID_ARGUMENT for values out of
 * range, and without `size`.
 *
 * Later releases add members at the end. A library accepts the smaller struct of an older program. It refuses the
 * larger struct of a newer program (REM_NOT_SUPPORTED) only if members are set that the library does not know.
 */
typedef struct rem_options {
    size_t size;               /**< sizeof(rem_options) */
    rem_kind kind;             /**< what makes changes durable. 0: REM_TRANSACTIONAL */
    rem_durability durability; /**< durability of commits that name none. 0: REM_DURABLE */
    rem_tracking tracking;     /**< how commits find changes. 0: automatic */
    bool read_only;            /**< nothing on the disk changes, and permission to read is enough */
    /** With REM_TRACK_TRAP: a write outside of write sections ends the process, after a message. */
    bool catch_stray_writes;
    bool core_dump;     /**< core files include the heap's memory */
    bool no_read_ahead; /**< a page fault reads one page, without its neighbours */
    /**
     * The application that the heap belongs to: 1 to 15 printable ASCII characters without spaces. Creation: recorded.
     * Later: REM_WRONG_APPLICATION unless the same name is recorded. NULL or "": opens any heap.
     */
    const char* application;
    /** Creation: permission bits of the file, minus the umask; at most 0777. 0: 0666. */
    unsigned mode;
    unsigned lazy_interval_ms; /**< time until a REM_LAZY commit is synced, in ms: 1 to 3,600,000. 0: 200 */
    size_t reserve_bytes;      /**< address space; grows while the addresses behind it are free. 0: 16 GiB */
    /** Creation: unit of space in the file: a power of two, 64 KiB to 4 MiB. 0: 256 KiB. */
    size_t chunk_bytes;
    /** Creation: where the heap is mapped, always: a multiple of 1 GiB. 0: random. */
    uintptr_t base;
    /**
     * Length of the redo log, in bytes, at which a commit begins a checkpoint. 0: as many bytes as the checkpoint would
     * write, but at least 64 and at most 256 MiB.
     */
    size_t log_limit_bytes;
    /** Bytes of uncommitted changes above which some of them are written to the file early. 0: a quarter of memory. */
    size_t dirty_limit_bytes;
    /** Called during long operations, perhaps by several threads at once. It must not use the heap. May be NULL. */
    void (*on_progress)(void* context, rem_phase phase, size_t bytes_done, size_t bytes_total);
    void* context; /**< passed to on_progress */
    /**
     * Creation: sizes are rounded up to a power of two up to 64 bytes, to cache lines below 4 KiB, else to pages; a
     * block begins at a multiple of the largest power of two that divides its size, at most 64 KiB, or 2 MiB for blocks
     * that fill so much. It costs space: blocks of 24 bytes take 32, of 65 take 128, of 5,000 take 8,192.
     */
    bool aligned_blocks;
    /**
     * Creation, for debugging: each block is followed by at least 16 bytes of a pattern. If these bytes were
     * overwritten, a commit that would store them returns REM_CORRUPT, and memory keeps its changes; rem_verify()
     * reports them; and rem_free() of the block ends the process. Blocks take 24 bytes more.
     */
    bool red_zones;
    /**
     * Directory of the redo log, recorded when the heap is opened for writing. "": beside the heap; NULL: as recorded.
     */
    const char* log_directory;
    /**
     * rem_open_shared(): how many milliseconds it waits while another process is doing the first opening or the last
     * closing of the heap. Then it returns REM_IN_USE, with a message that names that process. At most 3,600,000; 0
     * means 10,000.
     */
    unsigned open_timeout_ms;
    /**
     * For debugging: how many of the calls that led to an allocation this process notes for each block, up to 32, so
     * that rem_find_leaks() and messages about blocks can name the place. Stores nothing in the heap. An allocation
     * then takes microseconds, and the process about 16 bytes for each call and 64 for each block.
     * REM_NOT_SUPPORTED in a program that does not call rem_find_leaks() anywhere.
     */
    unsigned leak_frames;
} rem_options;

/**
 * Opens the heap at `path`, and creates it if there is none. After a crash it recovers the last durable commit.
 * `options` may be NULL. *heap is NULL if the call fails. REM_IN_USE when another process or handle has the heap open
 * (rem_open_shared() permits it); REM_BASE_TAKEN when its addresses are taken. No failure loses committed data. O(1) in
 * the heap's size; recovery is bounded by the log limit.
 */
rem_status rem_open(const char* path, const rem_options* options, rem_heap** heap);
/** Creates a heap, which is durable once this returns. REM_EXISTS when there is a file; otherwise as rem_open(). */
rem_status rem_create(const char* path, const rem_options* options, rem_heap** heap);
/** Opens an existing heap. REM_NOT_FOUND when there is none; otherwise as rem_open(). */
rem_status rem_open_existing(const char* path, const rem_options* options, rem_heap** heap);

/** The leaked blocks of one size. All that rem_leaks points at is valid only during the call that passes it. */
typedef struct rem_leak_class {
    size_t block_bytes; /**< usable size of each block; above 64 KiB a power of two */
    size_t blocks;      /**< their number */
} rem_leak_class;
/** The leaked blocks that were allocated at one place in the program. */
typedef struct rem_leak_place {
    /**
     * The call stack of the allocation, the innermost call first, as the C library formats it. Without calls: blocks
     * of a heap with a file that this process did not allocate, or whose places it has forgotten.
     */
    const char* const* calls;
    size_t call_count;      /**< number of `calls` */
    size_t blocks;          /**< number of blocks */
    size_t requested_bytes; /**< bytes that the program asked for */
} rem_leak_place;
/** The blocks that no root reaches; for a volatile heap, those that it still had when it was closed. */
typedef struct rem_leaks {
    size_t blocks;                 /**< their number */
    size_t bytes;                  /**< usable bytes of these blocks */
    const rem_leak_class* classes; /**< by size */
    size_t class_count;            /**< number of `classes` */
    const rem_leak_place* places;  /**< with leak_frames: the most bytes first */
    size_t place_count;            /**< number of `places` */
} rem_leaks;

/**
 * How a volatile heap is made. A volatile heap has no file: it is memory that is separate from malloc()'s, is freed all
 * at once, and ends with the process. Set `size` to sizeof(rem_volatile_options); zero is the default of each member.
 */
typedef struct rem_volatile_options {
    size_t size;          /**< sizeof(rem_volatile_options) */
    size_t reserve_bytes; /**< address space. 0: 64 GiB, or what there is */
    /**
     * Bytes of a pattern behind each block, up to 4,096. If they were overwritten, freeing the block ends the process,
     * and rem_verify() reports a problem.
     */
    size_t red_zone_bytes;
    bool has_numa_node; /**< numa_node is set */
    unsigned numa_node; /**< the NUMA node of all memory */
    /** Called by rem_close() when there are blocks left. It must not use the heap. May be NULL. */
    void (*on_leaks)(void* context, const rem_leaks* left);
    void* context; /**< passed to on_leaks */
    /**
     * For debugging: how many of the calls that led to an allocation each block records for on_leaks, up to 32. An
     * allocation then takes microseconds, and blocks have red zones of at least 8 bytes.
     */
    unsigned leak_frames;
} rem_volatile_options;

/**
 * Makes a volatile heap. `options` may be NULL. The calls for memory and roots, rem_get_stats(), rem_verify(),
 * rem_is_open(), rem_save_as() and rem_close() accept it; all others return REM_NOT_SUPPORTED. Allocation fails with REM_NO_MEMORY when the system has
 * no memory left. If two threads free the same block at the same time, the process may end. In a child of fork() the
 * handle names the child's copy of the heap.
 */
rem_status rem_open_volatile(const rem_volatile_options* options, rem_heap** heap);
/**
 * Makes a heap file of a volatile heap, which stays as it is: all blocks and roots, at the same addresses. The file
 * appears complete or not at all, and is durable once this returns. It can be opened when no volatile heap has these
 * addresses: in another process, or after rem_close(). No other thread may use the heap meanwhile.
 *
 * Statuses after which there is no new file: REM_IN_USE when blocks were allocated or freed meanwhile; REM_EXISTS;
 * REM_INVALID_ARGUMENT when a root leads to no block; REM_CORRUPT when the bytes behind a block were overwritten;
 * REM_NOT_SUPPORTED for a heap that has a file, and when the addresses could not be had in another process; REM_NO_SPACE
 * and others of files. O(blocks and their bytes).
 */
rem_status rem_save_as(rem_heap* heap, const char* path);
/**
 * Makes a volatile heap of a heap file: the blocks and roots of its last commit, at the same addresses. The file is
 * only read, also while other processes write to it; it need not be closed. rem_save_as() makes a file again. History
 * and kept versions stay with the file. `options` may be NULL.
 *
 * REM_BASE_TAKEN when the addresses are in use; REM_IN_USE when this process has the heap open; REM_NOT_SUPPORTED when
 * the heap has arenas, red zones, or blocks of an early release; REM_INVALID_ARGUMENT with red_zone_bytes or
 * leak_frames; REM_NO_MEMORY when the blocks exceed memory; others as rem_open(). O(file).
 */
rem_status rem_load_volatile(const char* path, const rem_volatile_options* options, rem_heap** heap);

/**
 * Closes the heap. An archive heap is committed first; other heaps lose uncommitted changes; a volatile heap is
 * destroyed with its blocks.
 *
 * The heap stays open after REM_SECTION_OPEN (a section is open, or a commit waits), and after REM_NO_SPACE of an
 * archive heap's commit. After any other status it is closed. In a child of fork() it returns REM_CLOSED, and frees the
 * addresses of the child's copy, so that the child can open the heap itself. A process that ends without closing its
 * heaps leaves them as a crash does: as of their last commits.
 */
rem_status rem_close(rem_heap* heap);

/** The end of the address space at which rem_find_address_space() begins. */
typedef enum rem_address_end REM_AS_INT {
    REM_LOW = 0, /**< the lowest addresses first */
    REM_HIGH = 1 /**< the highest addresses first */
} rem_address_end;
/**
 * Finds the lowest or the highest place between 4 GiB and 64 TiB with `bytes` of free address space in this process: a
 * multiple of 1 GiB, for rem_options::base. Reserves nothing: the place is free until something is mapped there.
 * REM_EXHAUSTED when there is none. O(mappings of the process).
 */
rem_status rem_find_address_space(size_t bytes, rem_address_end from, uintptr_t* base);

/** Returns true if the heap is open. False in a child of fork(), except for a volatile heap. */
bool rem_is_open(const rem_heap* heap);
/** Returns the path that the heap was opened with, valid until it is closed. NULL on failure. */
const char* rem_path(const rem_heap* heap);
/** Returns the address of the heap's first byte. NULL on failure. */
void* rem_base(const rem_heap* heap);
/** Sets *version to the number of the last commit, which may not be durable yet; 0 for a new heap. */
rem_status rem_version(const rem_heap* heap, uint64_t* version);

/* ---- Memory ---- */

/**
 * Allocates a block of at least `size` bytes, aligned as by malloc(); its contents are arbitrary. Size 0 counts as 1.
 * Returns NULL on failure: REM_EXHAUSTED when the heap cannot grow. A rollback undoes the allocation, and so does a
 * crash before the next commit.
 */
void* rem_alloc(rem_heap* heap, size_t size);
/** Allocates as rem_alloc(), at a multiple of `alignment`: a power of two up to 1 GiB. */
void* rem_alloc_aligned(rem_heap* heap, size_t alignment, size_t size);
/**
 * Allocates a block of `size` bytes that rem_realloc() can grow in place up to `room` bytes; rem_usable_size() counts
 * the room. Unwritten room takes addresses but no memory, except for pages that earlier blocks have used. In a declared
 * section, this call declares the whole room. The first rem_realloc() to less than half of the room gives the room
 * back, and may move the block; but a volatile heap keeps a room of more than 64 KiB.
 */
void* rem_alloc_dynamic(rem_heap* heap, size_t size, size_t room);
/**
 * Allocates as rem_alloc(), zeroed, for `count` objects of `size` bytes. REM_INVALID_ARGUMENT when the product exceeds
 * SIZE_MAX.
 */
void* rem_calloc(rem_heap* heap, size_t count, size_t size);
/**
 * Makes a block larger or smaller and returns where it is now, aligned as by rem_alloc(). A block of whole pages stays
 * in place if it shrinks, or the pages behind it are free. A block that moves is copied; from 256 KiB on, its pages
 * are remapped at its new address, except those that are mapped from the file. The program must then set roots and
 * pointers to it anew. Returns NULL on failure; the block is then unchanged. If `block` is NULL, this acts as
 * rem_alloc(). Size 0 counts as 1, and frees nothing.
 */
void* rem_realloc(rem_heap* heap, void* block, size_t size);
/**
 * Frees a block of any open heap; NULL is allowed. REM_INVALID_ARGUMENT, with nothing changed, when no block begins
 * there: the block was freed before, is in no open heap, or the pointer leads into its middle. If a block was freed and
 * its memory allocated again, an old pointer frees the new block: this cannot be detected.
 */
rem_status rem_free(void* block);
/**
 * Returns how many bytes of the block the program may use, at least as many as it requested; 0 when no block begins
 * there.
 */
size_t rem_usable_size(const void* block);
/**
 * Returns the open heap that contains the address. NULL when there is none, in a child of fork(), or if it was opened
 * in C++. O(1).
 */
rem_heap* rem_heap_of(const void* address);
/**
 * Lets this thread's malloc(), calloc(), realloc(NULL, n), aligned_alloc(), strdup() and the like allocate in the heap
 * from now on, for code that knows malloc() only. NULL ends this. In programs that call this, free() and realloc() find
 * a block's heap by its address, at any time and in any thread. REM_NOT_SUPPORTED when libremanence-malloc.so is
 * neither linked nor preloaded (LD_PRELOAD); REM_READ_ONLY, REM_CLOSED.
 *
 * Memory that the C library allocates for itself (buffers of streams, threads) stays outside of the heap, and so does
 * memory that its functions return, except strdup() and strndup(). The heap does not know the types in these blocks:
 * `rem verify --pointers` finds pointers in them that leave the heap. Objects that such code keeps for itself (caches,
 * static objects) must be made before this call: otherwise they are lost in a rollback or when the heap is closed.
 * Until NULL is passed, any other call of Remanence returns REM_INVALID_ARGUMENT, and malloc() then no longer allocates
 * in the heap.
 */
rem_status rem_malloc_into(rem_heap* heap);
/**
 * Declares that [address, address + size) is about to be written, until the next commit or rollback. Needed in declared
 * sections, and for system calls that write into the heap (see caveat 9 at the head of this file). REM_INVALID_ARGUMENT
 * when the range is not in this heap. O(pages).
 */
rem_status rem_touch(rem_heap* heap, const void* address, size_t size);

/* ---- Arenas ---- */

/**
 * An arena: a named part of a heap with a file, whose blocks lie together. It has pages of its own, can have hints on
 * paging and a memory limit, and can be freed all at once. rem_realloc(), rem_free() and rem_usable_size() accept its
 * blocks as any others. The pointer is the arena's address, valid until the arena is destroyed or the heap is closed.
 * Earlier releases cannot open a heap that ever had an arena. For a volatile heap these calls return REM_NOT_SUPPORTED;
 * open another volatile heap instead.
 */
typedef struct rem_arena rem_arena;
/**
 * The options of a new arena, ignored for an existing one. Set `size` to sizeof(rem_arena_options); zero is the default
 * of each member.
 */
typedef struct rem_arena_options {
    size_t size; /**< sizeof(rem_arena_options) */
    /** How large the arena may become: a power of two, 1 MiB or more. This only reserves addresses. 0: 1 GiB. */
    size_t room_bytes;
    /**
     * Bytes of the arena that may be resident when a section ends, as by rem_limit_memory(), but of any size. 0: no limit.
     */
    size_t resident_limit_bytes;
} rem_arena_options;
/** How an arena is going to be used: a hint for the kernel. */
typedef enum rem_paging REM_AS_INT {
    REM_PAGING_USUAL = 0,      /**< no particular use */
    REM_PAGING_SEQUENTIAL = 1, /**< read from one end to the other */
    REM_PAGING_RANDOM = 2,     /**< scattered reads */
    REM_PAGING_PREFETCH = 3,   /**< all of the arena is needed soon: the kernel reads it now */
    REM_PAGING_KEEP = 4        /**< pages that were read stay in memory, within the limit of locked memory */
} rem_paging;
/**
 * Finds the arena with this name. If there is none, makes it, as a part of the surrounding write section; outside of
 * write sections, in a transactional heap, this call commits. `options` may be NULL.
 */
rem_status rem_arena_open(rem_heap* heap, const char* name, const rem_arena_options* options, rem_arena** arena);
/**
 * Allocates in an arena, as rem_alloc(). REM_INVALID_ARGUMENT when no arena begins there; REM_EXHAUSTED when its room
 * is used up.
 */
void* rem_arena_alloc(rem_arena* arena, size_t size);
/**
 * Frees an arena with all blocks and roots in it. Is part of the surrounding write section, or commits, as
 * rem_arena_open(). REM_NOT_FOUND when there is no such arena.
 */
rem_status rem_arena_destroy(rem_heap* heap, const char* name);
/** Gives the kernel a hint about the memory that the arena has now. REM_NOT_FOUND when there is no such arena. */
rem_status rem_arena_advise(rem_heap* heap, const char* name, rem_paging how);

/* ---- Types ---- */

/**
 * The kind of a member in a description. A heap stores the descriptions of its roots' types. With them `rem schema`,
 * get, dump, load and diff, the checks of pointers, and migration understand roots of C programs as well as those of
 * C++.
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
 * A description may omit members: dumps and migrations copy their bytes, but a dump refuses bytes that may be an
 * address. Describe a struct before the structs that contain it. Describe the types that pointers lead to before a root
 * is set or asked for; rem_migrate() updates a root that was set earlier. A pointer to an undescribed type is dumped
 * only if it is NULL, and migrated only if no object moves. A root of a described type must be a single object in a
 * block of its own: no array, and nothing behind it.
 */
typedef enum rem_member_kind REM_AS_INT {
    REM_SIGNED = 1, /**< a signed integer of 1, 2, 4 or 8 bytes */
    REM_UNSIGNED,   /**< an unsigned integer of 1, 2, 4 or 8 bytes */
    REM_FLOATING,   /**< float, double or long double */
    REM_BOOLEAN,    /**< bool */
    REM_CHARACTER,  /**< char; an array of them is a text, which ends before the trailing zeros */
    REM_POINTER,    /**< a pointer */
    REM_STRUCT      /**< a struct */
} rem_member_kind;
/** One member of a struct. The macros below make it. */
typedef struct rem_member {
    const char* name;     /**< its name */
    rem_member_kind kind; /**< kind of the member; of an array, kind of its elements */
    size_t offset;        /**< offset in the struct, in bytes */
    size_t size;          /**< size in bytes; of an array, size of each element */
    size_t count;         /**< number of elements of an array; 0: no array */
    /** The struct that it is, or that the pointer leads to, such as "struct account". NULL: a pointer to anything. */
    const char* type;
} rem_member;
/**
 * Describes a struct for the process. The texts are copied. Repeating a description does nothing. REM_EXISTS when
 * another struct has that name; REM_INVALID_ARGUMENT when members are outside of the struct, overlap, or are of a
 * struct that is not described. O(members of all structs that it leads to).
 */
rem_status rem_describe(const char* type, size_t size, size_t alignment, const rem_member* members, size_t count);
/** Describes a struct by an array of rem_member, one for each member: see rem_member_kind. */
#define REM_DESCRIBE(type, members)                                                                                    \
    rem_describe(#type, sizeof(type), __alignof__(type), (members), sizeof(members) / sizeof((members)[0]))
/** An entry of the array for REM_DESCRIBE: a number of any kind, or an enumeration. */
#define REM_NUMBER(type, member)                                                                                       \
    REM_MEMBER_(type, member, REM_KIND_(REM_NONE_(type)->member), sizeof(REM_NONE_(type)->member), 0, 0)
/** An entry of the array for REM_DESCRIBE: an array of numbers, of one dimension. */
#define REM_NUMBERS(type, member) REM_ARRAY_(type, member, REM_KIND_(REM_NONE_(type)->member[0]), 0)
/** An entry of the array for REM_DESCRIBE: an array of char that holds a text. */
#define REM_TEXT(type, member) REM_ARRAY_(type, member, REM_CHARACTER, 0)
/** An entry of the array for REM_DESCRIBE: a pointer to a struct. */
#define REM_POINTER_TO(type, member, to) REM_MEMBER_(type, member, REM_POINTER, sizeof(void*), 0, #to)
/** An entry of the array for REM_DESCRIBE: an array of pointers to a struct. */
#define REM_POINTERS_TO(type, member, to) REM_ARRAY_(type, member, REM_POINTER, #to)
/** An entry of the array for REM_DESCRIBE: a struct within the struct. */
#define REM_STRUCT_OF(type, member, of) REM_MEMBER_(type, member, REM_STRUCT, sizeof(of), 0, #of)
/** An entry of the array for REM_DESCRIBE: an array of structs. */
#define REM_STRUCTS_OF(type, member, of) REM_ARRAY_(type, member, REM_STRUCT, #of)
#define REM_MEMBER_(type, member, kind, size, count, of)                                                               \
    {#member, (kind), offsetof(type, member), (size), (count), (of)}
#define REM_ARRAY_(type, member, kind, of)                                                                             \
    REM_MEMBER_(type, member, kind, sizeof(REM_NONE_(type)->member[0]),                                                \
                sizeof(REM_NONE_(type)->member) / sizeof(REM_NONE_(type)->member[0]), of)
/* Finds the kind of a number by the values that one half, two and minus one have in its type. */
#define REM_KIND_(of)                                                                                                  \
    (REM_AS_NUMBER_(of, 1) / 2 != 0                   ? REM_FLOATING                                                   \
     : REM_AS_NUMBER_(of, 2) == REM_AS_NUMBER_(of, 1) ? REM_BOOLEAN                                                    \
     : REM_AS_NUMBER_(of, -1) < REM_AS_NUMBER_(of, 1) ? REM_SIGNED                                                     \
                                                      : REM_UNSIGNED)

/** A member that has another name now. */
typedef struct rem_renamed_member {
    const char* type;     /**< its struct, such as "struct account" */
    const char* old_name; /**< the stored name */
    const char* new_name; /**< the present name */
} rem_renamed_member;
/** How rem_migrate() converts a root. */
typedef struct rem_migration {
    size_t size;                       /**< sizeof(rem_migration) */
    const rem_renamed_member* renamed; /**< members with new names; may be NULL if there are none */
    size_t renamed_count;              /**< number of `renamed` */
    /** Members whose values may be lost: "year" of any struct, or "book.year". */
    const char* const* dropped;
    size_t dropped_count; /**< number of `dropped` */
} rem_migration;
/**
 * Converts a root whose struct was described differently when an earlier release of the program set it, to the struct
 * that is described now. Call it before the program asks for the root, which would fail with REM_TYPE_MISMATCH. Members
 * are matched by name. New ones become zero; those that are gone must be zero everywhere or named in `dropped`; numbers
 * may become wider. Nothing happens when there is no such root, or when it has the present type already.
 *
 * The migration is one atomic commit; if it fails, the heap is as before. Pointers in the objects that the root leads
 * to stay correct. The library does not know the pointers in roots that are not described, and does not correct them.
 * The history of undo begins anew with that commit, except for kept versions.
 *
 * REM_TYPE_MISMATCH for any other change, with all changes in rem_last_error(); REM_NOT_SUPPORTED when the heap does
 * not store what type the root had; REM_SECTION_OPEN and the like as rem_write_begin(). O(objects).
 */
rem_status rem_migrate(rem_heap* heap, const char* root, const char* type, const rem_migration* how);

/* ---- Roots ---- */

/**
 * Sets a root: a name for an address, from which everything else is reached. Only roots can be found again by name.
 * Setting a root changes one word. It is part of the surrounding write section; outside of write sections, in a
 * transactional heap, this call commits. The root has no type: `rem ls` shows a "C block". REM_INVALID_ARGUMENT when
 * the address is in no block of this heap; REM_TYPE_MISMATCH for a root of a C++ program. A volatile heap has roots,
 * too, for rem_save_as().
 */
rem_status rem_root_set(rem_heap* heap, const char* name, const void* object);
/** Sets a root with a type: rem_root_get_as() must then ask for the same name and size. Otherwise as rem_root_set(). */
rem_status rem_root_set_as(rem_heap* heap, const char* name, const void* object, const char* type, size_t size);
/**
 * Returns the address of a root that a C program has set, with any type. NULL on failure: REM_NOT_FOUND when there is
 * no such root; REM_TYPE_MISMATCH for a root of a C++ program (C++ also refuses roots of C programs).
 */
void* rem_root_get(rem_heap* heap, const char* name);
/**
 * Returns the address of a root. REM_TYPE_MISMATCH when the root was set with another type or size, for instance
 * because the struct has grown. Otherwise as rem_root_get().
 */
void* rem_root_get_as(rem_heap* heap, const char* name, const char* type, size_t size);
/** Sets a root with a type, such as `struct account`: see rem_root_set_as(). */
#define REM_ROOT_SET(heap, name, object, type) rem_root_set_as((heap), (name), (object), #type, sizeof(type))
/** Returns a root as a pointer to the type: REM_ROOT_GET(heap, "first", struct account). See rem_root_get_as(). */
#define REM_ROOT_GET(heap, name, type) REM_CAST(type*, rem_root_get_as((heap), (name), #type, sizeof(type)))
/** Removes a root's name; the block stays. REM_NOT_FOUND when there is no such root. */
rem_status rem_root_remove(rem_heap* heap, const char* name);

/** One root, for rem_roots(). */
typedef struct rem_root {
    const char* name; /**< its name */
    const char* type; /**< "C block", "C " and the type that the program stated, or a C++ type */
    void* object;     /**< its address */
    /** Size of its type; of a "C block", the bytes from there to the block's end when the root was set. */
    size_t bytes;
} rem_root;
/**
 * Calls visit() with each root, by name, until it returns false. visit() may use the heap. The texts are valid only
 * during the call.
 */
rem_status rem_roots(rem_heap* heap, bool (*visit)(void* context, const rem_root* root), void* context);

/* ---- Sections ---- */

/**
 * Begins a write section; waits for all other sections. A write section excludes all other sections, a read section
 * only write sections. A section that begins within a write section is part of that write section.
 *
 * In a transactional heap the end of the outermost write section commits. In snapshot and archive heaps a section is
 * only a lock. REM_SECTION_CONFLICT in a read section of the same thread. A thread that ends within a section leaves
 * the section open for ever.
 */
rem_status rem_write_begin(rem_heap* heap);
/**
 * Begins a write section without waiting. REM_WOULD_WAIT when it would wait, occasionally also when another thread is
 * just entering a section.
 */
rem_status rem_write_try_begin(rem_heap* heap);
/**
 * Begins a declared section. The caller promises to change only memory that it declares by rem_touch(), or allocates,
 * in the section. So the commit searches no other memory, and costs only as much as the change, in a heap of any size.
 * Other changes are not committed with it; the next commit of an ordinary section includes them.
 */
rem_status rem_write_begin_declared(rem_heap* heap);
/**
 * Ends a write section. In a transactional heap the end of the outermost one commits, with the durability that the heap
 * was opened with. While this call waits for the device, other threads may enter sections, so commits of several
 * threads share a write. If the commit fails, everything that the section did is undone, unless the heap is poisoned,
 * and the section has ended. In snapshot and archive heaps it commits nothing. REM_ROLLED_BACK when a nested section
 * was aborted; REM_NO_SECTION when the thread is in no write section; the errors of rem_commit().
 */
rem_status rem_write_end(rem_heap* heap);
/**
 * Ends a write section with a commit of this durability, in heaps of every kind. In snapshot and archive heaps memory
 * keeps its changes if the commit fails. Otherwise as rem_write_end().
 */
rem_status rem_write_end_as(rem_heap* heap, rem_durability durability);
/**
 * Ends a write section with an asynchronous commit, in heaps of every kind: see rem_commit_async().
 * REM_SECTION_CONFLICT in a nested section, which then stays open.
 */
rem_status rem_write_end_async(rem_heap* heap, uint64_t* point);
/**
 * Ends a write section and undoes it. Aborting a nested section also undoes the outermost one, whose rem_write_end()
 * then returns REM_ROLLED_BACK. In snapshot and archive heaps this returns REM_NOT_SUPPORTED and leaves the section
 * open, since it would also undo changes of other sections; rem_rollback() does that.
 */
rem_status rem_write_abort(rem_heap* heap);
/**
 * Begins a read section; waits for write sections. Within a write section, the read section is part of the write
 * section.
 */
rem_status rem_read_begin(rem_heap* heap);
/**
 * Begins a read section without waiting. REM_WOULD_WAIT when it would wait, occasionally also when another thread is
 * just entering a section.
 */
rem_status rem_read_try_begin(rem_heap* heap);
/** Ends a read section. REM_NO_SECTION when the thread is in none. */
rem_status rem_read_end(rem_heap* heap);

/* ---- Commits ---- */

/**
 * Makes every change since the last commit durable, atomically. Waits for the sections of other threads to end.
 * REM_NO_SPACE: nothing is written, memory keeps its changes, and the call may be repeated. REM_IO: the heap is
 * poisoned, and later commits return REM_POISONED until it is reopened or rebuilt. O(changed pages), plus a search of
 * resident memory unless REM_TRACK_TRAP is used.
 */
rem_status rem_commit(rem_heap* heap, rem_durability durability);
/**
 * Commits memory as it is now, without waiting for the device. Sets *point to a number for rem_point_wait() and
 * rem_point_ready(); `point` may be NULL. The commit becomes durable whether or not the program waits for it. Otherwise
 * as rem_commit().
 */
rem_status rem_commit_async(rem_heap* heap, uint64_t* point);
/**
 * Waits until an asynchronous commit is durable. REM_IO or REM_POISONED when it never will be. REM_NO_SPACE,
 * REM_CORRUPT or REM_NO_MEMORY when this commit alone has failed; the next commit then includes its changes.
 */
rem_status rem_point_wait(rem_heap* heap, uint64_t point);
/**
 * Tells without waiting whether an asynchronous commit is durable. REM_WOULD_WAIT when it is not yet; otherwise as
 * rem_point_wait().
 */
rem_status rem_point_ready(rem_heap* heap, uint64_t point);
/** Makes all earlier commits durable. If the last asynchronous commit alone has failed, returns its error. */
rem_status rem_sync(rem_heap* heap);
/**
 * Restores memory to the last commit, allocations and roots included. Pointers to blocks that were made since then
 * dangle.
 */
rem_status rem_rollback(rem_heap* heap);
/**
 * Drops all memory and reads the last commit again from file and log, as opening after a crash does. For use when a
 * rollback has failed. A poisoned heap accepts commits again afterwards. The handle, and the addresses of committed
 * blocks, stay. No other thread may use the heap meanwhile. REM_SECTION_OPEN, REM_UNLINKED, REM_INVALID_ARGUMENT (it is
 * shared): nothing was done. After any other error the heap is closed.
 */
rem_status rem_rebuild(rem_heap* heap);
/**
 * Makes a savepoint in this thread's write section: a moment to which all memory of the heap can go back, allocations
 * and roots included. It ends with the section, with a commit or rem_rollback() in that section, with
 * rem_savepoint_end(), and when the section goes back to an earlier savepoint. rem_write_abort() of a nested section
 * goes back to the last savepoint made around it, if there is one. Nothing is spilled while a savepoint is open.
 * REM_NO_SECTION; REM_EXHAUSTED when part of the changes was spilled already. O(pages that the section has written), in
 * time and memory.
 */
rem_status rem_savepoint(rem_heap* heap, uint64_t* savepoint);
/**
 * Restores memory to a savepoint, which stays open; later ones end. REM_INVALID_ARGUMENT when it has ended. Costs as
 * rem_savepoint().
 */
rem_status rem_rollback_to(rem_heap* heap, uint64_t savepoint);
/** Ends a savepoint and later ones; changes stay. Does nothing when it has ended. */
rem_status rem_savepoint_end(rem_heap* heap, uint64_t savepoint);
/**
 * Applies the redo log to the heap's file, and gives free space back. Commits begin checkpoints by themselves when they
 * are due.
 */
rem_status rem_checkpoint(rem_heap* heap);
/**
 * As rem_checkpoint(), but also makes the heap's file as short as what it holds permits. Sets *shorter, unless it is
 * NULL, to the number of bytes that are gone. REM_UNCOMMITTED; REM_NOT_SUPPORTED when processes share the heap, or with a
 * history: then nothing has changed.
 */
rem_status rem_shrink(rem_heap* heap, uint64_t* shorter);
/**
 * Moves a heap that no process has open to another address: rewrites each pointer in it, in a copy that replaces the
 * file when it is complete. `base` is the new address, a multiple of 1 GiB; NULL: a free one. Sets *now, unless `now` is
 * NULL, to the address. REM_NOT_SUPPORTED, with nothing changed, if not all pointers are known: roots must be described
 * (rem_describe()), and the heap must keep no history. REM_IN_USE, REM_NO_SPACE; otherwise as opening. O(heap).
 */
rem_status rem_relocate(const char* path, void* base, void** now);

/**
 * Counts the pages of 4 KiB that may have changed since the last commit: all that were written, and perhaps a few of
 * their neighbours. Compares nothing, so a program may call it often, to commit when there are enough; but with
 * REM_TRACK_FALLBACK it costs as much as a commit's search for changes. Waits for write sections of other threads.
 */
rem_status rem_changed_pages(rem_heap* heap, size_t* pages);
/** A stretch of memory. */
typedef struct rem_range {
    void* start;  /**< its first byte */
    size_t bytes; /**< its length */
} rem_range;
/**
 * Sets *count to the number of ranges of pages that may have changed, and writes the first `capacity` of them to
 * `ranges`, by address. `ranges` may be NULL if `capacity` is 0. Otherwise as rem_changed_pages().
 */
rem_status rem_changed_ranges(rem_heap* heap, rem_range* ranges, size_t capacity, size_t* count);

/* ---- History ---- */

/** What happens when a commit would exceed a limit of the history. */
typedef enum rem_when_full REM_AS_INT {
    REM_OLDEST_GO = 0, /**< the oldest steps are dropped */
    REM_REFUSE = 1     /**< the commit returns REM_HISTORY_FULL; nothing is written, and memory keeps its changes */
} rem_when_full;
/**
 * How much can be undone. Set `size` to sizeof(rem_history_options). A limit of 0 means no limit; if both are 0,
 * bytes_max is 64 MiB.
 */
typedef struct rem_history_options {
    size_t size;             /**< sizeof(rem_history_options) */
    size_t bytes_max;        /**< limit of all steps together: bytes that their commits changed, in words of 8 */
    size_t steps_max;        /**< limit of the number of steps */
    rem_when_full when_full; /**< what happens at a limit */
    /**
     * Keeps the history also in the file NAME-history beside the heap. The heap records this, so all later sessions
     * continue the history, after a crash too.
     */
    bool kept_over_sessions;
} rem_history_options;
/**
 * Opens the heap as rem_open() does, and from then on stores what is needed to undo each commit: in memory until the
 * heap is closed, or over sessions. Only programs that call this, or another call with a history, are linked with the
 * code of the calls below. A history that the heap records continues with the recorded limits, whatever is given here,
 * and with rem_open() too; programs without this code cannot open such a heap for writing (REM_NOT_SUPPORTED).
 * REM_INVALID_ARGUMENT with read_only.
 */
rem_status rem_open_with_history(const char* path, const rem_options* options, const rem_history_options* history,
                                 rem_heap** heap);
/**
 * Restores memory to what it was before the last `steps` steps, by an atomic commit, as durable as rem_options says.
 * Roots and allocations are restored with all else: pointers to blocks that were allocated since then dangle. Errors,
 * with memory as before: REM_NO_STEP when there are fewer steps; REM_SECTION_OPEN in a section of the thread, or while
 * a group is open; REM_UNCOMMITTED when memory has uncommitted changes; REM_INVALID_ARGUMENT when the heap was opened
 * without a history; those of rem_commit().
 */
rem_status rem_undo(rem_heap* heap, uint64_t steps);
/**
 * Restores memory to what it was before the last `steps` steps were undone. A commit after an undo begins a branch;
 * from there rem_redo() returns REM_NO_STEP, and only rem_go_to() reaches what was undone. Otherwise as rem_undo().
 */
rem_status rem_redo(rem_heap* heap, uint64_t steps);
/** Restores memory to a version that rem_history() shows. Otherwise as rem_undo(). */
rem_status rem_go_to(rem_heap* heap, uint64_t version);
/** Sets *steps to the number of steps that rem_undo() can undo; 0 without a history. */
rem_status rem_undo_depth(const rem_heap* heap, uint64_t* steps);
/** Sets *steps to the number of steps that rem_redo() can redo; 0 without a history. */
rem_status rem_redo_depth(const rem_heap* heap, uint64_t* steps);
/**
 * Begins a group: until rem_group_end(), the commits of all threads are one step of the history, with this name, which
 * may be NULL. A group within a group is part of the outer one. Without a history nothing begins. REM_SECTION_OPEN in a
 * section of the thread.
 */
rem_status rem_group_begin(rem_heap* heap, const char* name);
/** Ends a group. REM_NO_SECTION when there is none, as without a history. */
rem_status rem_group_end(rem_heap* heap);
/** One state that can be reached, with the step that led to it. */
typedef struct rem_step {
    uint64_t version; /**< version of the heap after the step */
    uint64_t parent;  /**< version of the state before it */
    bool has_parent;  /**< false for the oldest state */
    const char* name; /**< name of the step; "": none. Valid during the call */
    int64_t time;     /**< when its last commit was made, in nanoseconds since 1970 */
    uint64_t bytes;   /**< bytes that the step stores, counted as rem_history_options::bytes_max */
    bool is_present;  /**< memory is in this state */
} rem_step;
/** Calls visit() with each state that can be reached, by version, until it returns false. */
rem_status rem_history(rem_heap* heap, bool (*visit)(void* context, const rem_step* step), void* context);
/**
 * Drops all steps. What is committed stays, and so do kept versions. With kept_over_sessions this is a durable commit,
 * and may fail as rem_commit() does.
 */
rem_status rem_history_forget(rem_heap* heap);
/**
 * Returns one sentence, valid until the heap is closed, that says why a history kept over sessions has no steps of
 * earlier sessions: its file was absent, damaged, or another heap's; or, while the heap was open, the file was removed
 * or could not be renamed with the heap, so that all steps are in a new file. "": the history continues, or none is
 * kept over sessions.
 */
const char* rem_why_history_is_new(const rem_heap* heap);
/**
 * Sets new limits for the history that the heap at `path` records, from the next open on. Durable once this returns.
 * REM_NO_STEP when the heap records no history; REM_IN_USE when a process has the heap open.
 */
rem_status rem_history_set_limits(const char* path, const rem_history_options* limits);
/**
 * Ends the history that the heap at `path` records: its steps, kept versions and NAME-history are removed. Otherwise as
 * rem_history_set_limits().
 */
rem_status rem_history_end(const char* path);
/**
 * A procedure of the program. A history can store a call of it in place of the bytes that the call changes. The
 * procedure gets the parameters of rem_call(). It must only write blocks that exist, and depend on nothing but memory
 * and parameters. Any status but REM_OK means that it has failed; memory is then restored.
 */
typedef rem_status (*rem_procedure_function)(rem_heap* heap, const void* parameters, size_t bytes, void* context);
/** A procedure with its name and inverse. */
typedef struct rem_procedure {
    const char* name;            /**< the name for rem_call() */
    rem_procedure_function call; /**< the procedure */
    /** Restores what `call` changed, exactly or nearly; NULL: the history stores the changed bytes. */
    rem_procedure_function inverse;
    void* context; /**< passed to both */
} rem_procedure;
/** Opens the heap as rem_open_with_history() does, with these procedures, which the heap knows until it is closed. */
rem_status rem_open_with_procedures(const char* path, const rem_options* options, const rem_history_options* history,
                                    const rem_procedure* procedures, size_t count, rem_heap** heap);
/**
 * Runs a procedure in a write section of its own and commits. The commit is a step of the history with the procedure's
 * name. If the call is smaller than what it changes, the step stores the call: rem_undo() then calls the inverse, and
 * rem_redo() the procedure. The step stores the changed bytes, as other steps do, in each of these cases: the procedure
 * has no inverse; it allocates or frees; memory had uncommitted changes; versions are kept. When an earlier step is
 * then undone, it restores the bytes that it stores, and all others stay as the inverse left them.
 *
 * Returns what the procedure returns. REM_NO_PROCEDURE when no procedure has this name; REM_SECTION_OPEN in a section
 * of the thread, and when the procedure leaves a section open, which is rolled back with all else. rem_undo() and its
 * like return REM_NO_PROCEDURE also when the inverse is missing, or commits, rolls back, allocates or frees.
 */
rem_status rem_call(rem_heap* heap, const char* name, const void* parameters, size_t bytes);
/**
 * Combines the last `steps` steps into one, which rem_undo() undoes at once. REM_NO_STEP when there are fewer steps;
 * REM_INVALID_ARGUMENT when a version among them is kept, or another branch begins there.
 */
rem_status rem_squash(rem_heap* heap, uint64_t steps);
/**
 * Keeps the version of the last commit under the name `name`, whatever the limits of the history, and sets *version to
 * its number. The kept version stores only what has changed since, each byte once. REM_EXISTS when another version has
 * this name, or the version is kept under another name.
 */
rem_status rem_keep(rem_heap* heap, const char* name, uint64_t* version);
/** A version that is kept. */
typedef struct rem_kept_version {
    uint64_t version; /**< number of the version */
    uint64_t parent;  /**< the kept version before it */
    bool has_parent;  /**< false: no kept version is before it */
    const char* name; /**< its name. Valid during the call */
    int64_t time;     /**< when its last commit was made, in nanoseconds since 1970 */
    uint64_t bytes;   /**< bytes that have changed between it and the next state */
    bool is_present;  /**< memory is in this state */
} rem_kept_version;
/** Calls visit() with each kept version, by number, until it returns false. */
rem_status rem_versions(rem_heap* heap, bool (*visit)(void* context, const rem_kept_version* version), void* context);
/** Sets *version to the number of the version that is kept under the name `name`. REM_NO_STEP when there is none. */
rem_status rem_find_version(rem_heap* heap, const char* name, uint64_t* version);
/** Restores memory to a kept version, by a commit, as rem_go_to() does. REM_NO_STEP when the version is not kept. */
rem_status rem_restore(rem_heap* heap, uint64_t version);
/**
 * Ends the keeping of a version. The version is then an ordinary step again, which the limits may drop. REM_NO_STEP
 * when it is not kept.
 */
rem_status rem_drop(rem_heap* heap, uint64_t version);
/**
 * Makes a separate heap at `path` from a version that is kept or that rem_history() shows. The new file appears
 * complete and durable, or not at all. REM_EXISTS when there is a file. O(file).
 */
rem_status rem_branch(rem_heap* heap, uint64_t version, const char* path);
/**
 * Opens a version of a history that is kept over sessions (rem_history_options::kept_over_sessions) read-only, in place
 * of the last commit: by its number, or by the name under which it is kept if `name` is not NULL. Later changes are
 * undone in this process's memory only. While another process has the heap open for writing, or several share it, the
 * last commit is copied to memory first. The version stays what it is, whatever happens to the heap, and does not
 * prevent other opens.
 *
 * REM_NO_STEP, with a message that says which versions exist, when the heap has no such version or no history;
 * REM_NO_SPACE when the copy takes more memory than the process may use. O(steps since the version, and bytes that
 * they changed); with the copy also O(pages in use).
 */
rem_status rem_open_version(const char* path, const rem_options* options, uint64_t version, const char* name,
                            rem_heap** heap);
/** What a rem_difference is about. */
typedef enum rem_difference_kind REM_AS_INT {
    REM_RANGE_DIFFERS = 0, /**< bytes of the heap, in words of 8 */
    REM_BLOCK_DIFFERS = 1, /**< allocated memory */
    REM_ROOT_DIFFERS = 2,  /**< a root, or something that it leads to */
    REM_MEMBER_DIFFERS = 3 /**< a part of a root that has a schema */
} rem_difference_kind;
/** How something differs in the second version. */
typedef enum rem_change REM_AS_INT {
    REM_ADDED = 0,   /**< only the second version has it */
    REM_REMOVED = 1, /**< only the first version has it */
    REM_CHANGED = 2  /**< both have it, and it differs */
} rem_change;
/**
 * One difference between two versions. Texts are valid only during the call of visit(); a text that does not apply to
 * the kind is "".
 */
typedef struct rem_difference {
    rem_difference_kind kind; /**< what it is about */
    rem_change how;           /**< how it differs; REM_CHANGED for a range */
    uint64_t offset;          /**< offset of a range or block, from the heap's base */
    uint64_t bytes;           /**< length of a range or block */
    const char* name;         /**< name of a root; for a block, of a root that leads to it; for a member, its path */
    const char* type;         /**< type of a root */
    const char* before;       /**< value of a member in the first version, as JSON */
    const char* after;        /**< value of a member in the second version, as JSON */
} rem_difference;
/**
 * Calls visit() with each difference between two versions that are kept or that rem_history() shows, until it returns
 * false.
 */
rem_status rem_diff(rem_heap* heap, uint64_t before, uint64_t after,
                    bool (*visit)(void* context, const rem_difference* difference), void* context);

/* ---- The portable form ---- */

/**
 * Passes the objects of a root, or of all roots (NULL), to put() in the portable form (docs/reference/dump.md), in
 * pieces of whole lines. If put() returns false, the dump stops with REM_IO. Runs in a read section, and writes what
 * memory holds. Undescribed roots of C programs are listed without their objects.
 *
 * REM_NOT_FOUND when there is no such root. REM_NOT_SUPPORTED, before put() is called, when a pointer may lead to
 * several objects or to a part of one that no schema knows, or objects are nested too deeply. REM_CORRUPT when an
 * object does not match its schema.
 */
rem_status rem_dump(rem_heap* heap, const char* root, bool (*put)(void* context, const char* text, size_t bytes),
                    void* context);
/**
 * Makes the roots of a dump, in one atomic commit, or as a part of the surrounding write section. read() puts up to
 * `bytes` bytes into `into` and returns how many; 0 at the end. Errors, with the heap as before: REM_EXISTS when it has
 * such a root; REM_INVALID_ARGUMENT, with the line, when the input is no dump, or incomplete; REM_NOT_SUPPORTED for a
 * type that only a program can make.
 */
rem_status rem_load(rem_heap* heap, size_t (*read)(void* context, char* into, size_t bytes), void* context);

/* ---- Sharing ---- */

/**
 * Opens the heap as rem_open() does, for any number of processes at once, all of which must open it in this way: an
 * exclusive open returns REM_IN_USE. One process writes at a time. The others read the version that was newest when
 * their section began, and wait for no writer.
 *
 * Change memory in write sections, and read it in sections; outside of sections it shows no particular version. After
 * changes outside of write sections, the next call that begins a write section undoes these changes and returns
 * REM_OUTSIDE_SECTION. Commits return REM_READERS_BEHIND while old versions are read for so long that the redo log
 * cannot be reused. The heap is transactional: REM_INVALID_ARGUMENT for another kind. docs/guide/processes.md has the
 * rules, and what happens when processes die.
 */
rem_status rem_open_shared(const char* path, const rem_options* options, rem_heap** heap);
/**
 * Opens a shared heap with one history for all processes: each can undo and redo what any of them has committed, those
 * that used rem_open_shared() included. The history must be kept_over_sessions, and cannot begin while other processes
 * have the heap open without a history (REM_INVALID_ARGUMENT). Otherwise as rem_open_shared().
 */
rem_status rem_open_shared_with_history(const char* path, const rem_options* options,
                                        const rem_history_options* history, rem_heap** heap);
/**
 * Begins a write section, in any heap, as rem_write_begin(), but waits at most `longest_ms` milliseconds for the
 * sections of other threads and processes; 0 means that it does not wait. REM_WOULD_WAIT when that is not long enough.
 */
rem_status rem_write_begin_within(rem_heap* heap, unsigned longest_ms);

/** How rem_lock() locks. */
typedef enum rem_lock_mode REM_AS_INT {
    REM_LOCK_SHARED = 1,   /**< as a read section: beside other shared locks */
    REM_LOCK_EXCLUSIVE = 2 /**< as a write section: alone; its end commits */
} rem_lock_mode;
/**
 * Locks a transactional heap until the matching rem_unlock() of the same thread; waits at most `longest_ms` milliseconds.
 * Locks nest like a stack. A shared lock inside an exclusive one is part of it. An exclusive lock inside a shared one is
 * granted at once, or not at all (REM_SECTION_CONFLICT): no other thread may be in a section, no other process in a write
 * section, and none may have committed since the shared lock began. REM_IN_USE after that time; the message names the
 * process that holds the lock, and the other heaps that this thread has locked. REM_READ_ONLY; REM_NOT_SUPPORTED for
 * snapshot and archive heaps.
 */
rem_status rem_lock(rem_heap* heap, rem_lock_mode mode, unsigned longest_ms);
/**
 * Ends this thread's last rem_lock(). The end of the outermost exclusive lock commits, with the durability that the heap
 * was opened with. If the commit fails, its error is returned, and what was done under the lock is undone, unless the heap
 * is poisoned; the lock has ended. REM_SECTION_CONFLICT when the thread has no such lock; the errors of rem_commit().
 */
rem_status rem_unlock(rem_heap* heap);

/* The following calls are for shared heaps; for others they return REM_INVALID_ARGUMENT. */

/**
 * Sets *descriptor to a descriptor for poll(), select() or epoll. It is readable while another process has made a commit
 * that this process has not seen; the next section of any thread here sees it. Do not read from it or close it: it is
 * closed with the heap. The first call starts a thread. REM_NO_SPACE when no descriptor is left; REM_NO_MEMORY.
 */
rem_status rem_poll_descriptor(rem_heap* heap, int* descriptor);

/**
 * Waits until this process can see a commit with at least this version number, made by any process. REM_WOULD_WAIT when
 * that takes longer than `longest_ms` milliseconds; REM_INVALID_ARGUMENT for a heap that is not shared.
 */
rem_status rem_wait_for_version(rem_heap* heap, uint64_t version, unsigned longest_ms);
/** A process in a section. */
typedef struct rem_participant {
    int process;         /**< process number, in its own PID namespace */
    int thread;          /**< number of the thread that began the section, in that namespace */
    const char* program; /**< as the system names it; "": the system does not tell. Valid during the call */
    int64_t since;       /**< when the section began, in nanoseconds since 1970 */
    uint64_t version;    /**< the version that the process sees; 0 for a writer */
} rem_participant;
/**
 * Calls visit() with each process in a read section, the one with the oldest version first, until it returns false.
 * REM_INVALID_ARGUMENT for a heap that is not shared.
 */
rem_status rem_readers(rem_heap* heap, bool (*visit)(void* context, const rem_participant* who), void* context);
/**
 * Calls visit() with the process in a write section, if there is one. A caller that waits long for the writer lock can
 * thus report who holds the lock. REM_INVALID_ARGUMENT for a heap that is not shared.
 */
rem_status rem_writer(rem_heap* heap, bool (*visit)(void* context, const rem_participant* who), void* context);

/* ---- Looking ---- */

/**
 * From now on, `bytes` of the heap may be resident in this process when a section ends; at least 1 MiB, or 0 for no limit.
 * If more are resident, committed pages are evicted until 7/8 of the limit are left, and read from the file when they are
 * used again. What the file lacks stays: uncommitted changes, and changes that no checkpoint has written yet; these make a
 * checkpoint due with the next commit if they take a quarter of the limit. REM_INVALID_ARGUMENT.
 */
rem_status rem_limit_memory(rem_heap* heap, size_t bytes);

/**
 * Counters since the heap was opened, and gauges (present values). Set `size` to sizeof(rem_stats); the library writes
 * nothing beyond that size.
 */
typedef struct rem_stats {
    size_t size;                 /**< sizeof(rem_stats) */
    uint64_t commits;            /**< commits that wrote a record */
    uint64_t checkpoints;        /**< finished checkpoints */
    uint64_t changed_bytes;      /**< changed bytes that commits found */
    uint64_t logged_bytes;       /**< bytes of records written to the redo log */
    uint64_t image_bytes;        /**< bytes of pages written to the heap's file */
    uint64_t spilled_bytes;      /**< part of image_bytes, written before the commit */
    uint64_t written_bytes;      /**< all bytes written to the heap file and the redo log */
    uint64_t syncs;              /**< waits for the device */
    uint64_t commit_ns_median;   /**< median duration of a commit, in nanoseconds */
    uint64_t commit_ns_99;       /**< duration that 99 of 100 commits did not exceed */
    uint64_t commit_ns_max;      /**< longest duration of a commit */
    uint64_t log_used_bytes;     /**< gauge: records not yet applied */
    uint64_t log_limit_bytes;    /**< log length at which a commit begins a checkpoint */
    uint64_t before_image_bytes; /**< gauge: memory held for committed content that is not in the file yet */
    uint64_t heap_bytes;         /**< gauge: length of the committed heap */
    uint64_t allocated_bytes;    /**< gauge: bytes in live blocks */
    uint64_t recovered_commits;  /**< commits that the open recovered */
    uint64_t recovered_bytes;    /**< size of the log records of these commits */
    uint64_t open_ns;            /**< duration of the open, recovery included */
    char tracker[16];            /**< "scan", "trap", "fallback"; "none" when read-only */
    /** Set this, with `size`, to have the next two members computed, in O(blocks); otherwise they are 0. */
    bool surveys;
    /** How well free memory serves requests, as a share of how well it would in one piece; 1: nothing is free. */
    double availability;
    /** Bytes of blocks as a share of the pages that they, and the allocator's tables, are on. */
    double page_efficiency;
    /** For how long commits waited for earlier asynchronous ones that were not in the log yet, in nanoseconds. */
    uint64_t point_wait_ns;
    /* The next two are 0 while neither the heap nor an arena of it has a limit of resident memory. */
    uint64_t resident_bytes; /**< gauge: bytes of the heap's memory that are resident in this process */
    uint64_t dirty_bytes;    /**< part of resident_bytes, in pages that were written and not evicted since */
    uint64_t evicted_bytes;  /**< bytes evicted since the heap was opened, to keep within limits */
} rem_stats;
/**
 * Fills *stats. O(1), or O(blocks) with rem_stats::surveys, and O(pages of the heap) with a limit of resident memory.
 */
rem_status rem_get_stats(const rem_heap* heap, rem_stats* stats);

/** What rem_verify() has compared. Set `size` to sizeof(rem_report). */
typedef struct rem_report {
    size_t size;                  /**< sizeof(rem_report) */
    uint64_t pages_checked;       /**< pages of the file compared with their checksums */
    uint64_t log_records_checked; /**< records of the redo log */
    uint64_t blocks_checked;      /**< blocks of the allocator */
    uint64_t problems;            /**< number of problems found */
} rem_report;
/**
 * Reads everything and reports what is wrong: checksums of pages, log, allocator, roots. Returns REM_CORRUPT when
 * something is wrong: rem_last_error() then gives the first problem with its offset in the file, and problem(), which
 * may be NULL, is called with each (offset UINT64_MAX: none). `report` may be NULL. O(heap).
 */
rem_status rem_verify(const rem_heap* heap, rem_report* report,
                      void (*problem)(void* context, const char* what, uint64_t offset), void* context);
/**
 * Finds the blocks that no root reaches, and passes them to `found`, once; frees nothing. With rem_options::leak_frames
 * it also says where they were allocated. It looks at memory as it is, uncommitted changes included. Blocks that only
 * packed, tagged or unaligned pointers, or addresses in numbers or bytes, lead to are reported. In structs that were not described, and behind pointers to
 * arrays, each aligned word counts as a pointer if its value leads into a block, so a few blocks may be missing.
 * REM_CORRUPT when the roots are damaged. O(heap).
 */
rem_status rem_find_leaks(const rem_heap* heap, void (*found)(void* context, const rem_leaks* leaks), void* context);
/**
 * Frees the blocks that rem_find_leaks() finds, in a write section that commits, and passes what it has freed to
 * `freed`, once; it may be NULL. What only a variable of a program points at is freed, too. REM_NOT_SUPPORTED, with
 * nothing freed, if a root can lead to objects whose members are not described, so that a pointer might be missed.
 * O(heap).
 */
rem_status rem_collect(rem_heap* heap, void (*freed)(void* context, const rem_leaks* leaks), void* context);

#ifdef __cplusplus
}
#endif

#endif
