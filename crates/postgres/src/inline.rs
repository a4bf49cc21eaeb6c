//! Texts of the migrations that stand where a function would cost more.
//!
//! PostgreSQL inlines no function that sets its `search_path`, as all of the schema do, and the call of one costs some
//! microseconds. A migration defines a text by `define name(parameter, parameter) as $$ … $$;`, and `{name(argument, argument)}`
//! puts it in place, in functions and in later definitions.

/// A text with parameters.
struct Definition<'a> {
    name: &'a str,
    parameters: Vec<&'a str>,
    text: &'a str,
}

/// A migration without its definitions, whose texts are in place.
pub(crate) fn expand(migration: &str) -> String {
    let mut parts = migration.split("\ndefine ");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    let mut definitions = Vec::new();
    for part in parts {
        let (definition, after) = part.split_once("\n$$;").unwrap_or((part, ""));
        definitions.extend(Definition::read(definition));
        rest += after;
    }
    // The text of a definition has those before it.
    definitions.iter().rev().fold(rest, |text, definition| definition.put_into(&text))
}

impl<'a> Definition<'a> {
    fn read(definition: &'a str) -> Option<Self> {
        let (head, text) = definition.split_once(" as $$")?;
        let (name, parameters) = head.trim_end_matches(')').split_once('(')?;
        Some(Self { name, parameters: parameters.split(", ").collect(), text: text.trim() })
    }

    fn put_into(&self, text: &str) -> String {
        let begin = format!("{{{}(", self.name);
        let mut parts = text.split(&begin);
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (arguments, rest) = arguments(part);
            let pairs = self.parameters.iter().zip(arguments);
            whole += &pairs.fold(self.text.to_owned(), |text, (parameter, argument)| {
                text.replace(&format!("{{{parameter}}}"), argument)
            });
            whole += rest;
        }
        whole
    }
}

/// The arguments before the end of a name, and what follows it.
fn arguments(text: &str) -> (Vec<&str>, &str) {
    let (mut depth, mut begin, mut found) = (0, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ',' if depth == 0 => {
                found.push(text[begin..at].trim());
                begin = at + 1;
            }
            ')' if depth == 0 => {
                found.push(text[begin..at].trim());
                return (found, text[at..].strip_prefix(")}").unwrap_or_default());
            }
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    (found, "")
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn a_text_has_the_texts_before_it_and_its_arguments() {
        let migration = "-- One.\ndefine one(a, b) as $$\n({a} + {b})\n$$;\n\ndefine none() as $$\nnow()\n$$;\n\
                         define two(a) as $$\n{one({a}, '{}')} * {a}\n$$;\nselect {two(f(x, y))}, {none()}, {other};\n";
        assert_eq!(
            expand(migration),
            "-- One.\n\nselect (f(x, y) + '{}') * f(x, y), now(), {other};\n"
        );
    }
}
