//! The `claude` program as a provider.
