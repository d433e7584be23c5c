//! How the codes of a field are declared that peers may extend: codes without a name are kept and
//! shown as numbers, because a message with a new reason in it is still a message.

macro_rules! open_codes {
    (
        $(#[$meta:meta])*
        pub struct $name:ident($repr:ty) {
            $( $(#[$constant_meta:meta])* $constant:ident = $code:literal, $text:literal; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name($repr);

        newtype_field!($name($repr));

        impl $name {
            $( $(#[$constant_meta])* pub const $constant: Self = Self($code); )*

            /// The value with this code, named or not.
            #[must_use]
            pub const fn from_bits_truncate(code: $repr) -> Self {
                Self(code)
            }

            /// The code on the wire.
            #[must_use]
            pub const fn bits(self) -> $repr {
                self.0
            }

            /// What the code means, if it has a name here.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $( $code => Some($text), )*
                    _ => None,
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "code {}", self.0),
                }
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "{} ({self})", self.0)
            }
        }
    };
}
