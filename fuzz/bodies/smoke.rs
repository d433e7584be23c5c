//! Runs a body on its seeds and on what chance makes of them: the same inputs each time.

/// Runs `body` on `seeds` and on `rounds` inputs that are made of them.
pub(crate) fn run(seeds: &[Vec<u8>], rounds: usize, body: impl Fn(&[u8])) {
    let mut rng = fastrand::Rng::with_seed(0x1b);
    for seed in seeds {
        body(seed);
        // Every length that it can be cut to.
        for len in 0..seed.len() {
            body(&seed[..len]);
        }
    }
    for _ in 0..rounds {
        let mut input = rng.choice(seeds).cloned().unwrap_or_default();
        for _ in 0..rng.usize(1..=6) {
            mutate(&mut rng, &mut input);
        }
        body(&input);
    }
}

fn mutate(rng: &mut fastrand::Rng, input: &mut Vec<u8>) {
    if input.is_empty() {
        input.push(rng.u8(..));
        return;
    }
    let at = rng.usize(..input.len());
    match rng.u8(..8) {
        0..3 => input[at] ^= 1 << rng.u8(..8),
        3 => input[at] = rng.u8(..),
        4 => input[at] = *rng.choice(&[0, 1, 0x7f, 0x80, 0xfe, 0xff]).unwrap_or(&0),
        5 => input.truncate(at),
        6 => {
            let from = rng.usize(..input.len());
            let len = rng.usize(1..=8).min(input.len() - at.max(from));
            input.copy_within(from..from + len, at);
        }
        _ => {
            let len = rng.usize(1..=8);
            let inserted: Vec<u8> = (0..len).map(|_| rng.u8(..)).collect();
            input.splice(at..at, inserted);
        }
    }
}
