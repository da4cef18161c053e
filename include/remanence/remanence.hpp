// Remanence: memory that stays. Everything a program needs; see README.md for a first example.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/btree_map.hpp>
#include <remanence/btree_set.hpp>
#include <remanence/containers.hpp>
#include <remanence/error.hpp>
#include <remanence/exemplars.hpp>
#include <remanence/file_backed.hpp>
#include <remanence/fragile.hpp>
#include <remanence/hash_map.hpp>
#include <remanence/hash_set.hpp>
#include <remanence/heap.hpp>
#include <remanence/packed_map.hpp>
#include <remanence/persistable.hpp>
#include <remanence/seeded_hash.hpp>
#include <remanence/serialize_trait.hpp>
#include <remanence/string_pi.hpp>
#include <remanence/vector_pi.hpp>
