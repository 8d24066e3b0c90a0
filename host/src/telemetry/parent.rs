//! The span of the caller in which a call happens, as W3C Trace Context says it: `traceparent`.
//!
//! A caller decides where its call is shown, never whether: its flags are not read. `tracestate` and `baggage`
//! are free text of others and are not read either.

/// The caller's span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The trace.
    pub(super) trace: [u8; 16],
    /// The span in it.
    pub(super) span: [u8; 8],
}

impl Parent {
    /// Reads a `traceparent`. What is none is as good as none: a call never fails for it.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let [version] = hex::<1>(version)?;
        let [_flags] = hex::<1>(flags)?;
        // Version 0 has four parts; later ones may have more, and 255 is none.
        let has_more = parts.next().is_some();
        if version == u8::MAX || version == 0 && has_more {
            return None;
        }
        let (trace, span) = (hex::<16>(trace)?, hex::<8>(span)?);
        let is_somewhere = trace != [0; 16] && span != [0; 8];
        is_somewhere.then_some(Self { trace, span })
    }
}

/// Bytes from exactly so many lower-case digits.
fn hex<const BYTES: usize>(text: &str) -> Option<[u8; BYTES]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * BYTES {
        return None;
    }
    let mut bytes = [0; BYTES];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

fn digit(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_of_the_caller_is_read() {
        let parent = Parent::read("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00").unwrap();
        assert_eq!(parent.trace[..2], [0x0a, 0xf7]);
        assert_eq!(parent.span[6..], [0x33, 0x31]);
        let later = Parent::read("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more");
        assert_eq!(later, Some(parent));
    }

    #[test]
    fn what_is_none_is_as_good_as_none() {
        for text in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319cc-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c8031\u{e9}-b7ad6b7169203331-01",
            "00-my secret that is in the header-b7ad6b7169203331-01",
        ] {
            assert_eq!(Parent::read(text), None, "{text}");
        }
    }
}
