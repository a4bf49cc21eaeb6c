//! The texts of the page without blanks that browsers do not need.
//!
//! The page has no build step: its script and its style are sent as they are written, but without indentation, lines of
//! comments, and blanks beside punctuation. Strings, templates and regular expressions stay as they are.

/// Returns HTML without its indentation.
pub(super) fn html(text: &str) -> String {
    lines(text).collect::<Vec<_>>().join("\n")
}

/// Returns a style sheet without blanks beside punctuation. In selectors a blank before `:` or `(` has a meaning.
pub(super) fn style(text: &str) -> String {
    let lines = lines(text).map(|line| squeezed(line, "{};,", "{};,:"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns a script without blanks beside punctuation. Its lines stay, because their ends may end statements.
pub(super) fn script(text: &str) -> String {
    const PUNCTUATION: &str = "{}()[];,:?=<>&|";
    let lines = lines(text).map(|line| squeezed(line, PUNCTUATION, PUNCTUATION));
    lines.collect::<Vec<_>>().join("\n")
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with("// "))
}

/// A line without the blanks before and after these letters. No literal goes over several lines.
fn squeezed(line: &str, before: &str, after: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = literal(&kept, rest).unwrap_or(first.len_utf8());
        let (piece, left) = rest.split_at(length);
        let next = left.chars().next();
        let is_needless = piece == " "
            && (kept.ends_with(|last| after.contains(last))
                || next.is_some_and(|next| before.contains(next)));
        if !is_needless {
            kept.push_str(piece);
        }
        rest = left;
    }
    kept
}

/// The length of the literal with which a text begins, if it does.
fn literal(before: &str, text: &str) -> Option<usize> {
    match text.chars().next()? {
        quote @ ('"' | '\'') => quoted(text, quote),
        '`' => template(text),
        // Behind an operator a slash begins a regular expression; behind a value it divides.
        '/' if before
            .trim_end()
            .ends_with(['(', ',', '=', '>', ':', '[', '!', '&', '|', '?', '{', ';']) =>
        {
            quoted(text, '/')
        }
        _ => None,
    }
}

/// The length of what stands between two of these marks, with both. In a class of a regular expression a slash is none.
fn quoted(text: &str, mark: char) -> Option<usize> {
    let (mut is_escaped, mut is_in_class) = (false, false);
    for (index, letter) in text.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' if mark == '/' => is_in_class = true,
            ']' => is_in_class = false,
            _ if letter == mark && !is_in_class => return Some(index + letter.len_utf8()),
            _ => {}
        }
    }
    None
}

/// The length of a template, whose parts in `${…}` may have literals of their own.
fn template(text: &str) -> Option<usize> {
    let (mut index, mut depth) = (1, 0_u32);
    loop {
        let rest = text.get(index..)?;
        let letter = rest.chars().next()?;
        let step = match letter {
            '`' if depth == 0 => return Some(index + 1),
            '\\' if depth == 0 => 1 + rest.chars().nth(1)?.len_utf8(),
            '$' if depth == 0 && rest.starts_with("${") => {
                depth = 1;
                2
            }
            '{' if depth > 0 => {
                depth += 1;
                1
            }
            '}' if depth > 0 => {
                depth -= 1;
                1
            }
            _ if depth > 0 => literal(text.get(..index)?, rest).unwrap_or(letter.len_utf8()),
            _ => letter.len_utf8(),
        };
        index += step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_keeps_what_is_in_quotation_marks_templates_and_regular_expressions() {
        for (from, to) in [
            (
                "  const a = (b, c) => { return b ? c : \"x ; y\"; };",
                "const a=(b,c)=>{return b?c:\"x ; y\";};",
            ),
            ("a = 'it\\'s ; so' + b", "a='it\\'s ; so' + b"),
            (
                "a = `x : ${b ? `, ${c ? \" ; \" : d}` : \"} , \"} , y` ; b",
                "a=`x : ${b ? `, ${c ? \" ; \" : d}` : \"} , \"} , y`;b",
            ),
            ("a.replace(/:00 ([+-])/, \" $1\") / 2", "a.replace(/:00 ([+-])/,\" $1\")/ 2"),
            ("(it) => /a , b/.test(it)", "(it)=>/a , b/.test(it)"),
            ("a.split(/[/ \\]] , x/g , b)", "a.split(/[/ \\]] , x/g,b)"),
            ("(a + 1) / 2 - b / 3 , c", "(a + 1)/ 2 - b / 3,c"),
            ("a + +b - -c; ++d", "a + +b - -c;++d"),
            ("// a comment\nelse { a }", "else{a}"),
            ("é => \"ü ; \"", "é=>\"ü ; \""),
        ] {
            assert_eq!(script(from), to, "{from}");
        }
    }

    #[test]
    fn a_style_keeps_the_blanks_of_its_selectors() {
        assert_eq!(
            style(
                "  td .sub :hover, a > b { margin: 0 auto; content: \" ; x\" }\n\n@media (x: 1px) and (y) {\n}"
            ),
            "td .sub :hover,a > b{margin:0 auto;content:\" ; x\"}\n@media (x:1px) and (y){\n}"
        );
        assert_eq!(
            style("a { b: calc(1px - 2px) max(1px, 2px) }"),
            "a{b:calc(1px - 2px) max(1px,2px)}"
        );
    }
}
