// From a crontab, by `scheduler import crontab`. Each function runs the command of its line; write in Rust
// what it does when you come to it.
//
// When the clock changes, cron runs what was left out right after the gap, and nothing twice. Say with --zone in
// which zone cron runs, and the lines that this concerns have dst_gap and dst_overlap.

use scheduler::scheduled;

// m h dom mon dow command
// SHELL=/bin/sh   (the shell of the lines that follow)
// PATH=/usr/local/bin:/usr/bin:/bin   (set this where the program starts)
// MAILTO="ops@example.org"   (nothing is mailed here: a failed run is a message and an event of the program)
// the database

/// Line 8: `5 4 * * 1-5\t/usr/local/bin/backup.sh --all >/dev/null 2>&1`
#[scheduled(cron = "0 5 4 * * MON-FRI")]
fn backup() -> std::io::Result<()> {
    shell("/bin/sh", "/usr/local/bin/backup.sh --all >/dev/null 2>&1", "")
}

/// Line 9: `` */10 * * * * curl -fsS 'https://example.org/ping?a=1&b=`x`' ``
#[scheduled(cron = "0 */10 * * * *")]
fn curl() -> std::io::Result<()> {
    shell("/bin/sh", "curl -fsS 'https://example.org/ping?a=1&b=`x`'", "")
}

/// Line 10: `0 0 13 * 5 unlucky`
// cron runs this on either of its two day fields, while here both must match: it takes two expressions; the second leaves out the days of the first
#[scheduled(cron = "0 0 0 13 * *")]
#[scheduled(cron = "0 0 0 1-12,14-31 * FRI")]
fn unlucky() -> std::io::Result<()> {
    shell("/bin/sh", "unlucky", "")
}

/// Line 11: `0 0 */2 * 1 both`
// one of the day fields begins with `*`, so that cron wants both to match, as here
#[scheduled(cron = "0 0 0 */2 * MON")]
fn both() -> std::io::Result<()> {
    shell("/bin/sh", "both", "")
}

/// Line 12: `0 0 1-31 * 1 everyday`
// cron runs this on either of its two day fields, and one of them has all days: it runs every day
#[scheduled(cron = "0 0 0 * * *")]
fn everyday() -> std::io::Result<()> {
    shell("/bin/sh", "everyday", "")
}

/// Line 13: `@reboot true`
// cron runs this at the start of the machine, the scheduler at its own
#[scheduled(initial_delay = "0s")]
fn true_13() -> std::io::Result<()> {
    shell("/bin/sh", "true", "")
}

/// Line 14: `@weekly fn --type`
#[scheduled(cron = "0 0 0 * * SUN")]
fn fn_14() -> std::io::Result<()> {
    shell("/bin/sh", "fn --type", "")
}

// fires in the morning hours
// CRON_TZ=Europe/Berlin   (the zone of the lines that follow)

/// Line 17: `30 2 * * * cd /srv/shop && ./report`
#[scheduled(cron = "0 30 2 * * *", zone = "Europe/Berlin", dst_gap = "run_after", dst_overlap = "first")]
fn report() -> std::io::Result<()> {
    shell("/bin/sh", "cd /srv/shop && ./report", "")
}

/// Line 18: `30 9 * * * ./report --morning`
#[scheduled(cron = "0 30 9 * * *", zone = "Europe/Berlin")]
fn report_2() -> std::io::Result<()> {
    shell("/bin/sh", "./report --morning", "")
}

// TZ=UTC   (cron hands this to its commands, and keeps its own zone; so set it where the program starts)

/// Line 20: `@hourly mail -s "hi" me%Hello%100\% there`
#[scheduled(cron = "0 0 * * * *", zone = "Europe/Berlin")]
fn mail() -> std::io::Result<()> {
    shell("/bin/sh", "mail -s \"hi\" me", "Hello\n100% there\n")
}

/// Line 21: `0 12 * * sun NAME=x hello.sh 2>/dev/null || true`
#[scheduled(cron = "0 0 12 * * SUN", zone = "Europe/Berlin")]
fn hello() -> std::io::Result<()> {
    shell("/bin/sh", "NAME=x hello.sh 2>/dev/null || true", "")
}

/// Line 22: `0 3 1 jan * exit 3`
#[scheduled(cron = "0 0 3 1 JAN *", zone = "Europe/Berlin")]
fn exit() -> std::io::Result<()> {
    shell("/bin/sh", "exit 3", "")
}

// NOT TRANSLATED, line 23: 0 25 * * * bad
//   error: invalid crontab line: hour `25` is out of range 0-23
//
//     0 25 * * *
//       ^^ hour

// NOT TRANSLATED, line 24: 0~59 3 * * * random
//   error: invalid crontab line: `~` stands for a random value, which no expression has
//
//     0~59 3 * * *
//     ^^^^ minute
//
//     help: write one of its values; to spread runs, use the attribute `jitter`

// NOT TRANSLATED, line 25: 0 0 30 2 * never
//   error: a task that never runs is refused: February has no day 30

// NOT TRANSLATED, line 26: 0 5 * * *
//   error: the line has no command
//     help: five fields or a macro stand before it

/// Runs a command as cron does: by a shell, with this standard input.
fn shell(shell: &str, command: &str, input: &str) -> std::io::Result<()> {
    use std::io::{Error, Write};
    use std::process::{Command, Stdio};

    let mut child = Command::new(shell).arg("-c").arg(command).stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read its input may have ended already.
        stdin.write_all(input.as_bytes()).ok();
    }
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(Error::other(format!("{command}: {status}"))) }
}
