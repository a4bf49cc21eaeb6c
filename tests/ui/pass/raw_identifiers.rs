use scheduler::scheduled;

#[scheduled(fixed_rate = "1s")]
fn r#type() {}

#[scheduled(fixed_rate = "1s")]
#[scheduled(fixed_rate = "2s")]
async fn r#match() {}

#[scheduled(fixed_rate = "1s")]
fn straße() {}

mod r#mod {
    use scheduler::scheduled;

    #[scheduled(fixed_rate = "1s")]
    fn r#fn() {}
}

fn main() {
    let names: Vec<&str> = scheduler::__private::entries().iter().map(|entry| entry.name.rsplit("::").next().unwrap()).collect();
    assert_eq!(names, ["type", "match", "match-2", "straße", "fn"]);
    r#type();
}
