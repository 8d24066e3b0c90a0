//! `initialize_flood`: what three thousand greetings without a token leave in the memory of a door.

use crate::http::{Door, Era};
use crate::{figure, home};

const GREETINGS: usize = 3_000;

pub(crate) fn measure() {
    let scratch = home::scratch();
    home::install(scratch.path(), &home::plugin("text"));
    let door = Door::remit(scratch.path());
    // What every door has after its first client is not the flood's.
    door.client(Era::Legacy).list();
    door.client(Era::Modern).list();
    let before = door.resident_mib();
    for _ in 0..GREETINGS {
        assert_eq!(door.stranger(Era::Legacy).knock(), 401, "a stranger was let in");
    }
    figure("initialize_flood", "value", door.resident_mib() - before, "MiB", "< 10");
}
