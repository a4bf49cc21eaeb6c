//! The known word that an unknown one was probably meant to be.

/// Words longer than this are not compared: nobody mistypes one into another.
const LETTERS_MAX: usize = 64;

/// The candidate that `word` was probably meant to be.
///
/// Case, underscores, hyphens and blanks do not count, so Spring's `fixedRate` finds `fixed_rate`;
/// after that, one wrong, missing, additional or exchanged letter in three is forgiven.
///
/// ```
/// use scheduler_expr::nearest;
///
/// let names = ["daily_report", "purge"];
/// assert_eq!(nearest("daily-reprot", names), Some("daily_report"));
/// assert_eq!(nearest("weekly", names), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = letters(word);
    if word.len() > LETTERS_MAX {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (letters(candidate), candidate))
        .filter(|(letters, _)| letters.len() <= 2 * LETTERS_MAX)
        .map(|(letters, candidate)| (distance(&word, &letters), candidate))
        .filter(|(distance, _)| *distance <= word.len() / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn letters(word: &str) -> Vec<char> {
    word.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// The number of edits from `a` to `b`; an exchange of neighbours counts as one.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, cb) in b.iter().enumerate() {
            let mut cost = (last[j] + usize::from(ca != cb)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *ca == b[j - 1] && a[i - 1] == *cb {
                cost = cost.min(before_last[j - 1] + 1);
            }
            row.push(cost);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        let candidates = ["cron", "zone", "fixed_rate", "fixed_delay", "initial_delay", "name"];
        assert_eq!(nearest(word, candidates), expected);
    }

    #[test]
    fn finds_what_was_meant() {
        check("fixedRate", Some("fixed_rate"));
        check("FIXED-DELAY", Some("fixed_delay"));
        check("fixed_rte", Some("fixed_rate"));
        check("corn", Some("cron"));
        check("nmae", Some("name"));
        check("zon", Some("zone"));
        check("fxd_dly", None);
        check("colour", None);
        check("c", None);
        check("", None);
        check(&"x".repeat(10_000), None);
    }

    #[test]
    fn never_compares_long_candidates() {
        let long = "x".repeat(10_000);
        assert_eq!(nearest("xxx", [long.as_str(), "xxxx"]), Some("xxxx"));
    }
}
