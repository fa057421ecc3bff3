//! Closed lists of values that are stored and shown by a stable name.

/// Declares an enum by the names of its values. `ALL`, `name` and `parse` follow.
macro_rules! words {
    ($(#[$of:meta])* $vis:vis enum $word:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$of])*
        $vis enum $word { $($(#[$doc])* $variant,)* }

        impl $word {
            /// Every value.
            $vis const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// The stable name, as stored and in responses.
            #[must_use]
            $vis const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Parses a name; `None` for any other text.
            #[must_use]
            $vis fn parse(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use words;

#[cfg(test)]
mod tests {
    words! {
        /// Whether a door is open.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Door {
            /// It can be passed.
            Open = "open",
            /// It cannot be passed.
            NotOpen = "not_open",
        }
    }

    #[test]
    fn word_is_parsed_by_its_name_alone() {
        assert_eq!(Door::ALL, [Door::Open, Door::NotOpen]);
        assert_eq!(Door::ALL.map(Door::name), ["open", "not_open"]);
        assert_eq!(Door::ALL.map(|door| Door::parse(door.name())), Door::ALL.map(Some));
        for other in ["", "Open", "open ", "NotOpen", "not open"] {
            assert_eq!(Door::parse(other), None, "{other}");
        }
    }
}
