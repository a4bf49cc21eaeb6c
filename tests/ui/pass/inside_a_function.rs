use scheduler::scheduled;

fn main() {
    #[scheduled(fixed_rate = "1s")]
    fn tick() {}

    {
        #[scheduled(fixed_rate = "2s")]
        async fn tock() {}
    }

    let entries = scheduler::__private::entries();
    assert_eq!(entries.len(), 2);
    assert!(entries.iter().all(|entry| entry.module_path == module_path!()));
    tick();
}
