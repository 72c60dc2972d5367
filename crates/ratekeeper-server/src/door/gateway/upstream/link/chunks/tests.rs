//! Bodies in chunks: whole, cut anywhere, and broken.

use super::super::head::Bad;
use super::{Chunks, LINE_MAX, Piece, TRAILERS_MAX};
use bytes::BytesMut;
use proptest::collection::vec;
use proptest::prelude::*;

/// What comes of these bytes, read in pieces of these sizes and then at once: data, trailers and what is left
/// behind the end; nothing if the end is missing.
fn taken(wire: &[u8], sizes: &[usize]) -> Result<Option<(Vec<u8>, usize, usize)>, Bad> {
    let (mut chunks, mut read) = (Chunks::default(), BytesMut::new());
    let (mut data, mut trailers, mut rest) = (Vec::new(), 0, wire);
    let mut sizes = sizes.iter();
    loop {
        match chunks.next(&mut read)? {
            Piece::Data(piece) => data.extend_from_slice(&piece),
            Piece::Trailers(own) => trailers = own.len(),
            Piece::End => return Ok(Some((data, trailers, read.len() + rest.len()))),
            Piece::More if rest.is_empty() => return Ok(None),
            Piece::More => {
                let count = sizes.next().map_or(rest.len(), |size| rest.len().min(*size));
                let (more, later) = rest.split_at(count);
                read.extend_from_slice(more);
                rest = later;
            }
        }
    }
}

/// A body in chunks, each with what extends its line.
fn written(pieces: &[Vec<u8>], extension: &str, trailers: &str) -> Vec<u8> {
    let mut wire = Vec::new();
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        wire.extend(format!("{:X}{extension}\r\n", piece.len()).bytes());
        wire.extend(piece);
        wire.extend(b"\r\n");
    }
    wire.extend(format!("0\r\n{trailers}\r\n").bytes());
    wire
}

proptest! {
    /// Goal: a body is the same however it is cut, on its way and into chunks, and ends where it ends.
    /// Method: any pieces, with extensions and trailers or without, something behind them, read in any portions.
    #[test]
    fn a_body_is_what_its_chunks_hold(
        pieces in vec(vec(any::<u8>(), 0..40), 0..8),
        extension in prop_oneof![Just(""), Just("  "), Just(";a=b"), Just(" ;\"x\"")],
        trailers in prop_oneof![Just(("", 0)), Just(("a: 1\r\n", 1)), Just(("a: 1\r\nb: 2\r\n", 2))],
        behind in vec(any::<u8>(), 0..5),
        sizes in vec(1_usize..20, 0..200),
    ) {
        let mut wire = written(&pieces, extension, trailers.0);
        let length = wire.len();
        wire.extend(&behind);
        let whole = Some((pieces.concat(), trailers.1, behind.len()));
        prop_assert_eq!(taken(&wire, &sizes), Ok(whole));
        // One byte less, and its end is never seen.
        prop_assert_eq!(taken(&wire[..length - 1], &sizes), Ok(None));
    }

    /// Goal: whatever comes ends in data, an end or a fault, and never takes more than there is.
    /// Method: bytes of which chunks are made, in any order.
    #[test]
    fn nothing_upsets_it(wire in "[0-9a-fA-F;: \r\n\t+x-]{0,60}", sizes in vec(1_usize..9, 0..60)) {
        let whole = taken(wire.as_bytes(), &[]);
        let bytes = wire.len();
        prop_assert!(!matches!(&whole, Ok(Some((data, _, left))) if data.len() + left > bytes));
        prop_assert_eq!(taken(wire.as_bytes(), &sizes), whole);
    }
}

/// Goal: what is not in the grammar is no body.
/// Method: one fault each.
#[test]
fn faults_are_told() {
    let faults: [&[u8]; 12] = [
        b"\r\n",
        b"g\r\n",
        b"-1\r\n",
        b"+1\r\nx\r\n",
        b"0x1\r\nx\r\n",
        b"1\nx\r\n0\r\n\r\n",
        b"1\r\nxy\r\n",
        b"1\r\nx\n0\r\n\r\n",
        b"1 2\r\nx\r\n",
        b"1;\rx\r\n",
        b"10000000000000000\r\n",
        b"0\r\na b: c\r\n\r\n",
    ];
    for fault in faults {
        assert_eq!(taken(fault, &[]), Err(Bad), "{}", fault.escape_ascii());
    }
    assert_eq!(taken(b"ffffffffffffffff\r\n", &[]), Ok(None), "the largest size there is");
}

/// Goal: lines and trailers have a bound.
/// Method: one byte below each, and at it.
#[test]
fn lines_and_trailers_have_a_bound() {
    let line = |length: usize| format!("1;{}", "x".repeat(length - 2)).into_bytes();
    assert_eq!(taken(&line(LINE_MAX - 1), &[]), Ok(None));
    assert_eq!(taken(&line(LINE_MAX), &[]), Err(Bad));
    let trailers = |length: usize| format!("0\r\na: {}", "x".repeat(length - 3)).into_bytes();
    assert_eq!(taken(&trailers(TRAILERS_MAX - 1), &[]), Ok(None));
    assert_eq!(taken(&trailers(TRAILERS_MAX), &[]), Err(Bad));
}
