//! A web shop on PostgreSQL: an order and the job of its invoice, in one transaction.
//!
//! ```sh
//! DATABASE_URL=postgres://localhost/shop cargo run -p examples --example outbox_axum
//! curl -i localhost:8080/orders -H 'Idempotency-Key: 0197f3a2-7f6b-7c4e-9d1a-2b8f3c5d7e90' -d tea
//! curl localhost:8080/orders/0197f3a2-7f6b-7c4e-9d1a-2b8f3c5d7e90
//! ```
//!
//! Send the first request twice: there is one order, and one invoice. The variable `PORT` gives another port. The test at the end runs the
//! same server: `cargo test -p examples --example outbox_axum`.

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use scheduler::store::tokio_postgres::{Client, NoTls, connect};
use scheduler::store::{JobId, Postgres};
use scheduler::{Jobs, Scheduler, job};
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use uuid::Uuid;

/// One connection; a service has a pool of them, such as `deadpool_postgres`, whose transactions do as well.
type Db = Arc<Mutex<Client>>;

#[job(name = "send-invoice", queue = "mail", retry(max = 5, base = "5s", cap = "1h"))]
async fn send_invoice(
    #[payload] order: Uuid,
    db: &Db,
) -> Result<(), scheduler::store::tokio_postgres::Error> {
    let sql = "update orders set invoices = invoices + 1 where id = $1";
    db.lock().await.execute(sql, &[&order]).await.map(drop)
}

#[derive(Clone)]
struct Shop {
    db: Db,
    jobs: Jobs,
}

/// The client chooses the key, and sends the same one when it tries again.
async fn order(State(shop): State<Shop>, headers: HeaderMap, item: String) -> Answer {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()?.parse().ok());
    let key: Uuid = key.ok_or_else(|| refused("the header `Idempotency-Key` has to be a UUID"))?;
    let mut db = shop.db.lock().await;
    let mut transaction = db.transaction().await.map_err(failed)?;
    let sql = "insert into orders (id, item) values ($1, $2) on conflict (id) do nothing";
    if transaction.execute(sql, &[&key, &item]).await.map_err(failed)? == 0 {
        return Ok((StatusCode::OK, format!("{key} was ordered before\n")));
    }
    let invoice = send_invoice::job(key).with_id(key);
    shop.jobs.enqueue_in_async(&mut transaction, invoice).await.map_err(failed)?;
    // Whatever fails from here on takes the order and its job back: a transaction that is dropped is rolled back.
    reserve(&item)?;
    transaction.commit().await.map_err(failed)?;
    Ok((StatusCode::CREATED, format!("{key} is ordered\n")))
}

fn reserve(item: &str) -> Result<(), (StatusCode, String)> {
    if item == "tea" { Ok(()) } else { Err(refused("there is only tea")) }
}

/// The order, and what has become of its invoice.
async fn show(State(shop): State<Shop>, Path(key): Path<Uuid>) -> Answer {
    let sql = "select item, invoices from orders where id = $1";
    let row = shop.db.lock().await.query_opt(sql, &[&key]).await.map_err(failed)?;
    let Some(row) = row else { return Err((StatusCode::NOT_FOUND, "no such order\n".to_owned())) };
    let (item, invoices): (String, i32) = (row.get(0), row.get(1));
    let job = shop.jobs.get_async(JobId::from_uuid(key)).await.map_err(failed)?;
    let state = job.map_or("gone", |job| job.state.word());
    Ok((StatusCode::OK, format!("{item}; {invoices} invoices; the job is {state}\n")))
}

type Answer = Result<(StatusCode, String), (StatusCode, String)>;

fn refused(why: &str) -> (StatusCode, String) {
    (StatusCode::UNPROCESSABLE_ENTITY, format!("{why}\n"))
}

/// The client tries again, with the same key.
fn failed(error: impl Error) -> (StatusCode, String) {
    (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n"))
}

/// Starts the scheduler on the database, and returns it with the pages of the shop.
async fn start(url: &str) -> Result<(Scheduler, Router), Box<dyn Error>> {
    let (client, connection) = connect(url, NoTls).await?;
    tokio::spawn(connection);
    let table = "create table if not exists orders (id uuid primary key, item text not null, invoices int not null default 0)";
    client.batch_execute(table).await?;
    let db = Arc::new(Mutex::new(client));
    let store = Postgres::connect(url)?;
    let scheduler = Scheduler::builder().store(store).manage(Arc::clone(&db)).spawn()?;
    let shop = Shop { db, jobs: scheduler.jobs()? };
    let pages = Router::new().route("/orders", post(order)).route("/orders/{key}", get(show));
    Ok((scheduler, pages.with_state(shop)))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (scheduler, pages) = start(&std::env::var("DATABASE_URL")?).await?;
    let port = std::env::var("PORT").map_or(Ok(8080), |port| port.parse())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    axum::serve(listener, pages).with_graceful_shutdown(stop).await?;
    scheduler.shutdown_async().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use scheduler::store::{JobFilter, JobState};
    use tower::ServiceExt;

    use super::*;

    const ONE: &str = "0197f3a2-7f6b-7c4e-9d1a-000000000001";
    const OTHER: &str = "0197f3a2-7f6b-7c4e-9d1a-000000000002";

    async fn ask(pages: &Router, request: Request<Body>) -> (StatusCode, String) {
        let answer = pages.clone().oneshot(request).await.expect("an answer");
        let status = answer.status();
        let body = to_bytes(answer.into_body(), usize::MAX).await.expect("a body");
        (status, String::from_utf8(body.to_vec()).expect("a text"))
    }

    async fn buy(pages: &Router, key: &str, item: &'static str) -> StatusCode {
        let request = Request::post("/orders").header("Idempotency-Key", key);
        ask(pages, request.body(item.into()).expect("a request")).await.0
    }

    async fn look(pages: &Router, key: &str) -> (StatusCode, String) {
        ask(pages, Request::get(format!("/orders/{key}")).body(Body::empty()).expect("a request"))
            .await
    }

    #[tokio::test]
    async fn an_order_and_its_job_are_there_together_or_not_at_all() {
        let Some(server) = postgres_server::Server::start() else { return };
        let (scheduler, pages) = start(&server.url()).await.expect("it starts");
        let jobs = scheduler.jobs().expect("there is a store");
        assert_eq!(buy(&pages, "17", "tea").await, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(buy(&pages, ONE, "coffee").await, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(look(&pages, ONE).await.0, StatusCode::NOT_FOUND, "it is rolled back");
        assert_eq!(jobs.list_async(&JobFilter::default(), 10).await.expect("jobs"), []);

        assert_eq!(buy(&pages, ONE, "tea").await, StatusCode::CREATED);
        assert_eq!(buy(&pages, ONE, "tea").await, StatusCode::OK, "it is the same order");
        assert_eq!(buy(&pages, OTHER, "tea").await, StatusCode::CREATED);
        for key in [ONE, OTHER] {
            let id = key.parse().expect("an identity");
            let job = jobs.wait_async(id, Duration::from_secs(60)).await.expect("an answer");
            assert_eq!((job.state, &*job.queue, job.max_attempts), (JobState::Done, "mail", 6));
            let (status, text) = look(&pages, key).await;
            assert_eq!((status, &*text), (StatusCode::OK, "tea; 1 invoices; the job is done\n"));
        }
        assert_eq!(jobs.list_async(&JobFilter::default(), 10).await.expect("jobs").len(), 2);
        scheduler.shutdown_async().await.expect("it stops");
    }
}
