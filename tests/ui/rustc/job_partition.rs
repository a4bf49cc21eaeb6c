use scheduler::job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Order {
    price: f64,
    tenant: Option<String>,
}

#[job(name = "price", partition = order.price)]
fn price(#[payload] order: Order) {
    println!("{}", order.price);
}

#[job(name = "tenant", partition = order.tenant, each(running = 5))]
fn tenant(#[payload] order: Order) {
    println!("{:?}", order.tenant);
}

#[job(name = "region", partition = (order.tenantt, "eu"))]
fn region(#[payload] order: Order) {
    println!("{:?}", order.tenant);
}

fn main() {}
