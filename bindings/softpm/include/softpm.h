/*
 * softpm.h: programs in C that keep their memory.
 *
 * A container is a file that keeps everything that can be reached from one struct. The program is compiled with remcc, which
 * finds the pointers, and is otherwise as it was:
 *
 *     struct state { struct node* first; long count; } *state;
 *
 *     int id = pCRestore(1, (void**)&state);              // of an earlier process: all that could be reached, at its last point
 *     if (id < 0)
 *         id = pCAlloc(1, sizeof *state, (void**)&state); // or a new one, zeroed
 *     ...
 *     pPoint(id);                                         // from here on a restore finds this moment
 *     pSync(id);                                          // and here it is on the device
 *
 * remcc(1) has the command line, docs/guide/unmodified-c.md the whole story: what is kept, what is not, and what to look out for.
 *
 * Results. A call that fails returns -1, or NULL; pStatus() then says why. A point that fails leaves the one before it in the file.
 *
 * Threads. Any thread may call any function. A point stops the others for the moment in which it looks at what has changed. It takes
 * memory as it is: programs whose threads change a structure under a lock take points with this lock held.
 */
#ifndef REMANENCE_SOFTPM_H
#define REMANENCE_SOFTPM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a commit waits for: as in remanence.h. */
#define P_DURABLE 0 /* the device */
#define P_LAZY 1    /* the operating system: it survives the process; on the device within 200 ms */
#define P_NONE 2    /* nothing: lost with the process, unless more follows */

/* Zero is the default of each member. */
struct cattr {
    int synchronous; /* pPoint() waits as pSync() does */
    int durability;  /* P_... of synchronous points; asynchronous ones become durable by themselves */
    size_t
        chunk_bytes; /* new containers: unit of placement in the file, a power of two from 64 KiB to 4 MiB; 0: 256 KiB */
    const char*
        directory; /* where files of containers lie; NULL: where the program runs. They are called softpm-MAGIC.rem */
    int versions_max; /* that pVersion() keeps: older ones are removed. 0: all stay */
    int symbol_names; /* points store names of what pointers to code and variables lead to, and a restore by a program that was built anew finds these
                         by name (static ones, too), and texts by their characters, instead of being an error. What it finds must mean the same. */
};

/*
 * Makes a container and a struct of so many zero bytes in it, from which everything is reached. Returns its number. `magic` names it
 * in its directory: one that is there already is an error, which says why this thread could not restore it, if it tried. From now on the
 * program allocates in it. Durable once this returns.
 */
int pCAlloc(int magic, int cSSize, void** cStruct);
/*
 * Finds the container of an earlier process, as of its last point. Returns its number; -1 if there is none. All pointers
 * that lead to what is kept, to functions or to variables are right; those to a stack, to a file or to an object of a library that was
 * not compiled with remcc are NULL, and pStatus() counts them. Locks are open. From now on the program allocates in it.
 */
int pCRestore(int magic, void** cStruct);
/* The same; an error, too, if the struct had another size than *cStruct has. */
#define pCRestoreAs(magic, cStruct) softpm_restore((magic), (void**)(cStruct), sizeof **(cStruct))
int softpm_restore(int magic, void** cStruct, size_t cSSize);

/* Attributes; of container 0: those that containers made or restored from now on begin with. Directory and chunk size are theirs for good. */
int pCSetAttr(int cID, const struct cattr* attr);
/* Valid until the next call with this container. NULL: there is no such container. */
struct cattr* pCGetAttr(int cID);

/*
 * A persistence point: what the container's struct reaches now is what a restore finds. A thread of the library writes it to the file;
 * this call waits for neither it nor the device, unless the container is synchronous. So a process that is killed at once may lose it:
 * pSync() tells that it is kept. Points become durable in their order. In a child of fork(): an error.
 */
int pPoint(int cID);
/* Waits until all points so far are on the device. */
int pSync(int cID);
/* Ends the container in memory: its file stays as of the last point. Pointers into it lead nowhere from now on; free() ignores them. */
int pCFree(int cID);
/* The same, and removes the file, with all its versions. In a child of fork(): an error. */
int pCDelete(int cID);
/* This block, which lies in the container, is not kept: pointers to it are NULL after a restore. */
int pExclude(int cID, void* ptr);

/*
 * A variable belongs to the container: each point keeps its bytes and what they reach. In a restored container the call sets it to
 * what the last point kept; variables are told apart by the order of the calls, and must have the same sizes.
 */
int pGlobal(int cID, void* variable, size_t bytes);
/*
 * Takes a point and keeps it as a version, a file of its own (softpm-MAGIC.version-NUMBER.rem). Returns its number, from 1. Both are durable once
 * this returns. Takes time by the memory in use, of which threads stand while it is copied.
 */
int pVersion(int cID);
/*
 * As pCRestore(), but memory is as of this version. The container's file has what it had before until the next point replaces it, as one;
 * so what came after the version is lost then, unless it is a version, too. -1 if there is no such version.
 */
int pCRestoreVersion(int magic, int version, void** cStruct);

/*
 * Writes what the container keeps, and by which way it is reached, as a table to this file, or to standard error (NULL): blocks of the same size that
 * are reached by the same offsets are one line. "struct > +8 > +16 (on by +0)" leads from the struct's word at byte 8 to a block, from its word at 16 to
 * another one, and from there, by words at 0, to more of the same size. Shows what is kept by mistake. Other threads stand meanwhile. In a
 * child of fork(): an error.
 */
int pReport(int cID, const char* file);
/*
 * For programs that manage memory themselves, in mappings or in arrays of their own: `find` says whether a block of theirs in use has this address,
 * and where it begins and how many bytes it has; it begins at a multiple of 8. Such blocks are kept as those from before the container are: points copy
 * them, and after a restore they are blocks of malloc(). `find` runs while all other threads stand; it takes no lock and allocates nothing. Up to 16.
 */
int pRegisterAllocator(int (*find)(const void* address, void** begin, size_t* bytes));
/* Calls this whenever a container was restored: for what a program has to open anew. Up to 32. */
int pOnRestore(void (*callback)(int cID));

/* Why this thread's last call failed; after a restore what became NULL, and where. "": nothing. Valid until its next call. */
const char* pStatus(void);

/* Hints: the compiler cannot know that a word holds a pointer, since it is put together from parts, or written by assembly; or that it
   holds none. They last until the next store to the word. */
void rem_pointer(void* word);
void rem_not_pointer(void* word);

#ifdef __cplusplus
}
#endif

#endif
