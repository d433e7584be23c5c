//! What a lab file may say, as typed. What it means is made of it in [`build`](super::build).

use core::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LabFile {
    pub(super) name: Option<Spanned<String>>,
    pub(super) mtu: Option<Spanned<Scalar>>,
    pub(super) prefix: Option<Spanned<String>>,
    pub(super) sm: Option<Spanned<Manager>>,
    #[serde(default, rename = "host")]
    pub(super) hosts: Vec<Spanned<Host>>,
    #[serde(default, rename = "switch")]
    pub(super) switches: Vec<Spanned<Switch>>,
    #[serde(default, rename = "link")]
    pub(super) links: Vec<Spanned<Link>>,
    #[serde(default, rename = "partition")]
    pub(super) partitions: Vec<Spanned<Partition>>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Host {
    pub(super) name: Spanned<String>,
    pub(super) guid: Option<Spanned<Scalar>>,
    pub(super) ports: Option<Spanned<Scalar>>,
    #[serde(default)]
    pub(super) switch: OneOrMany,
    pub(super) addresses: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(rename = "interface")]
    pub(super) interfaces: Option<Vec<Spanned<Interface>>>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Interface {
    pub(super) name: Option<Spanned<String>>,
    pub(super) port: Option<Spanned<Scalar>>,
    pub(super) pkey: Option<Spanned<Scalar>>,
    pub(super) mtu: Option<Spanned<Scalar>>,
    #[serde(default)]
    pub(super) addresses: Vec<Spanned<String>>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Switch {
    pub(super) name: Spanned<String>,
    pub(super) guid: Option<Spanned<Scalar>>,
    pub(super) ports: Option<Spanned<Scalar>>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Link {
    pub(super) ends: Spanned<Vec<Spanned<String>>>,
    pub(super) loss: Option<Spanned<Scalar>>,
    pub(super) corrupt: Option<Spanned<Scalar>>,
    pub(super) duplicate: Option<Spanned<Scalar>>,
    pub(super) reorder: Option<Spanned<Scalar>>,
    pub(super) delay: Option<Spanned<Scalar>>,
    pub(super) jitter: Option<Spanned<Scalar>>,
    pub(super) rate: Option<Spanned<Scalar>>,
    pub(super) up: Option<bool>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Partition {
    pub(super) pkey: Spanned<Scalar>,
    #[serde(default)]
    pub(super) members: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) limited: Vec<Spanned<String>>,
    pub(super) ipoib: Option<bool>,
}

/// `sm = "s1"` or `sm = { node = "s1", priority = 5 }`.
#[derive(Debug)]
pub(super) enum Manager {
    Node(String),
    Table(ManagerTable),
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ManagerTable {
    pub(super) node: Spanned<String>,
    pub(super) priority: Option<Spanned<Scalar>>,
    pub(super) sweep: Option<Spanned<Scalar>>,
}

/// A number or a string, as text: which of them it is does not matter to who writes it.
#[derive(Debug)]
pub(super) struct Scalar(pub(super) String);

/// `switch = "s1"` or `switch = ["s1", "s2"]`.
#[derive(Debug, Default)]
pub(super) struct OneOrMany(pub(super) Vec<Spanned<String>>);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ScalarVisitor;

        impl Visitor<'_> for ScalarVisitor {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a string")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(text.to_owned()))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }
        }

        deserializer.deserialize_any(ScalarVisitor)
    }
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Item;

        impl<'de> Visitor<'de> for Item {
            type Value = Vec<String>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a switch, or a list of them")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(vec![text.to_owned()])
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(items)
            }
        }

        /// Tells [`Spanned`] apart from the list within it.
        struct Items(Vec<String>);

        impl<'de> Deserialize<'de> for Items {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Item).map(Self)
            }
        }

        let items = Spanned::<Items>::deserialize(deserializer)?;
        let span = items.span();
        Ok(Self(
            items
                .into_inner()
                .0
                .into_iter()
                .map(|item| Spanned::new(span.clone(), item))
                .collect(),
        ))
    }
}

impl<'de> Deserialize<'de> for Manager {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ManagerVisitor;

        impl<'de> Visitor<'de> for ManagerVisitor {
            type Value = Manager;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a node, \"none\", or a table with `node`")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Manager, E> {
                Ok(Manager::Node(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Manager, A::Error> {
                ManagerTable::deserialize(MapAccessDeserializer::new(map)).map(Manager::Table)
            }
        }

        deserializer.deserialize_any(ManagerVisitor)
    }
}
