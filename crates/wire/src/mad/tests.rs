//! What holds for all formats of management datagrams.
