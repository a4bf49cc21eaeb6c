//! Prints the SQL that makes the tables, for other tools.
//!
//! `cargo run -p scheduler-postgres --example print_migrations`.

fn main() -> Result<(), scheduler_store::StoreError> {
    let schema = std::env::args().nth(1).unwrap_or_else(|| "scheduler".to_owned());
    print!("{}", scheduler_postgres::Postgres::migrations(&schema)?);
    Ok(())
}
