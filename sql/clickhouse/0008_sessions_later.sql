-- Sessions are derived behind the flush, in big steps (deriveSessions in src/capture/store.ts): as a view they took 3.3
-- of the 7.9 CPU-seconds that an INSERT cost for each GB, and 19 of the 30 ms of a small one.
DROP TABLE IF EXISTS session_facts_of_events SYNC;
