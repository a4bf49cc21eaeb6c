//! The text format of Prometheus.

/// The text of a page: each metric with its samples.
#[derive(Default)]
pub(super) struct Page(pub(super) String);

/// Name, type and help.
pub(super) struct Metric(pub(super) &'static str, pub(super) &'static str, pub(super) &'static str);

/// A suffix of the name, labels, and a value.
pub(super) struct Sample<'a> {
    pub(super) suffix: &'static str,
    pub(super) labels: Vec<(&'static str, &'a str)>,
    pub(super) value: f64,
}

pub(super) fn sample<'a>(
    labels: impl IntoIterator<Item = (&'static str, &'a str)>,
    value: f64,
) -> Sample<'a> {
    Sample { suffix: "", labels: labels.into_iter().collect(), value }
}

impl Page {
    /// Writes a metric, unless it has no samples.
    pub(super) fn metric<'a>(
        &mut self,
        Metric(name, kind, help): Metric,
        samples: impl IntoIterator<Item = Sample<'a>>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_some() {
            self.0.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        }
        for Sample { suffix, labels, value } in samples {
            let labels: Vec<String> = labels
                .iter()
                .map(|(label, text)| format!("{label}=\"{}\"", escaped(text)))
                .collect();
            let labels = match labels.as_slice() {
                [] => String::new(),
                labels => format!("{{{}}}", labels.join(",")),
            };
            self.0.push_str(&format!("{name}{suffix}{labels} {value}\n"));
        }
    }

    pub(super) fn gauge<'a>(
        &mut self,
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = Sample<'a>>,
    ) {
        self.metric(Metric(name, "gauge", help), samples);
    }

    pub(super) fn counter<'a>(
        &mut self,
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = Sample<'a>>,
    ) {
        self.metric(Metric(name, "counter", help), samples);
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
