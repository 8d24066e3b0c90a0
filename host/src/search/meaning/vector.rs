//! A direction that stands for what a text means, in one byte a dimension.
//!
//! Only the direction counts, so the length is dropped when one is made. A byte a dimension moves a likeness by less
//! than a hundredth, and keeps ten thousand of them in some megabytes.

/// Dimensions at most. Models have some hundreds to four thousand.
pub(super) const MOST_DIMENSIONS: usize = 8_192;

/// The largest part of a direction.
const LARGEST: f64 = 127.0;

/// A direction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Vector {
    /// What one step of a part is of a direction with the length 1.
    step: f32,
    parts: Box<[i8]>,
}

impl Vector {
    /// The direction of these numbers; nothing where they have none, or are too many.
    pub(crate) fn new(numbers: &[f32]) -> Option<Self> {
        if numbers.is_empty() || numbers.len() > MOST_DIMENSIONS {
            return None;
        }
        let length = numbers.iter().map(|&number| f64::from(number).powi(2)).sum::<f64>().sqrt();
        let most = numbers.iter().fold(0.0_f64, |most, &number| most.max(f64::from(number).abs()));
        if !length.is_finite() || most <= 0.0 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "between -127 and 127, and below 1")]
        let (parts, step) = (
            numbers.iter().map(|&number| (f64::from(number) / most * LARGEST).round() as i8).collect(),
            (most / length / LARGEST) as f32,
        );
        Some(Self { step, parts })
    }

    /// How alike two directions are: 1 for the same, 0 for nothing in common; 0 too for those of different models.
    pub(crate) fn likeness(&self, other: &Self) -> f32 {
        if self.parts.len() != other.parts.len() {
            return 0.0;
        }
        let pairs = self.parts.iter().zip(&*other.parts);
        let sum: i32 = pairs.map(|(&one, &other)| i32::from(one) * i32::from(other)).sum();
        #[expect(clippy::cast_precision_loss, reason = "of 24 bits, the rest is far below a rounded part")]
        let sum = sum as f32;
        sum * self.step * other.step
    }

    /// How many dimensions it has.
    pub(crate) fn dimensions(&self) -> usize {
        self.parts.len()
    }

    /// As it is stored.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let parts = self.parts.iter().map(|part| part.to_le_bytes()[0]);
        self.step.to_le_bytes().into_iter().chain(parts).collect()
    }

    /// As it was stored.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (step, parts) = bytes.split_first_chunk::<4>()?;
        let step = f32::from_le_bytes(*step);
        let is_one = step.is_finite() && step > 0.0 && (1..=MOST_DIMENSIONS).contains(&parts.len());
        is_one.then(|| Self { step, parts: parts.iter().map(|&part| i8::from_le_bytes([part])).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likeness_is_the_cosine() {
        let of = |numbers: &[f32]| Vector::new(numbers).unwrap();
        let cases: [(&[f32], &[f32], f32); 5] = [
            (&[3.0, 4.0], &[3.0, 4.0], 1.0),
            (&[3.0, 4.0], &[300.0, 400.0], 1.0),
            (&[1.0, 0.0], &[0.0, 1e30], 0.0),
            (&[3.0, 4.0], &[1.0, 0.0], 0.6),
            (&[1.0, 2.0], &[-1.0, -2.0], -1.0),
        ];
        for (one, other, expected) in cases {
            let likeness = of(one).likeness(&of(other));
            assert!((likeness - expected).abs() < 0.01, "{one:?} {other:?} {likeness}");
        }
        assert_eq!(of(&[1.0]).likeness(&of(&[1.0, 1.0])).to_bits(), 0.0_f32.to_bits(), "of two models");
    }

    #[test]
    fn what_has_no_direction_is_none() {
        let many = vec![1.0; MOST_DIMENSIONS + 1];
        let none: [&[f32]; 5] = [&[], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY], &many];
        for numbers in none {
            assert_eq!(Vector::new(numbers), None, "{:?}", numbers.first());
        }
    }

    #[test]
    fn it_is_stored_as_it_is() {
        let vector = Vector::new(&[0.1, -0.9, 1e-20]).unwrap();
        assert_eq!(Vector::from_bytes(&vector.to_bytes()), Some(vector));
        let broken: [&[u8]; 4] = [&[], &[0, 0, 128], &[0, 0, 128, 63], &[0, 0, 192, 127, 1]];
        for bytes in broken {
            assert_eq!(Vector::from_bytes(bytes), None, "{bytes:?}");
        }
    }
}
