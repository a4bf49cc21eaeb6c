//! Finds the known word that an unknown one was probably meant to be.

/// The greatest length of a word to be compared at all.
const LENGTH_MAX: usize = 128;

/// Finds the candidate that `word` was probably meant to be.
///
/// Case, underscores, hyphens and spaces do not count, so Spring's `fixedRate` finds `fixed_rate`;
/// after that, up to one wrong, missing, additional or exchanged letter in three is forgiven. Of
/// several that are equally near, the first is taken.
///
/// ```
/// use scheduler_expr::nearest;
///
/// assert_eq!(nearest("fixedRate", ["cron", "fixed_rate"]), Some("fixed_rate"));
/// assert_eq!(nearest("corn", ["cron", "fixed_rate"]), Some("cron"));
/// assert_eq!(nearest("colour", ["cron", "fixed_rate"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LENGTH_MAX {
        return None;
    }
    let word = letters(word);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 2 * LENGTH_MAX)
        .map(|candidate| (distance(&word, &letters(candidate)), candidate))
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
    use super::*;

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
        check("crron", Some("cron"));
    }

    #[test]
    fn finds_nothing_when_nothing_is_near() {
        check("fxd_dly", None);
        check("colour", None);
        check("c", None);
        check("nmaex", None); // a swap is a slip, and so is the letter
        check("", None);
        check(&"x".repeat(10_000), None);
    }

    #[test]
    fn never_compares_long_candidates() {
        let long = "x".repeat(10_000);
        assert_eq!(nearest("xxx", [long.as_str(), "xxxx"]), Some("xxxx"));
    }

    #[test]
    fn compares_words_up_to_the_limit() {
        let word = |length| "x".repeat(length);
        let candidate = word(LENGTH_MAX + LENGTH_MAX / 3);
        assert_eq!(nearest(&word(LENGTH_MAX), [candidate.as_str()]), Some(candidate.as_str()));
        assert_eq!(nearest(&word(LENGTH_MAX + 1), [candidate.as_str()]), None);
        assert_eq!(nearest(&word(10_000), [candidate.as_str()]), None);
    }
}
