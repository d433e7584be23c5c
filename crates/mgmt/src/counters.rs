//! How reasons to drop something are declared, with a counter for each.

/// Declares an enum of reasons and a struct that counts them.
macro_rules! drop_reasons {
    (
        $(#[$meta:meta])*
        pub enum $name:ident, $counters:ident {
            $( $(#[$reason_meta:meta])* $reason:ident = $text:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $( $(#[$reason_meta])* $reason, )*
        }

        impl $name {
            /// Every reason.
            pub const ALL: &'static [Self] = &[$( Self::$reason, )*];

            /// The reason as a person reads it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$reason => $text, )*
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }

        /// How often something was dropped, by reason.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $counters([u64; $name::ALL.len()]);

        impl $counters {
            /// How often for this reason.
            #[must_use]
            pub const fn count(&self, reason: $name) -> u64 {
                self.0[reason as usize]
            }

            /// All reasons with their counts.
            pub fn iter(&self) -> impl Iterator<Item = ($name, u64)> + '_ {
                $name::ALL.iter().map(|&reason| (reason, self.count(reason)))
            }

            /// Counts one.
            pub const fn add(&mut self, reason: $name) {
                let count = &mut self.0[reason as usize];
                *count = count.saturating_add(1);
            }
        }
    };
}
