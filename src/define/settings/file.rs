//! Sources that consist of lines: settings files, and the calls of `builder.set`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{FILE_VARIABLE, ROOT, SettingsError, Source, key, visible, word};

/// The longest file that is read, in bytes.
const BYTES_MAX: u64 = 1 << 20;

const TOO_LONG: &str = "the file is longer than 1 MiB";

/// The most parts of a key. No setting has as many.
const PARTS_MAX: usize = 16;

/// The most TOML faults that are reported; the others mostly follow from these.
const FAULTS_MAX: usize = 3;

/// The name of an array in messages.
pub(super) const ARRAY: &str = "an array";

/// A source of settings, with all its lines.
#[derive(Debug, Default)]
pub(super) struct Layer {
    pub(super) lines: Vec<Line>,
    /// The lines by what placeholders and settings call them, folded.
    by_name: BTreeMap<String, Vec<usize>>,
}

/// A key with what it is set to.
#[derive(Debug)]
pub(super) struct Line {
    /// The parts of the key, beginning with [`ROOT`] if it is a setting.
    pub(super) path: Vec<String>,
    pub(super) content: Content,
    pub(super) source: Source,
    /// True if it was written without [`ROOT`].
    is_short: bool,
}

/// The value of a key.
#[derive(Debug)]
pub(super) enum Content {
    Text(String),
    /// Texts in an array, separated by commas.
    List(String),
    /// A table with nothing in it.
    EmptyTable,
    /// Something that no setting takes, by its name in messages.
    Other(&'static str),
}

impl Line {
    /// The key, folded.
    fn name(&self) -> String {
        key::fold(&self.path.join("."))
    }

    /// The parts after [`ROOT`], if the key is a setting.
    pub(super) fn ours(&self) -> Option<&[String]> {
        match self.path.split_first() {
            Some((root, rest)) if root == ROOT => Some(rest),
            _ => None,
        }
    }
}

impl Layer {
    fn new(lines: Vec<Line>) -> Self {
        let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, line) in lines.iter().enumerate() {
            if line.is_short {
                let name = key::fold(&line.path[1..].join("."));
                by_name.entry(name).or_default().push(index);
            }
            by_name.entry(line.name()).or_default().push(index);
        }
        Self { lines, by_name }
    }

    /// The lines that a placeholder or a setting of this name means; `name` is folded.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = &Line> {
        self.by_name.get(name).into_iter().flatten().map(|index| &self.lines[*index])
    }

    /// The lines under `scheduler.tasks` that may be about a task of one of these names, in their order.
    pub(super) fn of_tasks<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
    ) -> impl Iterator<Item = &Line> {
        let mut found = BTreeSet::new();
        for name in names {
            let table = key::fold(&format!("{ROOT}.{}.{name}.", key::TASKS));
            let lines = self.by_name.range(table.clone()..);
            let lines = lines.take_while(|(name, _)| name.starts_with(&table));
            found.extend(lines.flat_map(|(_, lines)| lines));
        }
        found.into_iter().map(|index: usize| &self.lines[index])
    }

    /// The calls of `builder.set`, where a setting may lack the `scheduler.`: `is_ours` tells one by its first part. The later
    /// of two values counts.
    pub(super) fn from_builder(set: Vec<(String, String)>, is_ours: fn(&str) -> bool) -> Self {
        let mut lines: Vec<Line> = Vec::new();
        for (written, text) in set {
            let mut path = key::parts(&written);
            let is_short = is_ours(&path[0]);
            if is_short {
                path.insert(0, ROOT.to_owned());
            }
            let source = Source::Builder { key: written };
            let line = Line { path, content: Content::Text(text), source, is_short };
            let name = line.name();
            lines.retain(|earlier| earlier.name() != name);
            lines.push(line);
        }
        Self::new(lines)
    }

    /// Reads a text that is TOML.
    pub(super) fn from_toml(path: &str, text: &str) -> Result<Self, Vec<SettingsError>> {
        if text.len() as u64 > BYTES_MAX {
            return Err(vec![SettingsError::new(format!("{}: {TOO_LONG}", visible(path)))]);
        }
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            let faults = errors.iter().take(FAULTS_MAX);
            return Err(faults.map(|error| malformed(path, text, error)).collect());
        }
        let ends = text.match_indices('\n').map(|(at, _)| at).collect();
        let mut walk = Walk { path, ends, parts: Vec::new(), lines: Vec::new() };
        walk.table(table.get_ref());
        walk.lines.sort_by_key(|line| match line.source {
            Source::File { line, .. } => line,
            _ => 0,
        });
        Ok(Self::new(walk.lines))
    }
}

