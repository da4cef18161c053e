/* A library that is not compiled with remcc, and stores a pointer in its caller's memory. */
__attribute__((noinline)) void store(void** into, void* pointer) { *into = pointer; }
