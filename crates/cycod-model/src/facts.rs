use crate::Price;

/// What is known of a model. Counts are tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts {
    /// How much it can hold: the question and the answer together, unless `input` limits the question by itself.
    pub window: Option<usize>,
    /// The longest question, where it has a limit of its own.
    pub input: Option<usize>,
    /// The longest answer.
    pub output: Option<u32>,
    /// What its tokens cost.
    pub price: Option<Price>,
    /// The day on which its maker withdraws it, as `2026-11-30`.
    pub retires: Option<&'static str>,
}

impl Facts {
    /// What a model is taken to hold when neither a table nor its provider knows.
    pub(crate) const CAUTIOUS: usize = 32_768;

    /// The longest answer that is asked for: what the model can say, and at most half of what it holds.
    pub fn answer(&self) -> Option<u32> {
        let half = self.window.map(|window| u32::try_from(window / 2).unwrap_or(u32::MAX));
        self.output.map(|output| half.map_or(output, |half| output.min(half)))
    }

    /// The longest question that leaves room for the answer; nothing when that is not known.
    ///
    /// Providers count the answer that a request asks for, not the one that comes.
    pub fn room(&self) -> Option<usize> {
        let answer = || self.answer().unwrap_or(crate::WireFormat::SAFE_OUTPUT) as usize;
        let shared = || self.window.map(|window| window - answer().min(window / 2));
        self.input.or_else(shared)
    }

    /// These, and from `others` what these leave open.
    #[must_use]
    pub(crate) fn or(self, others: Self) -> Self {
        Self {
            window: self.window.or(others.window),
            // The limit of the question belongs to the window beside which it was given.
            input: if self.window.is_some() { self.input } else { self.input.or(others.input) },
            output: self.output.or(others.output),
            price: self.price.or(others.price),
            retires: self.retires.or(others.retires),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_leaves_room_for_the_answer_that_is_asked_for() {
        let room = |window, input, output| Facts { window, input, output, ..Facts::default() }.room();
        assert_eq!(room(Some(200_000), None, Some(64_000)), Some(136_000));
        assert_eq!(room(Some(400_000), Some(272_000), Some(128_000)), Some(272_000));
        assert_eq!(room(Some(1_048_576), Some(1_048_576), Some(65_536)), Some(1_048_576));
        assert_eq!(room(Some(8_192), None, Some(8_192)), Some(4_096));
        assert_eq!(room(Some(32_768), None, None), Some(24_576));
        assert_eq!(room(None, None, Some(8_192)), None);
    }
}
