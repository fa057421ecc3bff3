//! Start-up of a function, and its requests when it is warm: wall-clock time, processor time and memory.

use super::operation::{Operation, PerOperation};
use super::shared_stack::Candidate;
use crate::process::{ProcessorTime, peak_bytes, time_on_processor};
use crate::stats::Latencies;
use ledger_tests::lambda::Function;
use std::time::{Duration, Instant};

/// A function asks for its next event, and may write its log, after its reply has arrived.
const AFTER_REPLY: Duration = Duration::from_millis(20);

/// A start and its first payment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cold {
    /// From the start of the process until it asks for its first event.
    pub init: Duration,
    /// The processor time of the process in between.
    pub processor: Duration,
    /// From the first event until its reply, a payment.
    pub first_payment: Duration,
    /// The process's peak memory after it, in bytes.
    pub memory: u64,
}

impl Cold {
    /// Starts a function, sends it one payment, and ends it.
    ///
    /// # Errors
    /// If the reply is not as expected, or the system does not state the process's figures.
    pub async fn measure(candidate: &Candidate) -> Result<Self, String> {
        let mut function = candidate.start(&candidate.program).await;
        let init = function.ready().await;
        let processor = time_on_processor(function.id()).ok_or(NO_FIGURES)?;
        let event = candidate.event(Operation::Payment);
        let began = Instant::now();
        let reply = function.invoke_raw(event).await;
        let first_payment = began.elapsed();
        candidate.check(Operation::Payment, &reply)?;
        Ok(Self { init, processor, first_payment, memory: peak_bytes(function.id()).ok_or(NO_FIGURES)? })
    }

    /// The median of each figure; zeros if there are none.
    #[must_use]
    pub fn median(all: &[Self]) -> Self {
        Self {
            init: median(all, |cold| cold.init),
            processor: median(all, |cold| cold.processor),
            first_payment: median(all, |cold| cold.first_payment),
            memory: median(all, |cold| cold.memory),
        }
    }
}

/// Processor time and memory are read from `/proc`.
const NO_FIGURES: &str = "the system states no processor time or memory of a process: run this on Linux";

fn median<T, V: Ord + Copy + Default>(all: &[T], value: impl Fn(&T) -> V) -> V {
    let mut values: Vec<V> = all.iter().map(value).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The requests of one operation.
#[derive(Clone, Debug, Default)]
pub struct Warm {
    /// The time of each request, from its event until its reply.
    latencies: Vec<Duration>,
    /// The processor time of all, in nanoseconds of the scheduler.
    processor: Duration,
    /// The same in ticks of the clock, which divide it into user and system time.
    ticks: ProcessorTime,
}

/// The figures of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WarmFigures {
    /// The median of a request's time.
    pub p50: Duration,
    /// 99 of 100 requests take no longer.
    pub p99: Duration,
    /// 999 of 1,000 requests take no longer.
    pub p999: Duration,
    /// Processor time of a request.
    pub processor: Duration,
    /// Of it, in the program.
    pub user: Duration,
    /// Of it, in the kernel.
    pub system: Duration,
}

impl Warm {
    /// The figures of a request; zeros if there is none.
    #[must_use]
    pub fn figures(self) -> WarmFigures {
        let latencies = Latencies::new(self.latencies);
        let requests = u32::try_from(latencies.count()).unwrap_or(u32::MAX).max(1);
        WarmFigures {
            p50: latencies.percentile(500),
            p99: latencies.percentile(990),
            p999: latencies.percentile(999),
            processor: self.processor / requests,
            user: self.ticks.user / requests,
            system: self.ticks.system / requests,
        }
    }
}

/// A function that runs, with what was measured so far.
#[derive(Debug)]
pub struct Running<'a> {
    candidate: &'a Candidate,
    function: Function,
    warm: PerOperation<Warm>,
}

impl<'a> Running<'a> {
    /// Starts a function and sends it some requests of each operation.
    ///
    /// # Errors
    /// If a reply is not as expected.
    pub async fn start(candidate: &'a Candidate, warm_up: u32) -> Result<Self, String> {
        let mut function = candidate.start(&candidate.program).await;
        let _ = function.ready().await;
        candidate.warm_up(&function, warm_up).await?;
        Ok(Self { candidate, function, warm: PerOperation::default() })
    }

    /// Measures some requests of an operation, one after the other.
    ///
    /// # Errors
    /// If a reply is not as expected, or the system does not state the process's figures.
    pub async fn round(&mut self, operation: Operation, requests: u32) -> Result<(), String> {
        let (processor, ticks) = self.processor().await?;
        let warm = &mut self.warm[operation.place()];
        for _ in 0..requests {
            let event = self.candidate.event(operation);
            let began = Instant::now();
            let reply = self.function.invoke_raw(event).await;
            warm.latencies.push(began.elapsed());
            self.candidate.check(operation, &reply)?;
        }
        let (processor_now, ticks_now) = self.processor().await?;
        let (warm, used) = (&mut self.warm[operation.place()], ticks_now.since(ticks));
        warm.processor += processor_now.saturating_sub(processor);
        warm.ticks.user += used.user;
        warm.ticks.system += used.system;
        Ok(())
    }

    /// The processor time of the process so far.
    async fn processor(&self) -> Result<(Duration, ProcessorTime), String> {
        tokio::time::sleep(AFTER_REPLY).await;
        let id = self.function.id();
        time_on_processor(id).zip(ProcessorTime::of(id)).ok_or_else(|| NO_FIGURES.to_owned())
    }

    /// Ends the process; returns the figures and its peak memory in bytes.
    ///
    /// # Errors
    /// If the system does not state it.
    pub fn finish(self) -> Result<(PerOperation<WarmFigures>, u64), String> {
        let peak = peak_bytes(self.function.id()).ok_or(NO_FIGURES)?;
        Ok((self.warm.map(Warm::figures), peak))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_of_each_figure() {
        let cold = |init: u64, memory| Cold { init: Duration::from_millis(init), memory, ..Cold::default() };
        let median = Cold::median(&[cold(3, 10), cold(1, 30), cold(2, 20)]);
        assert_eq!((median.init.as_millis(), median.memory), (2, 20));
        assert_eq!(Cold::median(&[]), Cold::default());
    }

    #[test]
    fn figures_are_of_one_request() {
        let ticks = ProcessorTime { user: Duration::from_millis(60), system: Duration::from_millis(20) };
        let latencies = (1..=100).map(Duration::from_millis).collect();
        let figures = Warm { latencies, processor: Duration::from_millis(81), ticks }.figures();
        assert_eq!([figures.p50, figures.p99, figures.p999].map(|time| time.as_millis()), [50, 99, 100]);
        assert_eq!([figures.processor, figures.user, figures.system].map(|time| time.as_micros()), [810, 600, 200]);
        assert_eq!(Warm::default().figures(), WarmFigures::default());
    }
}
