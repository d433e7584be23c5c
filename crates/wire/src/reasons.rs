//! How reasons to drop something are declared.
//!
//! Every crate that refuses packets or MADs has a list of reasons, one for each check. It is declared
//! with [`reasons!`](crate::reasons!), so that everywhere a reason has a name for tables, says what it
//! means by its doc comment, and has a counter.

/// Declares an enum of reasons to drop something, and a struct with a counter for each.
///
/// ```
/// softib_wire::reasons! {
///     /// Why the gate stays shut.
///     pub enum GateDrop, GateDrops {
///         /// The key is of another gate.
///         WrongKey = "gate-wrong-key";
///         /// The gate is shut at night.
///         Night = "gate-night";
///     }
/// }
///
/// let mut drops = GateDrops::new();
/// drops.add(GateDrop::Night);
/// assert_eq!(drops.iter().collect::<Vec<_>>(), [(GateDrop::Night, 1)]);
/// assert_eq!(GateDrop::Night.name(), "gate-night");
/// assert_eq!(GateDrop::Night.meaning(), "The gate is shut at night.");
/// ```
///
/// A second column, such as a counter of the specification that the reason moves as well, is a
/// variant of another enum: `pub enum GateDrop, GateDrops, bell -> Bell { … Night = "gate-night",
/// Loud; }` makes the method `bell`.
#[macro_export]
macro_rules! reasons {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident, $counts:ident {
            $( $(#[doc = $doc:literal])+ $reason:ident = $text:literal; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        $vis enum $name {
            $( $(#[doc = $doc])+ $reason, )*
        }

        #[allow(dead_code, reason = "not every list of reasons needs all of it")]
        impl $name {
            /// Every reason.
            $vis const ALL: &'static [Self] = &[$( Self::$reason, )*];

            /// A short name for tables.
            #[must_use]
            $vis const fn name(self) -> &'static str {
                match self {
                    $( Self::$reason => $text, )*
                }
            }

            /// What it means, in a sentence.
            #[must_use]
            $vis const fn meaning(self) -> &'static str {
                match self {
                    $( Self::$reason => concat!($($doc),+).trim_ascii_start(), )*
                }
            }
        }

        /// A counter for each reason.
        #[derive(Debug, Clone, PartialEq, Eq)]
        $vis struct $counts([u64; $name::ALL.len()]);

        #[allow(dead_code, reason = "not every list of reasons needs all of it")]
        impl $counts {
            /// Nothing was dropped yet.
            #[must_use]
            $vis const fn new() -> Self {
                Self([0; $name::ALL.len()])
            }

            /// Counts one drop.
            #[inline]
            $vis const fn add(&mut self, reason: $name) {
                self.add_many(reason, 1);
            }

            /// Counts several drops at once, such as the packets of a large send.
            #[inline]
            $vis const fn add_many(&mut self, reason: $name, count: u64) {
                let counter = &mut self.0[reason as usize];
                *counter = counter.saturating_add(count);
            }

            /// How often for this reason.
            #[must_use]
            $vis const fn count(&self, reason: $name) -> u64 {
                self.0[reason as usize]
            }

            /// All drops together.
            #[must_use]
            $vis fn total(&self) -> u64 {
                self.0.iter().sum()
            }

            /// The reasons that occurred, with how often.
            $vis fn iter(&self) -> impl Iterator<Item = ($name, u64)> + '_ {
                $name::ALL
                    .iter()
                    .map(|&reason| (reason, self.count(reason)))
                    .filter(|&(_, count)| count > 0)
            }
        }

        impl Default for $counts {
            fn default() -> Self {
                Self::new()
            }
        }
    };
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident, $counts:ident, $(#[$column_meta:meta])* $column:ident -> $of:ident {
            $( $(#[doc = $doc:literal])+ $reason:ident = $text:literal, $value:ident; )*
        }
    ) => {
        $crate::reasons! {
            $(#[$meta])*
            $vis enum $name, $counts {
                $( $(#[doc = $doc])+ $reason = $text; )*
            }
        }

        impl $name {
            $(#[$column_meta])*
            #[must_use]
            $vis const fn $column(self) -> $of {
                match self {
                    $( Self::$reason => $of::$value, )*
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    #[derive(Debug, PartialEq, Eq)]
    enum Blame {
        Sender,
        Nobody,
    }

    reasons! {
        /// Why.
        enum Reason, Counts, /// Who is to blame.
        blame -> Blame {
            /// The first line
            /// and the second.
            First = "first", Sender;
            /// Another.
            Second = "second", Nobody;
        }
    }

    #[test]
    fn counts_saturate_and_what_never_occurred_is_left_out() {
        let mut counts = Counts::default();
        counts.add_many(Reason::Second, u64::MAX);
        counts.add(Reason::Second);
        assert_eq!(counts.count(Reason::Second), u64::MAX);
        assert_eq!(counts.count(Reason::First), 0);
        assert_eq!(counts.iter().count(), 1);
        assert_eq!(counts.total(), u64::MAX);
    }

    #[test]
    fn a_reason_says_what_its_declaration_says() {
        assert_eq!(Reason::ALL, [Reason::First, Reason::Second]);
        assert_eq!(Reason::First.name(), "first");
        assert_eq!(Reason::First.meaning(), "The first line and the second.");
        assert_eq!(Reason::First.blame(), Blame::Sender);
        assert_eq!(Reason::Second.blame(), Blame::Nobody);
    }
}
