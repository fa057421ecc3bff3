//! The queues that events are published to. Functions that publish nothing have none.

use super::ConfigError;

const EVENTS: &str = "EVENTS_QUEUE_URL";
const DEAD_LETTERS: &str = "EVENTS_DEAD_LETTERS_URL";
const EXAMPLE: &str = "https://sqs.ap-northeast-1.amazonaws.com/123456789012/ecopay-events.fifo";
const DEAD_LETTERS_EXAMPLE: &str = "https://sqs.ap-northeast-1.amazonaws.com/123456789012/ecopay-put-aside";

/// The queues' URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventQueues {
    /// The FIFO queue of events.
    pub events: String,
    /// The queue of references to entries that can never be published.
    pub dead_letters: String,
}

impl EventQueues {
    /// Reads the queues from variables by name; `None` if neither is set.
    ///
    /// # Errors
    /// [`ConfigError`] if one is set without the other, or is not a URL.
    pub(super) fn from_vars(set: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, ConfigError> {
        let missing = |name, what, example| ConfigError::Missing { name, what, example };
        let queues = match (set(EVENTS), set(DEAD_LETTERS)) {
            (None, None) => return Ok(None),
            (Some(events), Some(dead_letters)) => Self { events, dead_letters },
            (None, Some(_)) => return Err(missing(EVENTS, "the FIFO queue that events go to", EXAMPLE)),
            (Some(_), None) => {
                let what = "the queue for entries that cannot be published";
                return Err(missing(DEAD_LETTERS, what, DEAD_LETTERS_EXAMPLE));
            }
        };
        let is_fifo = queues.events.ends_with(".fifo") && super::is_endpoint(&queues.events);
        if !is_fifo {
            let why = "is not the URL of a FIFO queue: its name must end with .fifo";
            return Err(ConfigError::Wrong { name: EVENTS, why, example: EXAMPLE });
        }
        if !super::is_endpoint(&queues.dead_letters) {
            let why = "is not the URL of a queue";
            return Err(ConfigError::Wrong { name: DEAD_LETTERS, why, example: DEAD_LETTERS_EXAMPLE });
        }
        Ok(Some(queues))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(vars: &[(&str, &str)]) -> Result<Option<EventQueues>, String> {
        let set = |name: &str| vars.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
        EventQueues::from_vars(set).map_err(|error| error.to_string())
    }

    #[test]
    fn queues_are_set_both_or_neither() {
        assert_eq!(queues(&[]), Ok(None));
        let (events, dead_letters) = (EXAMPLE.to_owned(), DEAD_LETTERS_EXAMPLE.to_owned());
        let both = queues(&[(EVENTS, EXAMPLE), (DEAD_LETTERS, DEAD_LETTERS_EXAMPLE)]);
        assert_eq!(both, Ok(Some(EventQueues { events, dead_letters })));
        for (vars, want) in [
            (vec![(EVENTS, EXAMPLE)], "EVENTS_DEAD_LETTERS_URL is not set"),
            (vec![(DEAD_LETTERS, EXAMPLE)], "EVENTS_QUEUE_URL is not set"),
            (vec![(EVENTS, "x.fifo"), (DEAD_LETTERS, EXAMPLE)], "EVENTS_QUEUE_URL is not the URL"),
            (vec![(EVENTS, DEAD_LETTERS_EXAMPLE), (DEAD_LETTERS, EXAMPLE)], "must end with .fifo"),
            (vec![(EVENTS, EXAMPLE), (DEAD_LETTERS, "x")], "EVENTS_DEAD_LETTERS_URL is not the URL"),
        ] {
            let error = queues(&vars).unwrap_err();
            assert!(error.contains(want) && error.contains("for example"), "{error}");
        }
    }
}
