//! sqlite-vec in a connection: the only place of this crate where the compiler is told to trust us.

use std::ffi::{c_char, c_int, c_void};

use rusqlite::{Connection, ffi};

type Entry =
    unsafe extern "C" fn(*mut ffi::sqlite3, *mut *mut c_char, *const ffi::sqlite3_api_routines) -> c_int;

/// Makes `vec0` and its functions known to a connection.
#[expect(unsafe_code, reason = "sqlite-vec is C, and its crate declares the entry without parameters")]
pub(super) fn load(connection: &Connection) -> Result<(), String> {
    let mut message: *mut c_char = std::ptr::null_mut();
    // SAFETY: the entry has the signature of every extension of SQLite (`sqlite3_vec_init` in `sqlite-vec.c`).
    // It is compiled into the program and linked with the same SQLite as `rusqlite`, so it needs no table of
    // routines. The handle is open as long as the connection is borrowed. A message is SQLite's memory, or
    // none at all, which may be given back as well.
    let code = unsafe {
        let entry = std::mem::transmute::<*const (), Entry>(sqlite_vec::sqlite3_vec_init as *const ());
        let code = entry(connection.handle(), &mut message, std::ptr::null());
        ffi::sqlite3_free(message.cast::<c_void>());
        code
    };
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(format!("sqlite-vec could not be loaded: {}", ffi::code_to_str(code))),
    }
}
