/*
 * softpm.h: persistent memory for programs in C.
 *
 * A container is a file that keeps everything that can be reached from one struct. The program is compiled with remcc,
 * which finds the pointers; otherwise the program does not change:
 *
 *     struct state { struct node* first; long count; } *state;
 *
 *     int id = pCRestore(1, (void**)&state);              // the memory of an earlier process, as of its last point
 *     if (id < 0)
 *         id = pCAlloc(1, sizeof *state, (void**)&state); // or a new struct, zeroed
 *     ...
 *     pPoint(id);                                         // a later restore returns to this moment
 *     pSync(id);                                          // now it is on the device
 *
 * remcc(1) describes the command line. docs/guide/unmodified-c.md explains what is kept, what is not, and what to
 * avoid.
 *
 * Results. A call that fails returns -1 or NULL; pStatus() then says why. After a point that fails, the file still has
 * the point before.
 *
 * Threads. Any thread may call any function. A point stops all other threads while it searches for changes. It takes
 * memory as it is: a program whose threads change a structure under a lock must hold that lock when it takes a point.
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
#define P_LAZY 1    /* the operating system: it survives the process; on the device within 200 ms */
#define P_NONE 2    /* nothing: lost if the process dies, unless another commit, or 1 MiB of them, has followed */

/* Zero is the default of each member. */
struct cattr {
    int synchronous; /* pPoint() waits as pSync() does */
    int durability;  /* P_... of synchronous points; asynchronous ones become durable without a wait */
    size_t
        chunk_bytes; /* new containers: unit of placement in the file, a power of two from 64 KiB to 4 MiB; 0: 256 KiB */
    const char*
        directory;    /* of the containers' files; NULL: the working directory. The files are named softpm-MAGIC.rem */
    int versions_max; /* that pVersion() keeps; it removes older ones. 0: all stay */
    /* Points store the names of functions and variables that pointers lead to. So a new build of the program can restore:
       it finds them by name (static ones, too), and texts by their characters. Without this, its restore is an error.
       Equal names must have the same meaning. */
    int symbol_names;
};

/*
 * Makes a container, and in it a struct of so many zero bytes, from which everything is reached. Returns the
 * container's number. `magic` names the container in its directory. An existing container of this name is an error; if
 * this thread has tried to restore it, the error says why that failed. From now on the program allocates in the
 * container. Durable once this returns.
 */
int pCAlloc(int magic, int cSSize, void** cStruct);
/*
 * Restores the container of an earlier process, as of its last point. Returns its number; -1 if there is none. Pointers
 * to kept blocks, to functions and to variables are valid. Pointers to a stack, to a file, or to an object of a library
 * that was not compiled with remcc are NULL; pStatus() counts them. Locks are unlocked. From now on the program
 * allocates in the container.
 */
int pCRestore(int magic, void** cStruct);
/* Does the same; an error also if the size of the struct differs from that of *cStruct. */
#define pCRestoreAs(magic, cStruct) softpm_restore((magic), (void**)(cStruct), sizeof **(cStruct))
int softpm_restore(int magic, void** cStruct, size_t cSSize);

/* Sets attributes. Those of container 0 are the defaults for containers that are made or restored later. The directory
   and the chunk size of an existing container never change. */
int pCSetAttr(int cID, const struct cattr* attr);
/* Returns the attributes, valid until the next call with this container; NULL if there is no such container. */
struct cattr* pCGetAttr(int cID);

/*
 * Takes a persistence point: a restore finds everything that the container's struct reaches now. A thread of the
 * library writes it to the file. This call does not wait for that thread or for the device, unless the container is
 * synchronous. So the point may be lost if the process is killed before pSync() returns. Points become durable in their
 * order. In a child of fork(): an error.
 */
int pPoint(int cID);
/* Waits until all points so far are on the device. */
int pSync(int cID);
/* Removes the container from memory; its file stays as of the last point. Pointers into it become invalid; free()
   ignores them. */
int pCFree(int cID);
/* Does the same, and removes the file and all its versions. In a child of fork(): an error. */
int pCDelete(int cID);
/* Excludes a block of the container: it is not kept, and pointers to it are NULL after a restore. */
int pExclude(int cID, void* ptr);

/*
 * Adds a variable to the container: each point keeps its bytes and everything that they reach. In a restored container,
 * the call sets the variable to the value of the last point. Variables are identified by the order of the calls, and
 * must have the same sizes as before.
 */
int pGlobal(int cID, void* variable, size_t bytes);
/*
 * Takes a point and keeps it as a version, in a file of its own (softpm-MAGIC.version-NUMBER.rem). Returns its number,
 * from 1. Point and version are durable once this returns. O(memory in use); threads are stopped while memory is
 * copied.
 */
int pVersion(int cID);
/*
 * Does the same as pCRestore(), but memory is as of this version. The container's file does not change until the next
 * point, which replaces its contents atomically. Then everything after the version is lost, unless it was kept as a
 * version, too. Returns -1 if there is no such version.
 */
int pCRestoreVersion(int magic, int version, void** cStruct);

/*
 * Writes a table of what the container keeps, and by which paths it is reached, to this file, or to standard error
 * (NULL). Use it to find blocks that are kept by mistake. Blocks of the same size that are reached by the same offsets
 * are one line. "struct > +8 > +16 (on by +0)" leads from the struct's word at byte 8 to a block, from its word at 16
 * to another block, and from there, by words at 0, to more of the same size. Other threads are stopped meanwhile. In a
 * child of fork(): an error.
 */
int pReport(int cID, const char* file);
/*
 * For programs that manage memory themselves, in their own mappings or arrays. `find` returns true if one of their
 * blocks in use contains this address, and sets its beginning and its size; blocks must begin at a multiple of 8. Such
 * blocks are kept like those that were allocated before the container: points copy them, and after a restore they are
 * blocks of malloc(). `find` runs while all other threads are stopped, so it must not take locks or allocate. Up to 16.
 */
int pRegisterAllocator(int (*find)(const void* address, void** begin, size_t* bytes));
/* Sets a function that is called after each restore of a container, to open files or the like again. Up to 32. */
int pOnRestore(void (*callback)(int cID));

/* Returns why this thread's last call failed; after a restore, which pointers became NULL. "": there is nothing to say.
   Valid until the thread's next call. */
const char* pStatus(void);

/* Hints for words where the compiler cannot know if they hold a pointer: because the word is composed of parts, or
   written by assembly. A hint is valid until the next store to the word. */
void rem_pointer(void* word);
void rem_not_pointer(void* word);

#ifdef __cplusplus
}
#endif

#endif
