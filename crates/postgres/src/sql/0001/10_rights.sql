-- PostgreSQL gives a function that is made to everybody. Here each role gets what it needs: see docs/cluster.md.
revoke execute on all functions in schema {s} from public;
revoke usage on type {s}.line, {s}.walk, {s}.firing from public;
