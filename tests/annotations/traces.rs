//! The trace of the code that enqueues a job goes on in its runs.

use crate::own_process::is_in_own_process;
use opentelemetry::trace::{SpanId, TracerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use scheduler::testing::*;
use scheduler::{Jobs, Run, job, tasks};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

#[job(name = "charge", retry(max = 1, base = "1m"))]
fn charge(run: &Run, jobs: &Jobs) -> Result<(), Box<dyn std::error::Error>> {
    if run.attempt() == 1 {
        return Err("no network".into());
    }
    jobs.enqueue(receipt::job())?;
    Ok(())
}

#[job(name = "receipt")]
async fn receipt() {}

const GIVEN: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn named<'a>(spans: &'a [SpanData], name: &str) -> Vec<&'a SpanData> {
    spans.iter().filter(|span| span.name == name).collect()
}

#[test]
fn the_trace_of_a_request_goes_on_in_each_attempt_of_its_jobs() {
    if !is_in_own_process(the_trace_of_a_request_goes_on_in_each_attempt_of_its_jobs) {
        return;
    }
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("tests"));
    tracing_subscriber::registry().with(layer).init();
    let mut sim = Sim::at("2026-01-01T00:00:00Z").with_store().tasks(tasks![charge, receipt]);
    let jobs = sim.jobs();
    tracing::info_span!("request").in_scope(|| jobs.enqueue(charge::job())).expect("it is stored");
    jobs.enqueue(receipt::job().traceparent(GIVEN)).expect("it is stored");
    jobs.enqueue(receipt::job().traceparent("no context")).expect("it is stored");
    sim.drain_jobs(minutes(5));
    let spans = exporter.get_finished_spans().expect("they are kept");
    let request = named(&spans, "request")[0];
    let charges = named(&spans, "task charge");
    assert_eq!(charges.len(), 2, "each attempt has a span");
    for charge in &charges {
        assert_eq!(charge.parent_span_id, request.span_context.span_id());
        assert_eq!(charge.span_context.trace_id(), request.span_context.trace_id());
        assert!(charge.parent_span_is_remote);
    }
    let mut receipts = named(&spans, "task receipt");
    receipts.sort_by_key(|span| span.start_time);
    let parents: Vec<SpanId> = receipts.iter().map(|span| span.parent_span_id).collect();
    let given = SpanId::from_hex("b7ad6b7169203331").expect("an identity");
    // The third was enqueued by the second attempt of `charge`.
    assert_eq!(parents, [given, SpanId::INVALID, charges[1].span_context.span_id()]);
    let traces: Vec<String> =
        receipts.iter().map(|span| span.span_context.trace_id().to_string()).collect();
    assert_eq!(traces[0], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(traces[2], request.span_context.trace_id().to_string());
    assert!(traces[1] != traces[0] && traces[1] != traces[2], "a trace of its own");
}

#[test]
fn a_run_knows_the_trace_context_of_its_job() {
    static SEEN: std::sync::Mutex<Vec<Option<String>>> = std::sync::Mutex::new(Vec::new());
    fn look(run: &Run) {
        SEEN.lock().expect("no run panics").push(run.traceparent().map(str::to_owned));
    }
    #[job(name = "traced")]
    fn traced(run: &Run) {
        look(run);
    }
    let mut sim = Sim::at("2026-01-01T00:00:00Z").with_store().tasks(tasks![traced]);
    sim.jobs().enqueue(traced::job().traceparent(GIVEN)).expect("it is stored");
    sim.drain_jobs(minutes(5));
    for ignored in ["rubbish", &"x".repeat(6_000)] {
        sim.jobs().enqueue(traced::job().traceparent(ignored)).expect("it is stored");
        sim.drain_jobs(minutes(5));
    }
    assert_eq!(*SEEN.lock().expect("no run panics"), [Some(GIVEN.to_owned()), None, None]);
}
