//! Processor time and memory of a process, as Linux states them.

use std::fs;
use std::time::Duration;

/// The length of the kernel's clock tick in `/proc/PID/stat`: 100 a second on Linux (`getconf CLK_TCK`).
const TICK: Duration = Duration::from_millis(10);

/// Processor time of a process and all its threads, in ticks of 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// Time in the program.
    pub user: Duration,
    /// Time in the kernel.
    pub system: Duration,
}

impl ProcessorTime {
    /// The processor time of a running process; `None` where there is no such process or no `/proc`.
    #[must_use]
    pub fn of(process: u32) -> Option<Self> {
        Self::in_stat(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?).map(|(_, time)| time)
    }

    /// The processor time of a running process's threads whose names satisfy `is_counted`. Threads that have ended are
    /// not counted. Linux keeps 15 characters of a name.
    #[must_use]
    pub fn of_threads(process: u32, is_counted: impl Fn(&str) -> bool) -> Option<Self> {
        let mut sum = Self { user: Duration::ZERO, system: Duration::ZERO };
        for thread in fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten() {
            // The thread may have ended.
            let Ok(stat) = fs::read_to_string(thread.path().join("stat")) else { continue };
            let (name, time) = Self::in_stat(&stat)?;
            if is_counted(name) {
                sum = Self { user: sum.user + time.user, system: sum.system + time.system };
            }
        }
        Some(sum)
    }

    /// The name and the times in a file `stat`.
    fn in_stat(stat: &str) -> Option<(&str, Self)> {
        // The second field is the name in parentheses, and may have spaces.
        let (name, fields) = stat.rsplit_once(") ")?;
        let (_, name) = name.split_once(" (")?;
        let ticks = |field: usize| fields.split(' ').nth(field)?.parse::<u32>().ok();
        Some((name, Self { user: TICK * ticks(11)?, system: TICK * ticks(12)? }))
    }

    /// Time in the program and in the kernel.
    #[must_use]
    pub fn total(self) -> Duration {
        self.user + self.system
    }

    /// What was used since an earlier reading.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { user: self.user.saturating_sub(earlier.user), system: self.system.saturating_sub(earlier.system) }
    }
}

/// Processor time of a process's threads from the scheduler, which counts nanoseconds; `None` where it states none.
///
/// It lacks the time of threads that have ended. If the clock's ticks, which have it, are more, they are the answer.
#[must_use]
pub fn time_on_processor(process: u32) -> Option<Duration> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten();
    let stats = threads.filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok());
    let running = stats.filter_map(|stat| stat.split(' ').next()?.parse().ok()).map(Duration::from_nanos).sum();
    Some(ProcessorTime::of(process)?.total().max(running))
}

/// The largest resident memory that a running process had, in bytes.
#[must_use]
pub fn peak_bytes(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_process_has_memory_and_processor_time() {
        let own = std::process::id();
        assert!(peak_bytes(own).is_some_and(|bytes| bytes > 1024 * 1024));
        let earlier = ProcessorTime::of(own).unwrap();
        assert_eq!(earlier.since(earlier).total(), Duration::ZERO);
        assert_eq!(ProcessorTime::of(u32::MAX), None);
        assert!(time_on_processor(own).is_some_and(|time| time >= earlier.total()));
        assert_eq!(time_on_processor(u32::MAX), None);
        let threads = ProcessorTime::of_threads(own, |_| true).unwrap();
        assert!(threads.total() <= ProcessorTime::of(own).unwrap().total());
        assert_eq!(ProcessorTime::of_threads(own, |name| name == "no such thread").unwrap().total(), Duration::ZERO);
    }
}