/// Reads a file as a whole, unless it is too long.
pub(super) fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    // Before the characters are looked at: the last one may be cut in two.
    if bytes.len() as u64 > BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, TOO_LONG));
    }
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the file is not valid UTF-8"))
}

/// The file that `SCHEDULER_CONFIG` names, which has to be there.
pub(super) fn load_named(
    path: &str,
    read: fn(&Path) -> io::Result<String>,
) -> Result<Layer, Vec<SettingsError>> {
    match read(Path::new(path)) {
        Ok(text) => Layer::from_toml(path, &text),
        Err(_) if path.is_empty() => Err(vec![
            SettingsError::new(format!("env {FILE_VARIABLE}: the name of the file is empty"))
                .help("set it to the path of a settings file, or unset it".to_owned()),
        ]),
        Err(error) => {
            let text = format!("env {FILE_VARIABLE}: cannot read {}: {error}", word(path));
            Err(vec![SettingsError::new(text)])
        }
    }
}

/// The file that is read when it exists.
pub(super) fn load_if_there(
    path: &str,
    read: fn(&Path) -> io::Result<String>,
) -> Option<Result<Layer, Vec<SettingsError>>> {
    match read(Path::new(path)) {
        Ok(text) => Some(Layer::from_toml(path, &text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            Some(Err(vec![SettingsError::new(format!("{path}: cannot be read: {error}"))]))
        }
    }
}

fn malformed(path: &str, text: &str, error: &toml::de::Error) -> SettingsError {
    let message = visible(error.message());
    let place = match error.span() {
        Some(span) => {
            let ends = text.bytes().take(span.start).filter(|byte| *byte == b'\n');
            format!("{}:{}", visible(path), 1 + ends.count())
        }
        None => visible(path),
    };
    SettingsError::new(format!("{place}: not valid TOML: {message}"))
}

/// A walk over the tables of a file.
struct Walk<'a> {
    path: &'a str,
    /// The ends of the lines of its text.
    ends: Vec<usize>,
    parts: Vec<String>,
    lines: Vec<Line>,
}

