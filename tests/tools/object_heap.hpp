#pragma once

#include <cstdint>

/// A heap with an object of each shape that a schema has; "people" is an address book.
void make_objects(const char* path);
/// Adds a root "flags", which has bit-fields.
void add_bit_fields(const char* path);
/// Adds a root "scores", in which a pointer leads to several numbers.
void add_pointer_to_several(const char* path);
/// A heap with a text whose program overwrote the address of its characters.
void make_forged_object(const char* path);
/// A heap whose schema was overwritten: two members in each other's places, or (`whole_table`) an entry that is too long. Where in the heap
/// that schema, or the type table, begins.
std::uint64_t make_forged_schema(const char* path, bool whole_table);
/// A heap with objects of classes that do not say their members.
void make_hidden(const char* path);
/// A heap with what is hard to write down: keys of every kind, classes of no namespace with pointers and arrays, names with line breaks.
void make_odd(const char* path);
/// Keeps one version by a name of digits, and changes the heap after it: the number of that version.
std::uint64_t keep_by_a_number(const char* path);
/// Adds to "changing", and takes from it, in one commit after the other, until it is killed: as many elements as "count" says.
[[noreturn]] void change_objects(const char* path);
