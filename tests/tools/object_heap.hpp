#pragma once

/// A heap with an object of each shape that a schema has; "people" is an address book.
void make_objects(const char* path);
/// Adds a root "flags", which has bit-fields.
void add_bit_fields(const char* path);
/// A heap with a text whose program overwrote the address of its characters.
void make_forged_object(const char* path);
/// Adds to "changing", and takes from it, in one commit after the other, until it is killed: as many elements as "count" says.
[[noreturn]] void change_objects(const char* path);
