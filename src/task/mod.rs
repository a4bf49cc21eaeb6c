//! One scheduled task: when it runs, what becomes of runs that meet, and what one can tell it.
