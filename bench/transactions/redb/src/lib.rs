//! A table of numbers by numbers in redb, for redb.cpp: what it calls, and no more. What fails ends the process with its reason.

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use std::ffi::{CStr, c_char};

const NUMBERS: TableDefinition<u64, u64> = TableDefinition::new("numbers");

/// Opens the file, or creates it.
///
/// # Safety
/// `path` is a string that ends in 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redb_peer_open(path: *const c_char) -> *mut Database {
    let path = unsafe { CStr::from_ptr(path) }.to_str().expect("a path in UTF-8");
    Box::into_raw(Box::new(Database::create(path).expect("redb opens")))
}

/// # Safety
/// `database` is of `redb_peer_open`, and not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redb_peer_close(database: *mut Database) {
    drop(unsafe { Box::from_raw(database) });
}

/// Gives each of the keys the number, in one durable transaction.
///
/// # Safety
/// `keys` are `count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redb_peer_fill(database: &Database, keys: *const u64, count: usize, number: u64) {
    let transaction = database.begin_write().expect("begin_write");
    {
        let mut numbers = transaction.open_table(NUMBERS).expect("open_table");
        for key in unsafe { std::slice::from_raw_parts(keys, count) } {
            numbers.insert(key, number).expect("insert");
        }
    }
    transaction.commit().expect("commit");
}

/// Adds 1 to the number of each of the keys, in one durable transaction.
///
/// # Safety
/// `keys` are `count`, each in the table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redb_peer_add_one(database: &Database, keys: *const u64, count: usize) {
    let transaction = database.begin_write().expect("begin_write");
    {
        let mut numbers = transaction.open_table(NUMBERS).expect("open_table");
        for key in unsafe { std::slice::from_raw_parts(keys, count) } {
            let before = numbers.get(key).expect("get").expect("a key of the table").value();
            numbers.insert(key, before + 1).expect("insert");
        }
    }
    transaction.commit().expect("commit");
}

#[unsafe(no_mangle)]
pub extern "C" fn redb_peer_sum(database: &Database) -> u64 {
    let transaction = database.begin_read().expect("begin_read");
    let numbers = transaction.open_table(NUMBERS).expect("open_table");
    numbers.iter().expect("iter").map(|entry| entry.expect("an entry").1.value()).sum()
}
