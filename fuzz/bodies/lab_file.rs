//! Any text as a lab file: refused at a place in it, or a lab that can be written down again.

use softib::lab::{Lab, TWO_HOSTS, write};

pub(crate) fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match Lab::parse("lab.toml", &text) {
        Ok(lab) => {
            let mut written = String::new();
            if let Err(error) = write::toml(&lab.subnet, &mut written) {
                panic!("a string takes anything: {error}");
            }
            let again = Lab::parse("written.toml", &written);
            let again = again.unwrap_or_else(|error| panic!("{error}\n{written}"));
            assert_eq!(again.subnet.nodes.len(), lab.subnet.nodes.len());
            assert_eq!(again.subnet.links.len(), lab.subnet.links.len());
        }
        Err(error) => {
            let lines = text.lines().count().max(1);
            assert!((1..=lines + 1).contains(&error.line()), "{error}");
            assert!(error.column() >= 1);
            assert!(error.to_string().starts_with("lab.toml:"), "{error}");
        }
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    vec![
        TWO_HOSTS.as_bytes().to_vec(),
        include_bytes!("../../examples/fat-tree.toml").to_vec(),
        LISTING.as_bytes().to_vec(),
        b"[[host]]\nname = \"h1\"\n".to_vec(),
    ]
}

/// As `ibnetdiscover` prints a subnet.
const LISTING: &str = "\
Switch\t4 \"S-0000000000000010\"\t\t# \"leaf\" base port 0 lid 1 lmc 0
[1]\t\"H-0000000000000020\"[1](21)\t\t# \"h1\" lid 2 4xSDR
[2]\t\"H-0000000000000030\"[1](31)\t\t# \"h2\" lid 3 4xSDR

Ca\t1 \"H-0000000000000020\"\t\t# \"h1\"
[1](21)\t\"S-0000000000000010\"[1]\t\t# lid 2 lmc 0 \"leaf\" lid 1 4xSDR

Ca\t1 \"H-0000000000000030\"\t\t# \"h2\"
[1](31)\t\"S-0000000000000010\"[2]\t\t# lid 3 lmc 0 \"leaf\" lid 1 4xSDR
";
