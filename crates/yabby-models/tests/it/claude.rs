//! The `claude` program, and stand-ins for it.
