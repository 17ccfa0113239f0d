//! Where a reply goes: the delivery context and its mirrored fields (`sessions.md` §8).
