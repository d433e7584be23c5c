//! A thousand hosts.
