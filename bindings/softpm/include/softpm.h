/*
 * softpm.h: persistent memory for programs in C.
 *
 * A container is a file that keeps everything that can be reached from one struct. The program is compiled with remcc,
 * which finds the pointers; otherwise the program does not change:
 *
 *     struct state { struct node* first; long count; } *state;
 *
 *     int id = pCRestore(1, (void**)&state);              // restores the memory of an earlier process
 *     if (id < 0)
 *         id = pCAlloc(1, sizeof *state, (void**)&state); // or makes a new struct of zeros
 *     ...
 *     pPoint(id);                                         // a later restore returns to this moment
 *     pSync(id);                                          // waits until it is on the device
 *
 * remcc(1) describes the command line. docs/guide/unmodified-c.md explains what is kept, what is not, and what to
 * avoid.
 *
 * Results. A call that fails returns -1 or NULL; pStatus() then says why. If a point fails, the file still contains the
 * point before it.
 *
 * Threads. Any thread may call any function. A point stops all other threads while it searches for changes. It stores
 * memory as it is at that moment: if threads change a structure under a lock, hold that lock when you take a point.
 */
#ifndef REMANENCE_SOFTPM_H
#define REMANENCE_SOFTPM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a commit waits for; the same as in remanence.h. */
#define P_DURABLE 0 /* the device */
#define P_LAZY 1    /* the operating system: survives the process, and reaches the device within 200 ms */
#define P_NONE 2    /* nothing: lost if the process dies, unless another commit, or 1 MiB of them, has followed */

/* Zero is the default of each member. */
struct cattr {
    int synchronous; /* pPoint() waits as pSync() does */
    /* What a point waits for (P_...). With P_DURABLE, a thread of the library waits instead, unless `synchronous` is
       set. */
    int durability;
    /* For new containers: unit of placement in the file, a power of two from 64 KiB to 4 MiB. 0 means 256 KiB. */
    size_t chunk_bytes;
    /* The directory of the containers' files, which are named softpm-MAGIC.rem. NULL means the working directory. */
    const char* directory;
    int versions_max; /* how many versions pVersion() keeps; it removes older ones. 0 means all */
    /* If set, points store the names of the functions and variables at which pointers point. So a new build of the
       program can restore: it finds these by name (static ones, too), and texts by their characters. Otherwise its
       restore fails. Equal names must have the same meaning in both builds. */
    int symbol_names;
};

/*
 * Makes a container, and in it a struct of so many zero bytes, from which everything is reached. Returns the
 * container's number. `magic` names the container in its directory. If there is a container of this name already, the
 * call fails; if this thread has tried to restore that one, pStatus() says why the restore failed. From now on, the
 * program allocates in the new container, which is durable once this returns.
 */
int pCAlloc(int magic, int cSSize, void** cStruct);
/*
 * Restores the container of an earlier process, as of its last point. Returns its number; -1 if there is no such
 * container. Pointers to kept blocks, to functions and to variables are valid. Pointers to a stack, to a file, or to an
 * object of a library that was not compiled with remcc are NULL; pStatus() says how many there are. Locks are unlocked.
 * From now on, the program allocates in the container.
 */
int pCRestore(int magic, void** cStruct);
/* Does the same as pCRestore(), but also fails if the size of the stored struct differs from that of *cStruct. */
#define pCRestoreAs(magic, cStruct) softpm_restore((magic), (void**)(cStruct), sizeof **(cStruct))
int softpm_restore(int magic, void** cStruct, size_t cSSize);

/* Sets attributes. The attributes of container 0 are the defaults for containers that are made or restored later. The
   directory and the chunk size of an existing container never change. */
int pCSetAttr(int cID, const struct cattr* attr);
/* Returns the attributes, valid until the next call with this container; NULL if there is no such container. */
struct cattr* pCGetAttr(int cID);

/*
 * Takes a persistence point: a later restore finds everything that the container's struct reaches now. A thread of the
 * library writes the point to the file. Unless the container is synchronous, this call waits neither for that thread
 * nor for the device, so the point may be lost if the process is killed before pSync() returns. Points become durable
 * in their order. Fails in a child of fork().
 */
int pPoint(int cID);
/* Waits until all points taken so far are on the device. */
int pSync(int cID);
/* Removes the container from memory. Its file stays, as of the last point. Pointers into the container become invalid;
   free() ignores them. */
int pCFree(int cID);
/* Does the same as pCFree(), and removes the file and all its versions. Fails in a child of fork(). */
int pCDelete(int cID);
/* Excludes a block of the container: points do not store the block, and pointers to it are NULL after a restore. */
int pExclude(int cID, void* ptr);

/*
 * Adds a variable to the container: each point stores the variable's bytes and everything that they reach. In a
 * restored container, the call sets the variable to its value as of the last point. Variables are identified by the
 * order of the calls, and must have the same sizes as before.
 */
int pGlobal(int cID, void* variable, size_t bytes);
/*
 * Takes a point, and keeps a version of it in a separate file (softpm-MAGIC.version-NUMBER.rem). Returns the version's
 * number; the first is 1. Point and version are durable once this returns. O(memory in use). Other threads are stopped
 * while memory is copied.
 */
int pVersion(int cID);
/*
 * Does the same as pCRestore(), but restores this version. The container's file does not change until the next point,
 * which replaces the file's contents atomically. With that, all points after the version are lost, except those that
 * are kept as versions, too. Returns -1 if there is no such version.
 */
int pCRestoreVersion(int magic, int version, void** cStruct);

/*
 * Writes a table of the blocks that the container keeps, and of the paths by which they are reached. Writes it to this
 * file, or to standard error if `file` is NULL. Use it to find blocks that are kept by mistake. Blocks of the same size
 * that are reached by the same offsets are one line. The path "struct > +8 > +16 (on by +0)" leads from the word at
 * byte 8 of the struct to a block, from the word at byte 16 of that block to another, and from there, by the words at
 * byte 0, to more blocks of the same size. Other threads are stopped during the search. Fails in a child of fork().
 */
int pReport(int cID, const char* file);
/*
 * For programs that manage memory themselves, in their own mappings or arrays. If one of their blocks in use contains
 * this address, `find` must return true, and set the block's beginning and size. Blocks must begin at a multiple of 8.
 * They are kept like blocks that were allocated before the container: points copy them, and after a restore they are
 * blocks of malloc(). `find` runs while all other threads are stopped, so it must neither acquire locks nor allocate. A
 * program may register 16 such functions.
 */
int pRegisterAllocator(int (*find)(const void* address, void** begin, size_t* bytes));
/* Adds a function that is called after each restore of a container, for example to open files again. A program may add
   32 of them. */
int pOnRestore(void (*callback)(int cID));

/* Returns why this thread's last call failed; after a restore, which pointers became NULL; otherwise an empty text.
   Valid until the thread's next call. */
const char* pStatus(void);

/* Hints for words of which the compiler cannot know whether they hold a pointer, because they are composed of parts or
   written by assembly. A hint is valid until the next store to the word. */
void rem_pointer(void* word);
void rem_not_pointer(void* word);

#ifdef __cplusplus
}
#endif

#endif
