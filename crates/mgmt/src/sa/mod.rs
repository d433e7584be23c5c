//! The subnet administrator: answers for the subnet manager's database (IBA 15).