impl Walk<'_> {
    fn table(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            self.parts.push(key.get_ref().to_string());
            self.value(key.span(), value);
            self.parts.pop();
        }
    }

    fn value(&mut self, key: Range<usize>, value: &Spanned<DeValue<'_>>) {
        let content = match value.get_ref() {
            DeValue::Table(_) if self.parts.len() >= PARTS_MAX => Content::Other("a deep table"),
            DeValue::Table(table) if table.is_empty() => Content::EmptyTable,
            DeValue::Table(table) => return self.table(table),
            DeValue::String(text) => Content::Text(text.to_string()),
            DeValue::Boolean(flag) => Content::Text(flag.to_string()),
            DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
                .map_or(Content::Other("a very large number"), |number| {
                    Content::Text(number.to_string())
                }),
            DeValue::Float(_) => Content::Other("a number with a fraction"),
            DeValue::Datetime(instant) => Content::Text(instant.to_string()),
            DeValue::Array(array) => {
                let texts: Option<Vec<&str>> =
                    array.iter().map(|value| value.get_ref().as_str()).collect();
                texts.map_or(Content::Other(ARRAY), |texts| Content::List(texts.join(", ")))
            }
        };
        let line = 1 + self.ends.partition_point(|end| *end < key.start);
        let source = Source::File { path: self.path.to_owned(), line };
        let path = self.parts.clone();
        self.lines.push(Line { path, content, source, is_short: false });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(layer: &Layer) -> Vec<String> {
        let line = |line: &Line| {
            let content = match &line.content {
                Content::Text(text) => text.clone(),
                Content::List(text) => format!("[{text}]"),
                Content::EmptyTable => "{}".to_owned(),
                Content::Other(kind) => (*kind).to_owned(),
            };
            format!("{} {}={content}", line.source, line.path.join("|"))
        };
        layer.lines.iter().map(line).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(shown(&Layer::from_toml("s.toml", text).expect("good TOML")), expected);
    }

    #[track_caller]
    fn check_fault(text: &str, expected: &str) {
        let faults = Layer::from_toml("s.toml", text).expect_err("a fault");
        assert_eq!(faults[0].to_string(), expected);
    }

    #[test]
    fn tables_and_dotted_keys_are_the_same() {
        check(
            "zone = \"top\"\n[scheduler]\npool.size = 4\n\n[scheduler.tasks]\n\
             \"shop::jobs::report\".enabled = false\nreport = { cron = \"-\" }\n\
             [scheduler.tasks.purge.retry]\nmax = 0x10\n",
            &[
                "s.toml:1 zone=top",
                "s.toml:3 scheduler|pool|size=4",
                "s.toml:6 scheduler|tasks|shop::jobs::report|enabled=false",
                "s.toml:7 scheduler|tasks|report|cron=-",
                "s.toml:9 scheduler|tasks|purge|retry|max=16",
            ],
        );
    }

    #[test]
    fn an_unused_setting_keeps_its_line() {
        check("\u{FEFF}[a]\r\nb = 1\r\n", &["s.toml:2 a|b=1"]);
        check(
            "[scheduler]\na = 1.5\nb = [1]\nc = 1979-05-27T00:00:00Z\n[scheduler.d]\ne = ['x', 'y']\n[f]\n",
            &[
                "s.toml:2 scheduler|a=a number with a fraction",
                "s.toml:3 scheduler|b=an array",
                "s.toml:4 scheduler|c=1979-05-27T00:00:00Z",
                "s.toml:6 scheduler|d|e=[x, y]",
                "s.toml:7 f={}",
            ],
        );
    }

    #[test]
    fn a_text_that_is_no_toml_is_refused_with_its_line() {
        check_fault(
            "[a]\nb = \n",
            "s.toml:2: not valid TOML: string values must be quoted, expected literal string",
        );
        check_fault("a = 1\na = 2\n", "s.toml:2: not valid TOML: duplicate key");
        check_fault(&" ".repeat(1 + (1 << 20)), "s.toml: the file is longer than 1 MiB");
    }

    #[test]
    fn f_cf1_a_file_that_is_too_long_is_told_so_wherever_it_is_cut() {
        let path = std::env::temp_dir().join(format!("scheduler-{}.toml", std::process::id()));
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("a file");
            read(&path).map_err(|error| error.to_string())
        };
        // The limit is even, so that one of the two is cut inside of a character.
        for blanks in ["", " "] {
            let text = format!("{blanks}{}", "é".repeat(1 << 20));
            assert_eq!(read(text.as_bytes()), Err(TOO_LONG.to_owned()));
        }
        let full = " ".repeat(1 << 20);
        assert_eq!(read(full.as_bytes()), Ok(full));
        assert_eq!(read(b"\xFF"), Err("the file is not valid UTF-8".to_owned()));
        std::fs::remove_file(&path).expect("it is there");
    }

    #[test]
    fn f_cf1_deep_tables_do_not_exhaust_the_stack() {
        let dotted = format!("scheduler.{} = 1\n", vec!["a"; 10_000].join("."));
        let header = format!("[{}]\nx = 1\n", vec!["a"; 10_000].join("."));
        let arrays = format!("x = {}{}", "[".repeat(10_000), "]".repeat(10_000));
        let inline = format!("x = {}1{}", "{a=".repeat(10_000), "}".repeat(10_000));
        for text in [dotted, header, arrays, inline] {
            if let Ok(layer) = Layer::from_toml("s.toml", &text) {
                assert!(layer.lines.len() <= 1, "{}", layer.lines.len());
            }
        }
    }

    #[test]
    fn the_builder_may_leave_the_root_out_and_have_second_thoughts() {
        let pairs = [("pool.size", "1"), ("reports.cron", "-"), ("scheduler.pool.size", "2")];
        let set = pairs.map(|(key, text)| (key.to_owned(), text.to_owned()));
        let layer = Layer::from_builder(set.into(), |part| part == "pool");
        assert_eq!(
            shown(&layer),
            [
                "builder.set(\"reports.cron\") reports|cron=-",
                "builder.set(\"scheduler.pool.size\") scheduler|pool|size=2",
            ]
        );
    }

    #[test]
    fn a_missing_file_is_a_fault_only_when_it_was_named() {
        let missing = |_: &Path| Err(io::ErrorKind::NotFound.into());
        let broken = |_: &Path| Err(io::ErrorKind::PermissionDenied.into());
        assert!(load_if_there("scheduler.toml", missing).is_none());
        assert!(load_if_there("scheduler.toml", broken).is_some_and(|read| read.is_err()));
        let fault = &load_named("other.toml", missing).expect_err("a fault")[0];
        let text = fault.to_string();
        assert!(text.starts_with("env SCHEDULER_CONFIG: cannot read `other.toml`: "), "{text}");
        let fault = &load_named("", missing).expect_err("a fault")[0];
        assert!(fault.to_string().contains("is empty"), "{fault}");
    }
}
