//! Our reader of commands beside another's: `redis-protocol` reads the same bytes as the same commands.

use proptest::prelude::*;
use ratekeeper_server::door::resp::frame::{ARGS_MAX, BULK_MAX, Bounds, Command, Fault, parse};
use redis_protocol::resp2::decode::decode;
use redis_protocol::resp2::encode::encode;
use redis_protocol::resp2::types::OwnedFrame;

/// A command, and how many bytes it takes.
type Read = (Vec<Vec<u8>>, usize);

/// What the other one reads: a command and its length, if it is one that we take.
fn oracle(bytes: &[u8]) -> Option<Read> {
    let (OwnedFrame::Array(items), used) = decode(bytes).ok()?? else { return None };
    let args = items.into_iter().map(|item| match item {
        OwnedFrame::BulkString(bytes) if bytes.len() <= BULK_MAX => Some(bytes),
        _ => None,
    });
    let args: Vec<Vec<u8>> = args.collect::<Option<_>>()?;
    (args.len() <= ARGS_MAX).then_some((args, used))
}

fn ours(bytes: &[u8]) -> Result<Option<Read>, Fault> {
    let mut command = Command::default();
    let used = parse(bytes, Bounds::FULL, &mut command)?;
    Ok(used.map(|used| (command.iter().map(|arg| arg.to_vec()).collect(), used)))
}

/// A command as it is written.
fn written(args: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", args.len()).into_bytes();
    for arg in args {
        bytes.extend(format!("${}\r\n", arg.len()).as_bytes());
        bytes.extend(arg);
        bytes.extend(b"\r\n");
    }
    bytes
}

fn any_args() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..=ARGS_MAX)
}

proptest! {
    /// Goal: what the other one writes, we read, to the byte; and nothing before it is whole.
    /// Method: any arguments, written by the other one, cut at every byte and followed by anything.
    #[test]
    fn what_another_writes_is_read(args in any_args(), after in prop::collection::vec(any::<u8>(), 0..8)) {
        let frame = OwnedFrame::Array(args.iter().cloned().map(OwnedFrame::BulkString).collect());
        let mut bytes = vec![0; 4096];
        let length = encode(&mut bytes, &frame, false).expect("it fits");
        bytes.truncate(length);
        for cut in 0..length {
            prop_assert_eq!(ours(&bytes[..cut]), Ok(None), "cut at {}", cut);
        }
        bytes.extend(&after);
        prop_assert_eq!(ours(&bytes), Ok(Some((args, length))));
    }

    /// Goal: of bytes that somebody bent, what we read the other one reads, too; and what it reads as it should
    /// be written, we do.
    /// Method: a command with some bytes replaced, taken out or put in.
    #[test]
    fn bent_bytes_are_read_alike(
        args in any_args(),
        bends in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 0..4),
    ) {
        let mut bytes = written(&args);
        for (index, byte, how) in bends {
            let at = index.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => _ = bytes.remove(at),
                _ => bytes.insert(at, byte),
            }
        }
        let (read, theirs) = (ours(&bytes), oracle(&bytes));
        match (read, theirs) {
            // A line is no array.
            (Ok(Some(_)), _) if bytes.first() != Some(&b'*') => {}
            (Ok(Some((args, used))), theirs) if !args.is_empty() => {
                prop_assert_eq!(theirs, Some((args, used)));
            }
            // The other one is laxer, about signs and about how a text ends.
            (_, Some((args, used))) if bytes[..used] == written(&args) => {
                prop_assert_eq!(ours(&bytes), Ok(Some((args, used))));
            }
            _ => {}
        }
    }

    /// Goal: no bytes make it panic, or take more than they are.
    /// Method: bytes of no form at all.
    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(Some((args, used))) = ours(&bytes) {
            prop_assert!(used <= bytes.len() && args.len() <= ARGS_MAX);
        }
    }
}
