//! Commands of Redis clients: any bytes are read, and a command is where it says that it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ratekeeper_server::door::resp::frame::{Bounds, COMMAND_MAX, Command, parse};

fuzz_target!(|bytes: &[u8]| {
    for bounds in [Bounds::FULL, Bounds::STRANGER] {
        let mut rest = bytes;
        let (mut command, mut again) = (Command::default(), Command::default());
        while let Ok(Some(used)) = parse(rest, bounds, &mut command) {
            assert!(0 < used && used <= rest.len().min(COMMAND_MAX));
            assert!(
                command.len() <= bounds.args && command.iter().all(|arg| arg.len() <= bounds.bulk)
            );
            // It does not depend on what follows, and is not there before its last byte.
            assert_eq!(parse(&rest[..used], bounds, &mut again), Ok(Some(used)));
            assert_eq!(command[..], again[..]);
            assert_eq!(parse(&rest[..used - 1], bounds, &mut again), Ok(None));
            rest = &rest[used..];
        }
    }
});
