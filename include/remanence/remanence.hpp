// Includes everything that most programs need. heap.hpp explains what a heap is; README.md has a first example.
#pragma once

#include <remanence/detail/compiler.hpp>

// persistable.hpp comes before the other headers, so that a compiler prints few lines before it says why a type cannot
// be stored.
#include <remanence/types/persistable.hpp>

#include <remanence/address_space.hpp>
#include <remanence/allocator.hpp>
#include <remanence/arena.hpp>
#include <remanence/containers/btree_map.hpp>
#include <remanence/containers/btree_set.hpp>
#include <remanence/containers/hash_map.hpp>
#include <remanence/containers/hash_set.hpp>
#include <remanence/containers/packed_map.hpp>
#include <remanence/containers/seeded_hash.hpp>
#include <remanence/containers/standard.hpp>
#include <remanence/containers/string_pi.hpp>
#include <remanence/containers/vector_pi.hpp>
#include <remanence/error.hpp>
#include <remanence/file_backed.hpp>
#include <remanence/function_pointer.hpp>
#include <remanence/heap.hpp>
#include <remanence/new_in.hpp>
#include <remanence/procedures.hpp>
#include <remanence/types/exemplars.hpp>
#include <remanence/types/fragile.hpp>
#include <remanence/types/serialize_trait.hpp>
#include <remanence/volatile_heap.hpp>
