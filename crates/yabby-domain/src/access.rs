//! Who may talk to the agent and who may command it (`sessions.md` §17).
